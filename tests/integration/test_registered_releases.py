"""A registered dataset is assessed beside another one of its source, and by numbers that are known nearly."""

import copy

import numpy as np
import pandas as pd
import pytest

from house import build, person
from made_files import PEOPLE, write_people
from sdcgate.engine.declared_microdata import DeclaredKey, declared_microdata
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.releases import linked_releases
from sdcgate.facility.errors import InvalidRequest
from sdcgate.methods.risk.file_numbers import NumberWidth, numbers_section
from sdcgate.methods.risk.keys import Missing
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

STEWARD = person("steward", "stefan")
FIRMS = {
    "name": "firms",
    "data": {"path": "firms.csv"},
    "unit": {"column": "id"},
    "design": {"coverage": "CENSUS"},
    "variables": [
        {"name": "sort", "identifying": "YES", "levels": [{"codes": [{"code": "a"}, {"code": "b"}]}]}
    ],
    "measures": [
        {"name": "sales", "column": "turnover", "decimals": 1, "lower_bound": 0, "upper_bound": 10_000},
        {"name": "staff", "lower_bound": 0, "upper_bound": 1000},
    ],
}  # fmt: skip


def assess(house, dataset="people", **asked):
    request = from_value({"dataset": dataset, **asked}, pb.AssessDatasetRequest)
    return house.facility.assess_dataset(STEWARD, request)


def told(house, dataset="people", **asked):
    with pytest.raises(InvalidRequest) as caught:
        assess(house, dataset, **asked)
    return {problem.path: problem.message for problem in caught.value.problems}


@pytest.fixture
def house(tmp_path):
    """People with region and age; half of them again in `health`, with age in bands and the illness."""
    write_people(tmp_path / "people.csv")
    people = pd.read_csv(tmp_path / "people.csv", dtype=str, keep_default_na=False)
    people[people.id.isin(sorted(set(people.id))[::2])].to_csv(tmp_path / "health.csv", index=False)
    health = copy.deepcopy(PEOPLE) | {"name": "health", "source": "people", "data": {"path": "health.csv"}}
    health["variables"][2]["identifying"] = "YES"
    firms = pd.DataFrame(
        {
            "id": np.arange(60),
            "sort": np.where(np.arange(60) < 40, "a", "b"),
            "turnover": 100 + np.arange(60) ** 2 / 2,
            "staff": np.arange(60) // 4,
        }
    )
    firms.to_csv(tmp_path / "firms.csv", index=False)
    made = build(tmp_path)
    for descriptor in (PEOPLE | {"source": "people"}, health, FIRMS):
        made.engine.register(parse_descriptor(descriptor))
    yield made
    made.engine.close()


def test_another_dataset_of_the_source_is_linked_as_its_files_are(house, tmp_path):
    found = assess(house, other={"dataset": "health", "keys": ["age:five", "ill"]}).linked_releases
    first = declared_microdata(parse_descriptor(PEOPLE), tmp_path, DeclaredKey(("region", "age")))
    health = PEOPLE | {"data": {"path": "health.csv"}}
    second = declared_microdata(parse_descriptor(health), tmp_path, DeclaredKey(("age:five", "ill")))
    own = linked_releases(first, second, "health", False, Missing.CATEGORY).found
    assert found.other == "health version 1"
    assert [one.name for one in found.shared] == ["age / age:five"]
    assert found.shared[0].coherent
    assert (found.units, found.other_units, found.common_units) == (400, 200, 200)
    assert found.single_links == own.links.single
    assert found.expected_links == pytest.approx(own.links.expected, rel=1e-12)
    assert found.expected_matches == pytest.approx(own.risk.first.expected_matches, rel=1e-12)
    # Who was ill when does not stand in the order of the file: the joint key is told by the whole panel.
    assert found.expected_matches_union > max(found.expected_matches, found.expected_matches_other)


def test_another_version_and_other_keys_of_the_same_one_are_releases_too(house, tmp_path):
    people = pd.read_csv(tmp_path / "people.csv", dtype=str, keep_default_na=False)
    people[people.id != people.id[0]].to_csv(tmp_path / "people.csv", index=False)
    house.engine.register(parse_descriptor(PEOPLE | {"source": "people"}))
    older = assess(house, other={"version": 1}).linked_releases
    assert (older.other, older.units, older.other_units, older.common_units) == (
        "people version 1",
        399,
        400,
        399,
    )
    assert [one.name for one in older.shared] == ["region", "age"]
    assert older.expected_matches_union == pytest.approx(older.expected_matches, rel=1e-12)
    same = assess(house, other={"keys": ["region:part", "ill"]}).linked_releases
    assert same.common_units == 399
    assert same.expected_matches_union > same.expected_matches


@pytest.mark.parametrize(
    ("other", "wrong"),
    [
        ({}, {"other"}),
        ({"dataset": "peoples"}, {"other.dataset"}),
        ({"version": 7}, {"other.version"}),
        ({"dataset": "firms"}, {"other.dataset"}),
        ({"keys": ["agee", "region:parts"]}, {"other.keys[0]", "other.keys[1]"}),
        ({"keys": ["age", "age:five"]}, {"other.keys"}),
    ],
)
def test_a_release_that_is_none_of_the_source_has_its_path(house, other, wrong):
    assert set(told(house, other=other)) == wrong


def test_releases_that_share_nothing_are_named(house):
    answer = assess(house, other={"keys": ["ill"]})
    reasons = {one.what: one.reason for one in answer.not_computed}
    assert "no variable is shared" in reasons["several files of one source"]
    assert answer.HasField("key")


def test_releases_that_take_too_long_to_compare_are_named_and_all_else_is_told(house, monkeypatch):
    monkeypatch.setattr("sdcgate.facility.assessing.LINK_SECONDS", -1.0)
    answer = assess(house, other={"dataset": "health"})
    assert not answer.HasField("linked_releases")
    reasons = {one.what: one.reason for one in answer.not_computed}
    assert "takes too long while queries are answered" in reasons["several files of one source"]
    assert answer.key.units == 400


def test_units_whose_numbers_stand_alone_are_those_of_the_file(house, tmp_path):
    numbers = [{"column": "sales", "relative": 0.05}, {"column": "staff", "width": 2}]
    found = assess(house, "firms", numbers=numbers, neighbours=2).numbers
    widths = (NumberWidth("sales", 0.05, relative=True), NumberWidth("staff", 2.0))
    file = declared_microdata(parse_descriptor(FIRMS), tmp_path, DeclaredKey(numbers=widths))
    own = numbers_section(file.numbers, file.codes, 2)
    assert (found.isolated, found.outside, found.largest) == (own.isolated, own.outside, own.largest)
    assert 0 < found.isolated < 60
    assert found.largest == 8  # four firms have the most staff of their sort
    # By hand: with 5% and two others of the sort, nobody but the steep end stands alone.
    sales = 100 + np.arange(60) ** 2 / 2
    near = np.abs(np.log(sales[:, None] / sales)) <= np.log(1.05)
    near &= (np.arange(60)[:, None] < 40) == (np.arange(60) < 40)
    near &= np.abs(np.arange(60)[:, None] // 4 - np.arange(60) // 4) <= 2
    assert found.isolated == (near.sum(axis=1) - 1 < 2).sum()


def test_numbers_of_a_panel_are_refused_in_words(house, tmp_path):
    answer = assess(house, numbers=[{"column": "income", "width": 5}])
    assert not answer.HasField("numbers")
    assert "units have several records" in {one.what: one.reason for one in answer.not_computed}["numbers"]
    with pytest.raises(MicrodataUnusable, match="units have several records"):
        declared_microdata(
            parse_descriptor(PEOPLE), tmp_path, DeclaredKey(numbers=(NumberWidth("income", 5.0),))
        )


def test_what_is_wrong_with_scenarios_numbers_and_releases_is_told_at_once(house):
    wrong = told(
        house,
        scenarios=[{"name": "a", "kind": "NOSY_NEIGHBOUR", "keys": ["agee"]}],
        other={"dataset": "peoples"},
        numbers=[{"column": "incom", "width": 5}],
    )
    assert set(wrong) == {"scenarios[0].keys[0]", "other.dataset", "numbers[0].column"}
    assert "did you mean 'income'?" in wrong["numbers[0].column"]
    assert set(told(house, numbers=[{"column": "income"}])) == {"numbers[0]"}
