"""Recodings and record linkage as agencies ask for them: four processes, REST, the Python client, forms."""

import json
from collections.abc import Iterator

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from arrow_pieces import ipc
from reference_data import read_columns
from sdcgate_client import Client, InvalidRequest, TooLarge
from served_house import ServedHouse
from shlomo_tables import RECORDS, TABLE_1, table_1, table_2

LARGEST = 3_000_000
LARGEST_OPTIONS = 2**21
BUSINESS = ["fixed_assets", "current_assets", "sales", "labor_costs", "gross_profit"]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    limits = {"maximum_file_bytes": LARGEST, "maximum_body_bytes": LARGEST_OPTIONS}
    made = ServedHouse(tmp_path_factory.mktemp("house"), gateway=limits)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def client(house: ServedHouse) -> Iterator[Client]:
    with Client(house.supervisor.url, house.keys["ada"]) as made:
        yield made


def test_a_survey_with_the_margins_of_table_1_has_its_figures(client: Client) -> None:
    codes, weights, parents = table_1()
    levels, before = {}, np.arange(parents[0].size)
    for name, mapping in zip(list(TABLE_1)[1:], parents, strict=True):
        levels[name] = dict(zip(before.tolist(), mapping.tolist(), strict=True))
        before = mapping
    found = client.compare_recodings(
        pd.DataFrame({"key": codes.astype(np.int32), "w": weights}),
        {"key": levels},
        weight="w",
        maximum_share=0.013,
        access_levels={"public": 0.0, "licensed": 0.005, "remote": 0.013},
    )
    assert found["units"] == RECORDS
    for row, (cells, uniques, matches, percent) in zip(found["recodings"], TABLE_1.values(), strict=True):
        assert (row["key_cells"], row["sample_uniques"]) == (cells, uniques)
        assert round(row["expected_matches"], 1) == matches
        assert round(100 * row["share"], 1) == percent
    assert found["best"]["levels"] == [3]
    assert [row["access_level"] for row in found["recodings"]] == ["", "", "", "remote", "licensed"]


def test_a_population_with_the_margins_of_table_2_has_its_figures(client: Client) -> None:
    sample, keys, people = table_2()
    found = client.link_records(
        pd.DataFrame({"key": keys, "people": people}),
        pd.DataFrame({"key": sample}),
        {"key": "NOMINAL"},
        "POPULATION_COUNTS",
        count="people",
        summary_only=True,
    )["population"]
    assert (found["matched"], found["unmatched"], found["one_to_one"]) == (5_669, 362, 101)
    assert found["expected_matches"] == pytest.approx(411.5, rel=1e-12)
    assert found["population_counts"] == []


def test_masked_businesses_are_linked_as_sdcmicro_links_them(client: Client) -> None:
    file = read_columns("tarragona_noise")
    original = pd.DataFrame({name: file[name] for name in BUSINESS})
    masked = pd.DataFrame({name: file[f"masked_{name}"] for name in BUSINESS})
    numbers = dict.fromkeys(BUSINESS, "NUMERIC")
    one_to_one = client.link_records(
        original[:200], masked[:200], numbers, same_order=True, one_to_one=True, metric="MANHATTAN",
        standardisation="RANGE",
    )["distance"]  # fmt: skip
    assert sum(one_to_one["nearest"]) / 5 == pytest.approx(14.10254272857088, rel=1e-12)
    inside = client.link_records(
        original, masked, numbers, "INTERVAL", same_order=True, widths=[0.3],
        interval_basis="STANDARD_DEVIATION",
    )["intervals"]  # fmt: skip
    assert inside[0]["of_records"] == pytest.approx(0.5251798561151079, rel=1e-14)


def test_distances_that_there_are_not_are_null(client: Client) -> None:
    original = pd.DataFrame({"x": [1.0], "area": ["n"]})
    released = pd.DataFrame({"x": [1.0, 2.0], "area": ["n", "s"]})
    found = client.link_records(
        original, released, {"x": "NUMERIC"}, blocks=["area"], standardisation="NONE"
    )["distance"]
    assert found["linked"] == [1, 0]
    assert found["nearest"] == [0.0, None]
    assert found["second"] == [None, None]


def test_wrong_options_come_back_with_their_paths(client: Client) -> None:
    people = pd.DataFrame({"x": [1.0, 2.0], "sex": [0, 1]})
    with pytest.raises(InvalidRequest) as caught:
        client.link_records(people, people, {"x": "NUMBER"}, "NEAREST", ids="x")
    assert {path for path, _ in caught.value.errors} == {
        "options.method", "options.variables[0].kind", "options.ids",
    }  # fmt: skip
    with pytest.raises(TooLarge):
        client.link_records(b"", b"", {"x": "NUMERIC"}, id="x" * LARGEST_OPTIONS)
    with pytest.raises(InvalidRequest) as caught:
        client.compare_recodings(people, {"sex": {"a": 5}, "x": {"b": {"1": "2"}}})
    assert [path for path, _ in caught.value.errors] == ["options.keys[1].levels[0]"]


def send(house: ServedHouse, parts: dict[str, bytes | str], key: str = "ada") -> httpx.Response:
    return house.send("POST", "/v1/risk:linkRecords", None, key, files=parts)


def test_what_is_no_form_of_two_files_is_a_problem_of_its_kind(house: ServedHouse) -> None:
    options = json.dumps({"method": "DISTANCE", "variables": [{"column": "x", "kind": "NUMERIC"}]})
    file = ipc(pa.table({"x": [1.0, 2.0]}))
    whole = {"options": options, "original": file, "released": file}
    assert send(house, whole).status_code == 200
    assert send(house, whole, key="stefan").status_code == 403
    assert send(house, {"original": file, "options": options}).json()["errors"][0]["path"] == "options"
    lacking = send(house, {"options": options, "original": file})
    assert [one["path"] for one in lacking.json()["errors"]] == ["released"]
    assert send(house, whole | {"released": bytes(LARGEST + LARGEST_OPTIONS)}).status_code == 413
    other = house.send("POST", "/v1/risk:linkRecords", {"options": {}})
    assert (other.status_code, other.json()["code"]) == (415, "INVALID_ARGUMENT")
    ended = house.send(
        "POST", "/v1/risk:linkRecords", None, content=b"--b\r\nContent-Disp",
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )  # fmt: skip
    assert ended.status_code == 400
