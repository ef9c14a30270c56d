"""Files of microdata as agencies have them assessed: over REST, by the Python client, by the command line."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
import statsmodels
from typer.testing import CliRunner

from sdcgate.cli import main
from sdcgate.methods.risk.file_level import file_risk
from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.keys import group_keys
from sdcgate_client import Client, InvalidRequest, TooManyRequests
from sdcgate_client.files import columns_stream, form
from served_house import ServedHouse

RAND = Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv"
KEYS = ["site", "female", "age", "num"]
FRACTION = 0.001
LARGEST = 300_000


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    section = {"maximum_file_bytes": LARGEST}
    made = ServedHouse(tmp_path_factory.mktemp("house"), gateway=section)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def client(house: ServedHouse) -> Iterator[Client]:
    with Client(house.supervisor.url, house.keys["ada"]) as made:
        yield made


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The persons of the RAND experiment's first year."""
    records = pd.read_csv(RAND)
    first = records[records.year == 1].copy()
    first["age"] = np.floor(first.xage).astype(int)
    return first[["zper", *KEYS]].reset_index(drop=True)


def test_the_report_on_rand_has_the_figures_of_the_methods(client: Client, people: pd.DataFrame) -> None:
    report = client.assess_microdata(people, KEYS, fraction=FRACTION)
    keys = group_keys(people[KEYS].to_numpy())
    risks = individual_risk(keys.counts, np.full(len(keys), FRACTION))
    own = file_risk(keys.counts, risks)
    risk = report["individual"]["risk"]
    assert (risk["units"], risk["key_cells"], risk["sample_uniques"]) == (
        5638,
        own.key_cells,
        own.sample_uniques,
    )
    assert risk["expected_matches"] == pytest.approx(own.expected_matches, rel=1e-12)
    assert risk["expected_matches_uniques"] == pytest.approx(own.expected_matches_uniques, rel=1e-12)
    assert [one["model"] for one in report["log_linear"]] == [
        "main effects",
        "all two-way interactions",
        "forward search",
    ]
    assert [one["what"] for one in report["not_computed"]] == [
        "household risk",
        "recodings",
        "smoothing",
        "sensitive variables",
        "scenarios",
        "weights as a channel",
        "rule sets",
    ]


def test_the_command_line_gives_the_same_report(client: Client, people: pd.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    people.to_parquet(file)
    command = ["assess", str(file), "--keys", ",".join(KEYS), "--fraction", str(FRACTION), "--json"]
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout) == client.assess_microdata(people, KEYS, fraction=FRACTION)


SCENARIOS = [
    {
        "name": "roll",
        "kind": "INDIVIDUAL_ARCHIVE",
        "keys": ["site", "female"],
        "quality": 0.9,
        "coverage": 0.5,
    },
    {"name": "neighbour", "kind": "NOSY_NEIGHBOUR", "keys": KEYS, "response_known": True, "threshold": 0.5},
]


def test_scenarios_are_judged_beside_the_key(client: Client, people: pd.DataFrame) -> None:
    report = client.assess_microdata(people, ["site"], fraction=FRACTION, scenarios=SCENARIOS)
    keys = group_keys(people[["site", "female"]].to_numpy())
    risks = individual_risk(keys.counts, np.full(len(keys), FRACTION))
    roll, neighbour = report["scenarios"]
    assert roll["expected_matches"] == pytest.approx(0.45 * keys.counts @ risks, rel=1e-12)
    cells = people.groupby(KEYS).size()
    assert neighbour["expected_matches"] == pytest.approx(len(cells), rel=1e-12)
    assert neighbour["unsafe_units"] == cells[cells <= 2].sum()
    assert report["scenarios_together"]["maximum"] == 1.0
    assert [one["keys"] for one in report["worst_tables"]["tables"]] == [[0]]


def test_records_whose_numbers_stand_alone_are_counted(client: Client, people: pd.DataFrame) -> None:
    how = {"fraction": FRACTION, "numbers": [{"column": "age", "width": 0.5}], "neighbours": 1}
    report = client.assess_microdata(people, ["site", "female"], **how)
    cells = people.groupby(["site", "female", "age"]).size()
    assert report["numbers"]["isolated"] == (cells == 1).sum() > 0
    with pytest.raises(InvalidRequest) as refused:
        client.assess_microdata(people, ["site"], numbers=[{"column": "age", "width": 1, "relative": 1}])
    assert [path for path, _ in refused.value.errors] == ["options.numbers[0]"]


def test_numbers_in_the_address_are_numbers_in_lists_too(client: Client, people: pd.DataFrame) -> None:
    how = {"fraction": FRACTION, "minimums": [40, 10], "target_rate": 0.0001}
    report = client.assess_microdata(people, ["site", "female", "age"], **how)
    assert report["threshold_rule"]["minimums"] == [40, 10]
    assert report["individual"]["target"]["unsafe_units"] > 0
    with pytest.raises(InvalidRequest) as refused:
        client.assess_microdata(people, ["site"], minimums=["x", 3], target_rate=2)
    assert [path for path, _ in refused.value.errors] == ["minimums[0]"]
    with pytest.raises(InvalidRequest) as refused:
        client.assess_microdata(people, ["site"], minimums=[3, 0], target_rate=2)
    assert {path for path, _ in refused.value.errors} == {"options.minimums[1]", "options.target_rate"}


def test_a_file_with_its_options_in_the_address_or_in_a_form_gives_the_same_report(
    house: ServedHouse, client: Client, people: pd.DataFrame
) -> None:
    how = {"fraction": FRACTION, "sensitive": ["num"], "dimensions": 2, "missing": "WILDCARD"}
    keys = ["site", "female", "age"]
    content = columns_stream(people, KEYS)
    options = {"keys": keys, **how, "scenarios": SCENARIOS}
    address = options | {"scenarios": json.dumps(SCENARIOS)}
    by_address = house.send(
        "POST",
        "/v1/risk:assessMicrodata",
        params=address,
        content=content,
        headers={"Content-Type": "application/vnd.apache.arrow.stream"},
    )
    by_form = house.send("POST", "/v1/risk:assessMicrodata", files=form(options, arrow=content))
    assert (by_address.status_code, by_form.status_code) == (200, 200), by_form.text
    assert by_form.json() == by_address.json()
    assert [one["name"] for one in by_form.json()["scenarios"]] == ["roll", "neighbour"]
    assert client.assess_microdata(people, keys, scenarios=SCENARIOS, **how) == by_form.json()


def test_two_releases_of_one_source_are_linked_as_on_the_command_line(
    house: ServedHouse, client: Client, people: pd.DataFrame, tmp_path: Path
) -> None:
    first, second = ["site", "age"], ["site", "female", "num"]
    part = people.sample(frac=0.5, random_state=1)
    how = {"unit": "zper", "fraction": 1.0}
    report = client.assess_microdata(
        people, first, other=part, other_keys=second, other_name="two.parquet", **how
    )
    people.to_parquet(tmp_path / "one.parquet")
    part.to_parquet(tmp_path / "two.parquet")
    command = ["assess", str(tmp_path / "one.parquet"), "--keys", "site,age", "--unit", "zper"]
    command += ["--fraction", "1", "--with", str(tmp_path / "two.parquet")]
    command += ["--with-keys", ",".join(second), "--json"]
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["linked_releases"] == report["linked_releases"]
    linked = report["linked_releases"]
    assert (linked["units"], linked["other_units"], linked["common_units"]) == (5638, len(part), len(part))
    assert [one["name"] for one in linked["shared"]] == ["site"]
    # Of a census as many units are matched as there are cells.
    assert linked["expected_matches"] == pytest.approx(people.groupby(first).ngroups, rel=1e-12)
    assert linked["expected_matches_union"] > linked["expected_matches_other"]
    with pytest.raises(InvalidRequest) as caught:
        client.assess_microdata(people, first, other=part, other_keys="num", **how)
    assert [path for path, _ in caught.value.errors] == ["options.other.keys"]


def test_a_caller_who_leaves_makes_room_for_the_next(house: ServedHouse, client: Client) -> None:
    """Two files may be looked at: two that would take half a minute each are left after a second."""
    rng = np.random.default_rng(1)
    keys = [f"k{place}" for place in range(17)]
    long = pd.DataFrame(rng.integers(0, 4, (15_000, 17)), columns=keys).astype("int8")
    parts = form({"keys": keys, "suda_size": 8}, arrow=columns_stream(long, keys))
    for _ in range(2):
        with pytest.raises(httpx.ReadTimeout):
            house.send("POST", "/v1/risk:assessMicrodata", files=parts, timeout=1.0)
    until = time.monotonic() + 4
    while True:
        try:
            report = client.assess_microdata(pd.DataFrame({"a": [1, 1, 2]}), "a", fraction=1)
            break
        except TooManyRequests:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert report["key_cells"]["sample_uniques"] == 1


def test_options_longer_than_an_address_may_be_go_into_a_form(
    house: ServedHouse, client: Client, people: pd.DataFrame
) -> None:
    texts = ["x" * 999 + str(number) for number in range(90)]
    asked = {"keys": "site", "fraction": FRACTION, "missing_texts": texts[:40]}
    response = httpx.post(
        f"{house.supervisor.url}/v1/risk:assessMicrodata",
        params=asked,
        content=columns_stream(people, ["site"]),
        headers={
            "Authorization": f"Bearer {house.keys['ada']}",
            "Content-Type": "application/vnd.apache.arrow.stream",
        },
        timeout=60,
    )
    assert response.status_code == 400
    assert response.headers["Content-Type"] == "application/problem+json"
    (error,) = response.json()["errors"]
    assert error["path"] == ""
    assert error["message"] == (
        "the query string must have at most 32768 bytes; send the options in a form, "
        "as `Content-Type: multipart/form-data`"
    )
    scenarios = [
        {"name": f"{number} " + "n" * 100, "kind": "NOSY_NEIGHBOUR", "keys": KEYS} for number in range(20)
    ]
    report = client.assess_microdata(
        people, ["site"], fraction=FRACTION, missing_texts=texts, scenarios=scenarios
    )
    assert len(report["scenarios"]) == 20


def test_a_form_takes_no_options_from_the_address(house: ServedHouse, people: pd.DataFrame) -> None:
    parts = form({"keys": ["site"], "fraction": FRACTION}, arrow=columns_stream(people, ["site"]))
    response = house.send("POST", "/v1/risk:assessMicrodata", params={"keys": "female"}, files=parts)
    assert response.status_code == 400
    assert [one["path"] for one in response.json()["errors"]] == ["keys"]


def test_what_is_wrong_with_scenarios_has_its_path(client: Client, people: pd.DataFrame) -> None:
    with pytest.raises(InvalidRequest) as caught:
        client.assess_microdata(
            people, ["site"], fraction=FRACTION, scenarios=[{"name": "x", "keys": ["site"]}]
        )
    assert [path for path, _ in caught.value.errors] == ["options.scenarios[0].kind"]
    lost = [{"name": "x", "kind": "HOUSEHOLD_ARCHIVE", "keys": ["site"]}]
    with pytest.raises(InvalidRequest) as caught:
        client.assess_microdata(people, ["site"], fraction=FRACTION, scenarios=lost)
    assert [path for path, _ in caught.value.errors] == ["options.scenarios[0].target"]


@pytest.mark.parametrize("text", ["x", "{", "[", '{"name": "x", "name": "y"}', "[1]", "null", '"x"'])
def test_scenarios_in_the_address_are_json_or_a_problem(house: ServedHouse, text: str) -> None:
    response = httpx.post(
        f"{house.supervisor.url}/v1/risk:assessMicrodata",
        params={"keys": "site", "scenarios": text},
        content=b"",
        headers={
            "Authorization": f"Bearer {house.keys['ada']}",
            "Content-Type": "application/vnd.apache.arrow.stream",
        },
        timeout=60,
    )
    assert response.status_code == 400
    assert response.json()["errors"][0]["path"].startswith("scenarios")


def test_a_registered_dataset_is_assessed_for_its_steward_only(house: ServedHouse) -> None:
    assert house.register_randhie().status_code in (200, 201)
    body = {"scenarios": [{"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["site", "age:broad"]}]}
    answers = {
        name: house.send("POST", "/v1/datasets/randhie:assess", body, name)
        for name in ("stefan", "ada", "grace", "olga")
    }
    statuses = {name: answer.status_code for name, answer in answers.items()}
    assert statuses == {"stefan": 200, "ada": 403, "grace": 403, "olga": 403}
    told = answers["stefan"].json()
    assert (told["key"]["units"], told["scenarios"][0]["name"]) == (5912, "roll")
    assert len(told["worst_tables"]["tables"]) == 3
    with Client(house.supervisor.url, house.keys["stefan"]) as steward:
        assert steward.assess_dataset("randhie", body["scenarios"]) == told


def test_a_registered_dataset_is_held_against_other_levels_of_its_own(house: ServedHouse) -> None:
    assert house.register_randhie().status_code in (200, 201)
    with Client(house.supervisor.url, house.keys["stefan"]) as steward:
        other = {"keys": ["site", "education:stages", "plan"]}
        told = steward.assess_dataset("randhie", other=other, numbers=[{"column": "meddol", "width": 1}])
        linked = told["linked_releases"]
        assert (linked["other"], linked["common_units"]) == ("randhie version 1", 5912)
        assert {"name": "site", "codes": 6, "other_codes": 6, "joint_codes": 6, "coherent": True} in linked[
            "shared"
        ]
        assert linked["expected_matches_union"] >= linked["expected_matches"]
        assert "several records" in {one["what"]: one["reason"] for one in told["not_computed"]}["numbers"]
        with pytest.raises(InvalidRequest) as caught:
            steward.assess_dataset("randhie", other={"version": 9}, numbers=[{"column": "meddoll"}])
        assert {path for path, _ in caught.value.errors} == {"other.version", "numbers[0]"}


def test_wrong_options_come_back_with_their_paths(client: Client, people: pd.DataFrame) -> None:
    with pytest.raises(InvalidRequest) as caught:
        client.assess_microdata(people, KEYS, fraction=2, mising="WILDCARD")
    assert [path for path, _ in caught.value.errors] == ["mising"]
    with pytest.raises(InvalidRequest) as caught:
        client.assess_microdata(people, KEYS, fraction=2, missing="SOME")
    assert [path for path, _ in caught.value.errors] == ["missing"]
    with pytest.raises(InvalidRequest) as caught:
        client.assess_microdata(people, KEYS, fraction=2)
    assert [path for path, _ in caught.value.errors] == ["options.fraction"]


def send(house: ServedHouse, content: bytes | Iterator[bytes], kind: str, key: str = "ada") -> httpx.Response:
    return httpx.post(
        f"{house.supervisor.url}/v1/risk:assessMicrodata",
        params={"keys": "site"},
        content=content,
        headers={"Authorization": f"Bearer {house.keys[key]}", "Content-Type": kind},
        timeout=60,
    )


def test_what_is_no_file_is_a_problem_of_its_kind(house: ServedHouse) -> None:
    arrow = "application/vnd.apache.arrow.stream"
    other = send(house, b"{}", "application/json")
    assert other.status_code == 415
    assert arrow in other.json()["detail"]
    assert "multipart/form-data" in other.json()["detail"]
    assert send(house, b"{}", arrow).json()["errors"][0]["path"] == "arrow"
    assert send(house, bytes(LARGEST + 1), arrow).status_code == 413
    pieces = (bytes(100_000) for _ in range(5))
    assert send(house, pieces, arrow).status_code == 413
    assert send(house, b"", arrow, key="stefan").status_code == 403


def test_a_file_that_is_refused_before_it_is_read_is_refused_for_what_it_is(house: ServedHouse) -> None:
    # The call ends while the file is still being sent: what it ended with must not be lost on the way.
    def refused(number: int) -> tuple[int, str]:
        wrong_key = {"Authorization": f"Bearer {house.keys['stefan' if number % 4 == 0 else 'ada']}"}
        response = connection.post(
            "/v1/risk:assessMicrodata?attempt=0.5",
            content=iter([b'"' * 1000] * 3),
            headers={**wrong_key, "Content-Type": "application/vnd.apache.arrow.stream"},
        )
        return response.status_code, response.json()["code"]

    with (
        httpx.Client(base_url=house.supervisor.url, timeout=60) as connection,
        ThreadPoolExecutor(4) as threads,
    ):
        answers = set(threads.map(refused, range(800)))
    told = {(400, "INVALID_ARGUMENT"), (403, "PERMISSION_DENIED")}
    assert told <= answers <= told | {(429, "RESOURCE_EXHAUSTED")}


def test_individual_risks_of_keys_over_rest(client: Client) -> None:
    answer = client.estimate_individual_risk(
        frequencies=[1, 2], weight_sums=[126.0, 252.0], approximations=["SDCMICRO", "MU_ARGUS"]
    )
    p = 1 / 126
    assert answer["risks"][0] == pytest.approx(-p * np.log(p) / (1 - p), rel=1e-14)
    assert [one["approximation"] for one in answer["approximations"]] == ["SDCMICRO", "MU_ARGUS"]
    with pytest.raises(InvalidRequest) as caught:
        client.estimate_individual_risk(frequencies=[1, -1], weight_sums=[3.0, 4.0])
    assert [path for path, _ in caught.value.errors] == ["frequencies[1]"]
