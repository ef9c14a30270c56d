"""Scenarios: what an intruder knows and is after decides the risk; several apply at once."""

from dataclasses import replace

import numpy as np
import pytest

from sdcgate.methods.risk.file_assessment import assess_file
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.household import hierarchical_file_risk, household_risk
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import Missing, frequencies
from sdcgate.methods.risk.microdata import KeyVariable, Microdata
from sdcgate.methods.risk.risk_factors import Factors
from sdcgate.methods.risk.scenarios import (
    NO_HOUSEHOLDS,
    NO_POPULATION,
    Scenario,
    ScenarioKind,
    ScenarioTarget,
    scenario_risk,
    together,
)

PEOPLE = 240
NAMES = tuple(KeyVariable(name) for name in ("sex", "age", "place"))


@pytest.fixture
def file() -> Microdata:
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, n, PEOPLE) for n in (2, 9, 12)])
    weights, households = rng.uniform(2, 60, PEOPLE), np.arange(PEOPLE) // 3
    return Microdata(NAMES, codes, weights=weights, households=households)


def archive(file: Microdata, keys=(0, 1), **given) -> Scenario:
    chosen = {"name": "roll", "kind": ScenarioKind.INDIVIDUAL_ARCHIVE, **given}
    return Scenario(keys=tuple(NAMES[key] for key in keys), codes=file.codes[:, list(keys)], **chosen)


def own_risks(file: Microdata, keys=(0, 1), missing=Missing.CATEGORY):
    common = frequencies(file.codes[:, list(keys)], file.weights, missing)
    return individual_risk(common.f, sampling_probabilities(common.f, common.weight_sums)), common.f


def test_an_archive_finds_by_its_own_key_what_agrees_is_covered_and_tried(file):
    risks, f = own_risks(file)
    found = scenario_risk(file, archive(file, factors=Factors(0.9, 0.8, 0.5)), 0.1)
    assert found.expected_matches == pytest.approx(0.36 * risks.sum(), rel=1e-12)
    assert found.reidentification_rate == pytest.approx(0.36 * risks.mean(), rel=1e-12)
    assert found.maximum == pytest.approx(0.36 * risks.max(), rel=1e-12)
    assert (found.key_cells, found.sample_uniques) == (18, int((f == 1).sum()))
    assert found.unsafe_units == int((0.36 * risks >= 0.1).sum())


def test_a_neighbour_who_knows_who_took_part_finds_one_of_each_key(file):
    neighbour = archive(file, kind=ScenarioKind.NOSY_NEIGHBOUR, keys=(0, 1, 2), response_known=True)
    found = scenario_risk(replace(file, weights=None), neighbour, 0.5)
    assert found.expected_matches == pytest.approx(len(np.unique(file.codes, axis=0)), rel=1e-12)
    assert found.maximum == 1.0
    assert found.worst.units == found.sample_uniques == found.worst.key_cells
    assert (found.worst.frequency, found.worst.population) == (1, None)


def test_without_weights_who_does_not_know_who_took_part_has_no_figure(file):
    with pytest.raises(ValueError, match=NO_POPULATION):
        scenario_risk(replace(file, weights=None), archive(file), 0.1)


def test_a_household_archive_gives_every_member_the_risk_of_the_household(file):
    scenario = archive(
        file, kind=ScenarioKind.HOUSEHOLD_ARCHIVE, target=ScenarioTarget.HOUSEHOLD, threshold=0.2
    )
    households = household_risk(own_risks(file)[0], file.households)
    found = scenario_risk(file, scenario, 0.9)
    assert found.expected_matches == pytest.approx(
        hierarchical_file_risk(households).expected_matches, rel=1e-12
    )
    assert found.maximum == households.risks.max()
    assert found.threshold == 0.2
    assert found.unsafe_households == int((households.risks >= 0.2).sum())
    assert found.unsafe_units == 3 * found.unsafe_households
    with pytest.raises(ValueError, match=NO_HOUSEHOLDS):
        scenario_risk(replace(file, households=None), scenario, 0.9)


def test_each_scenario_has_its_own_rule_for_missing_values(file):
    codes = np.where(np.random.default_rng(1).random(file.codes.shape) < 0.1, -1, file.codes)
    lacking = replace(file, codes=codes)
    for missing in Missing:
        risks, f = own_risks(lacking, missing=missing)
        found = scenario_risk(lacking, archive(lacking, missing=missing), 0.1)
        assert found.expected_matches == pytest.approx(risks.sum(), rel=1e-12)
        assert found.sample_uniques == (f == 1).sum()


def test_a_panel_is_found_by_its_history(file):
    twice = Microdata(
        NAMES,
        np.vstack([file.codes, (file.codes + 1) % 2]),
        fraction=0.1,
        units=np.tile(np.arange(PEOPLE), 2),
    )
    found = scenario_risk(twice, archive(twice, keys=(1,)), 0.1)
    history = np.column_stack([file.codes[:, 1], (file.codes[:, 1] + 1) % 2])
    assert (found.units, found.key_cells) == (PEOPLE, len(np.unique(history, axis=0)))


def test_together_each_unit_has_the_largest_of_its_risks(file):
    ones = [scenario_risk(file, archive(file, keys=keys), 0.3) for keys in ((0,), (1, 2), (0, 2))]
    found = together(tuple(ones))
    largest = np.max([one.risks for one in ones], axis=0)
    assert found.expected_matches == pytest.approx(largest.sum(), rel=1e-12)
    assert found.unsafe_units == int((largest >= 0.3).sum())
    assert max(one.expected_matches for one in ones) <= found.expected_matches
    assert found.expected_matches <= sum(one.expected_matches for one in ones)
    with pytest.raises(ValueError, match="one or more"):
        together(())


def test_a_threshold_per_scenario_holds_in_all_of_them_together(file):
    strict = scenario_risk(file, archive(file, keys=(0, 1, 2), threshold=1e-6), 0.3)
    assert strict.unsafe_units == PEOPLE
    lenient = scenario_risk(file, archive(file, keys=(0,)), 1.0)
    assert together((lenient, strict)).unsafe_units == PEOPLE


def test_the_worst_group_is_told_by_numbers_of_records_only_where_asked(file):
    found = scenario_risk(file, archive(file), 0.1)
    assert len(found.worst.first_records) == 0
    named = scenario_risk(file, archive(file), 0.1, named=2).worst.first_records
    assert (found.risks[named - 1] == found.maximum).all()
    assert "first_records" not in repr(found)


@pytest.mark.parametrize("threshold", [0.0, 1.5, float("nan")])
def test_a_threshold_that_is_no_probability_is_refused(file, threshold):
    with pytest.raises(ValueError, match="threshold"):
        scenario_risk(file, archive(file, threshold=threshold), 0.1)


def test_an_assessment_has_its_scenarios_side_by_side_and_says_which_it_cannot_judge(file):
    scenarios = (
        archive(file),
        archive(file, name="neighbour", keys=(0, 2), response_known=True),
        archive(file, name="register", target=ScenarioTarget.HOUSEHOLD),
    )
    whole = assess_file(replace(file, scenarios=scenarios))
    assert [one.scenario.name for one in whole.scenarios] == ["roll", "neighbour", "register"]
    assert whole.scenarios_together.maximum == max(one.maximum for one in whole.scenarios)
    assert whole.individual.risk.expected_matches == assess_file(file).individual.risk.expected_matches
    lacking = assess_file(replace(file, scenarios=scenarios, households=None), Options(riskiest=1))
    assert [one.scenario.name for one in lacking.scenarios] == ["roll", "neighbour"]
    assert ("scenario register", NO_HOUSEHOLDS) in [(one.what, one.reason) for one in lacking.not_computed]


def test_codes_of_a_scenario_must_be_of_the_records(file):
    with pytest.raises(ValueError, match="scenarios: roll"):
        replace(file, scenarios=(replace(archive(file), codes=file.codes[:5, :2]),))
