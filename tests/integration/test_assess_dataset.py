"""A registered dataset is assessed as a file, for stewards only; it is counted where it lies."""

import numpy as np
import pytest
import yaml

from house import RANDHIE, House, build, person, with_randhie
from made_files import PEOPLE, write_people
from sdcgate.engine.declared_microdata import DeclaredKey, declared_microdata
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.errors import Forbidden, InvalidRequest, NotFound, Unavailable
from sdcgate.methods.risk.file_assessment import assess_file
from sdcgate.methods.risk.file_release import worst_tables_section
from sdcgate.methods.risk.microdata import by_units
from sdcgate.methods.risk.scenarios import scenario_risk, together
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

STEWARD = person("steward", "stefan")
SCENARIOS = [
    {"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["region:part", "age"], "quality": 0.9},
    {"name": "register", "kind": "HOUSEHOLD_ARCHIVE", "keys": ["region", "age"], "threshold": 0.05},
    {"name": "neighbour", "kind": "NOSY_NEIGHBOUR", "keys": ["age:five", "region"], "missing": "WILDCARD",
     "response_known": True, "attempt": 0.02},
]  # fmt: skip


def assess(house: House, dataset: str = "people", scenarios=(), caller=STEWARD) -> pb.AssessDatasetResponse:
    request = {"dataset": dataset, "scenarios": list(scenarios)}
    return house.facility.assess_dataset(caller, from_value(request, pb.AssessDatasetRequest))


@pytest.fixture(params=["with households", "counted"])
def people(request, tmp_path):
    """A house with a sample of persons; without the household archive units are counted in the database."""
    scenarios = SCENARIOS if request.param == "with households" else [SCENARIOS[0], SCENARIOS[2]]
    write_people(tmp_path / "people.csv")
    descriptor = parse_descriptor({**PEOPLE, "scenarios": scenarios})
    house = build(tmp_path)
    house.engine.register(descriptor)
    yield house, declared_microdata(descriptor, tmp_path, DeclaredKey(("region", "age")))
    house.engine.close()


def test_the_scenarios_of_a_dataset_have_the_figures_of_its_file(people):
    house, file = people
    told = assess(house)
    own = tuple(scenario_risk(file, scenario, 0.1) for scenario in file.scenarios)
    assert [one.name for one in told.scenarios] == [one.name for one in file.scenarios]
    for one, expected in zip(told.scenarios, own, strict=True):
        assert one.expected_matches == pytest.approx(expected.expected_matches, rel=1e-12)
        assert one.maximum == pytest.approx(expected.maximum, rel=1e-12)
        for name in ("units", "key_cells", "sample_uniques", "unsafe_units"):
            assert getattr(one, name) == getattr(expected, name)
        assert one.worst_units == expected.worst.units
        assert one.HasField("unsafe_households") == (expected.unsafe_households is not None)
    assert told.scenarios_together.expected_matches == pytest.approx(
        together(own).expected_matches, rel=1e-12
    )
    assert told.scenarios_together.unsafe_units == together(own).unsafe_units


def test_the_key_and_the_worst_table_are_those_of_the_file(people):
    house, file = people
    told = assess(house)
    risk = assess_file(file).individual.risk
    assert told.key.expected_matches == pytest.approx(risk.expected_matches, rel=1e-12)
    assert (told.key.key_cells, told.key.sample_uniques) == (risk.key_cells, risk.sample_uniques)
    tables = worst_tables_section(by_units(file), 3)
    assert told.worst_tables.file_matches == pytest.approx(tables.file_matches, rel=1e-12)
    assert [list(one.keys) for one in told.worst_tables.tables] == [
        list(one.variables) for one in tables.tables
    ]
    assert [one.name for one in told.rule_sets] == ["researchers", "the general public"]


def test_recodings_of_the_key_are_those_of_the_file(people):
    house, file = people
    told, own = assess(house).recodings, assess_file(file).recodings
    assert [list(one.levels) for one in told.variables] == [list(names) for names in own.levels]
    assert [list(one.levels) for one in told.recodings] == [list(row.measured.recoding) for row in own.rows]
    for one, row in zip(told.recodings, own.rows, strict=True):
        assert one.expected_matches == pytest.approx(row.measured.expected_matches, rel=1e-9)
        assert one.entropy_loss == pytest.approx(1 - row.measured.entropy_share, abs=1e-12)
    assert list(told.best.levels) == list(own.best.recoding)


def test_a_panel_is_found_by_all_its_waves(tmp_path):
    house = with_randhie(tmp_path)
    scenario = {"name": "doctor", "kind": "NOSY_NEIGHBOUR", "keys": ["site", "age"], "response_known": True}
    told = assess(house, "randhie", [scenario])
    assert told.key.units == told.scenarios[0].units == 5912
    descriptor = parse_descriptor({**yaml.safe_load(RANDHIE.read_text()), "scenarios": [scenario]})
    file = declared_microdata(descriptor, tmp_path, DeclaredKey(wave="year"))
    assert told.scenarios[0].key_cells == len(np.unique(by_units(file).codes[:, [0, *_ages(file)]], axis=0))
    assert told.scenarios[0].expected_matches == pytest.approx(told.scenarios[0].key_cells, rel=1e-12)
    house.engine.close()


def _ages(file):
    return [at for at, key in enumerate(by_units(file).keys) if key.name == "age"]


def test_only_stewards_are_told(people):
    house, _ = people
    for caller in (house.researcher, house.checker, person("operator", "otto"), person("portal", "p")):
        with pytest.raises(Forbidden, match="steward"):
            assess(house, caller=caller)
    with pytest.raises(NotFound):
        assess(house, "peoples")


def test_scenarios_that_the_descriptor_could_not_have_are_told_all_at_once(people):
    house, _ = people
    wrong = [
        {"name": "a", "kind": "NOSY_NEIGHBOUR", "keys": ["agee", "region:parts"]},
        {"name": "a", "kind": "NOSY_NEIGHBOUR", "keys": ["age", "age:five"]},
    ]
    with pytest.raises(InvalidRequest) as caught:
        assess(house, scenarios=wrong)
    assert {problem.path for problem in caught.value.problems} == {
        "scenarios[0].keys[0]",
        "scenarios[0].keys[1]",
        "scenarios[1].name",
        "scenarios[1].keys",
    }


def test_one_dataset_is_assessed_at_a_time_and_none_is_lost(people, monkeypatch):
    house, _ = people
    counted = house.engine.counted_units

    def meanwhile(*given):
        with pytest.raises(Unavailable):
            assess(house)
        return counted(*given)

    monkeypatch.setattr(house.engine, "counted_units", meanwhile)
    first = assess(house)
    monkeypatch.undo()
    assert assess(house) == first


def test_nothing_of_it_is_kept_in_the_ledger(people):
    house, _ = people
    before = house.ledger.head()
    assess(house)
    assert house.ledger.head() == before
