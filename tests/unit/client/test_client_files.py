"""What the client sends with files: only the columns that are needed, options first, levels as maps."""

import json

import httpx
import pandas as pd
import pyarrow as pa
import pytest
from python_multipart.multipart import parse_options_header

from sdcgate_client import Client, descriptor_levels

PEOPLE = pd.DataFrame(
    {
        "age": [21, 34],
        "area": ["n1", "s1"],
        "w": [5.0, 7.0],
        "income": [1.0, 2.0],
        "name": ["Ada", "Bo"],
        "id": [1, 2],
    }
)


def sent(call):
    """The options and the columns of each file of a request."""
    asked = []

    def answer(request):
        asked.append(request)
        return httpx.Response(200, json={})

    with Client("http://house", "key", transport=httpx.MockTransport(answer)) as client:
        call(client)
    (request,) = asked
    kind, parameters = parse_options_header(request.headers["content-type"])
    assert kind == b"multipart/form-data"
    parts = request.content.split(b"--" + parameters[b"boundary"])[1:-1]
    files = {}
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        name = head.split(b'name="')[1].split(b'"')[0].decode()
        files[name] = content.removesuffix(b"\r\n")
    assert next(iter(files)) == "options"
    options = json.loads(files.pop("options"))
    return str(request.url.path), options, {
        name: pa.ipc.open_stream(content).read_all().column_names for name, content in files.items()
    }  # fmt: skip


def test_levels_are_sent_as_maps_and_bands_with_the_columns_that_are_named():
    keys = {"age": {"ten": 10}, "area": {"part": {"n1": "north", "s1": 1}}, "name": {}}
    path, options, files = sent(
        lambda client: client.compare_recodings(
            PEOPLE, keys, weight="w", interest="income",
            access_levels={"public": 0.0, "remote": {"maximum_share": 1}},
        )
    )  # fmt: skip
    assert path == "/v1/risk:compareRecodings"
    assert options == {
        "keys": [
            {"column": "age", "levels": [{"name": "ten", "band_width": 10}]},
            {
                "column": "area",
                "levels": [{"name": "part", "codes": ["n1", "s1"], "parents": ["north", "1"]}],
            },
            {"column": "name", "levels": []},
        ],
        "weight": "w",
        "interest": "income",
        "access_levels": [
            {"access_level": "public", "maximum_share": 0.0},
            {"access_level": "remote", "maximum_share": 1},
        ],
    }
    assert files == {"arrow": ["age", "area", "name", "w", "income"]}


def test_two_files_are_sent_with_what_each_needs():
    released = PEOPLE.rename(columns={"area": "region"})
    variables = {"age": "numeric", "area": {"kind": "NOMINAL", "released_column": "region"}}
    path, options, files = sent(
        lambda client: client.link_records(PEOPLE, released, variables, id="id", blocks=["name"])
    )
    assert path == "/v1/risk:linkRecords"
    assert options["method"] == "DISTANCE"
    assert options["variables"][0] == {"column": "age", "kind": "NUMERIC"}
    assert files == {"original": ["age", "area", "id", "name"], "released": ["age", "region", "id", "name"]}
    _, options, files = sent(
        lambda client: client.link_records(
            PEOPLE, PEOPLE, {"area": "NOMINAL"}, "population_counts", count="w", blocks=None
        )
    )
    assert "blocks" not in options
    assert files == {"original": ["area", "w"], "released": ["area"]}


def test_numbers_go_in_a_form_with_their_columns():
    numbers = [{"column": "income", "relative": 0.1}, {"column": "age", "width": 2}]
    path, options, files = sent(
        lambda client: client.assess_microdata(PEOPLE, "area", weight="w", numbers=numbers, neighbours=5)
    )
    assert path == "/v1/risk:assessMicrodata"
    assert options == {"keys": ["area"], "weight": "w", "numbers": numbers, "neighbours": 5}
    assert files == {"arrow": ["area", "income", "age", "w"]}


def test_models_are_sent_by_their_interactions_and_labels_with_their_columns():
    _, options, files = sent(
        lambda client: client.assess_microdata(
            PEOPLE, ["age", "area", "name"], psu="id", models=["age*area, age*name"]
        )
    )
    assert options["models"] == [{"interactions": [{"keys": ["age", "area"]}, {"keys": ["age", "name"]}]}]
    assert files == {"arrow": ["age", "area", "name", "id"]}


def test_another_release_goes_with_what_links_it_and_the_same_one_only_with_its_keys():
    path, options, files = sent(
        lambda client: client.assess_microdata(
            PEOPLE, ["age", "area"], weight="w", unit="id", sensitive="name",
            other=PEOPLE, other_keys="income", other_name="taxes",
        )
    )  # fmt: skip
    assert path == "/v1/risk:assessMicrodata"
    assert options["other"] == {"name": "taxes", "keys": ["income"]}
    assert files == {"arrow": ["age", "area", "name", "w", "id"], "other": ["income", "w", "id"]}
    _, options, files = sent(lambda client: client.assess_microdata(PEOPLE, "age", other_keys=["area"]))
    assert options["other"] == {"name": "", "keys": ["area"]}
    assert files == {"arrow": ["age", "area"]}
    _, _, files = sent(lambda client: client.assess_microdata(PEOPLE, "age", other=PEOPLE))
    assert files == {"arrow": ["age"], "other": ["age"]}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"age": {"ten": "10"}}, "must be a mapping"),
        ({"age": {"ten": True}}, "must be a mapping"),
        ({"age": {"old": {True: "y"}}}, "must stand in quotes"),
        ({"aeg": {}}, "no column 'aeg'"),
    ],
)
def test_what_is_no_level_or_column_is_told_before_anything_is_sent(keys, message):
    with pytest.raises(ValueError, match=message), Client("http://house", "key") as client:
        client.compare_recodings(PEOPLE, keys, weight="w")


DESCRIPTOR = {
    "variables": [
        {"name": "age", "identifying": "YES", "levels": [
            {"name": "years", "integers": {"first": 0, "last": 29}},
            {"name": "ten", "band_width": 10},
            {"name": "broad", "codes": [{"code": "minor", "integers": {"first": 0, "last": 19}},
                                        {"code": "adult", "parts": ["20-29"]}]}]},
        {"name": "area", "column": "region", "identifying": "VERY", "levels": [
            {"name": "place", "codes": [{"code": "n1"}, {"code": "s1"}]},
            {"name": "part", "codes": [{"code": "north", "parts": ["n1"]},
                                       {"code": "south", "parts": ["s1"]}]}]},
        {"name": "sick", "levels": [{"codes": [{"code": "0"}]}]},
        {"name": "job", "identifying": "YES", "hierarchy": {"path": "jobs.csv", "levels": ["a", "b"]}},
    ]
}  # fmt: skip


def test_the_levels_of_a_descriptor_become_maps():
    found = descriptor_levels(DESCRIPTOR, ["age", "area", "sick"])
    assert list(found) == ["age", "region", "sick"]
    assert found["age"]["ten"]["25"] == "20-29"
    assert found["age"]["broad"] == {"0-9": "minor", "10-19": "minor", "20-29": "adult"}
    assert found["region"] == {"part": {"n1": "north", "s1": "south"}}
    assert found["sick"] == {}
    with pytest.raises(ValueError, match="'job' has its levels in a hierarchy file"):
        descriptor_levels(DESCRIPTOR)
    with pytest.raises(ValueError, match="no variable 'sex'"):
        descriptor_levels(DESCRIPTOR, ["sex"])


def test_scenarios_and_the_options_beside_them_go_as_a_form():
    roll = {"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["age", "name"]}
    path, options, files = sent(
        lambda client: client.assess_microdata(
            PEOPLE, "area", weight="w", sensitive="income", unit=None, ordinal=("area",), scenarios=[roll]
        )
    )
    assert path == "/v1/risk:assessMicrodata"
    assert options == {
        "keys": ["area"],
        "weight": "w",
        "sensitive": ["income"],
        "ordinal": ["area"],
        "scenarios": [roll],
    }
    assert files == {"arrow": ["area", "income", "age", "name", "w"]}


@pytest.mark.parametrize("scenarios", [None, []])
def test_without_scenarios_the_file_is_the_body_and_its_options_stand_in_the_address(scenarios):
    asked = []

    def answer(request):
        asked.append(request)
        return httpx.Response(200, json={})

    with Client("http://house", "key", transport=httpx.MockTransport(answer)) as client:
        client.assess_microdata(PEOPLE, ["age", "area"], weight="w", scenarios=scenarios)
    (request,) = asked
    assert request.headers["content-type"] == "application/vnd.apache.arrow.stream"
    assert request.url.params.multi_items() == [("keys", "age"), ("keys", "area"), ("weight", "w")]
    assert pa.ipc.open_stream(request.content).read_all().column_names == ["age", "area", "w"]
