"""Statistics Netherlands' rules, each met, violated and undecided."""

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from sdcgate.methods.risk.public_rules import PublicRules, public_rules
from sdcgate.methods.risk.release_rules import (
    Municipalities,
    Outcome,
    Regional,
    ReleasedVariable,
    ReleaseFile,
    RuleFinding,
    Topic,
)
from sdcgate.methods.risk.researchers_rules import DetailLimit, ResearchersRules, researchers_rules
from sdcgate.methods.risk.threshold import Base, Identifying

MET, VIOLATED, UNDECIDED = Outcome.MET, Outcome.VIOLATED, Outcome.UNDECIDED
REGION = ReleasedVariable("municipality", Identifying.EXTREMELY, regional=Regional.DIRECT)
SEX = ReleasedVariable("sex", Identifying.VERY)
JOB = ReleasedVariable("occupation", Identifying.YES, topic=Topic.OCCUPATION)
SIZE = ReleasedVariable("size of municipality", Identifying.YES, regional=Regional.INDIRECT)
DIET = ReleasedVariable("diet")

# Twelve places in six provinces: two sizes of 300,000 and 42,000 inhabitants.
PLACES = Municipalities(
    inhabitants=np.array([50_000] * 6 + [7_000] * 6),
    provinces=np.tile(np.arange(6), 2),
    variables=(0,),
    codes=np.repeat([0, 1], 6)[:, None],
)


def a_file(
    *variables: ReleasedVariable, rows: list[list[int]], each: float = 1.0, **told: Any
) -> ReleaseFile:
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(variables))
    return ReleaseFile(variables, codes, weights=np.full(len(rows), each), **told)


def researchers(file: ReleaseFile, rule: int, rules: ResearchersRules | None = None) -> RuleFinding:
    return researchers_rules(file, rules).rules[rule - 1]


def public(file: ReleaseFile, rule: int, rules: PublicRules | None = None) -> RuleFinding:
    return public_rules(file, rules).rules[rule - 1]


def test_direct_identifiers_are_named() -> None:
    name = ReleasedVariable("full name", direct_identifier=True)
    found = researchers(a_file(name, SEX, rows=[[0, 0]]), 1)
    assert (found.rule, found.outcome) == (1, VIOLATED)
    assert found.explanation == "Direct identifiers: full name."
    assert researchers(a_file(SEX, rows=[[0]]), 1).outcome is MET


def test_rare_combinations_of_the_three_classes_are_named_with_their_frequency() -> None:
    rows = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]]
    found = researchers(a_file(REGION, SEX, JOB, rows=rows, each=60.0), 2)
    assert found.outcome is VIOLATED
    assert found.requirement == "Each combination extremely x very x identifying occurs at least 100 times."
    assert [violation.variables for violation in found.violations] == [
        ("municipality", "sex", "occupation")
    ] * 2
    assert [violation.codes for violation in found.violations] == [(0, 0, 0), (0, 0, 1)]
    assert [violation.figure for violation in found.violations] == [60.0, 60.0]
    assert "municipality x sex x occupation: 2" in found.explanation
    assert researchers(a_file(REGION, SEX, JOB, rows=rows, each=100.0), 2).outcome is MET


def test_without_a_direct_region_pairs_are_looked_at() -> None:
    rows = [[0, 0, 0], [0, 1, 0], [1, 0, 1]]
    found = researchers(a_file(SEX, JOB, DIET, rows=rows, each=60.0), 2)
    assert found.requirement == "Each combination very x identifying occurs at least 100 times."
    assert {violation.variables for violation in found.violations} == {("sex", "occupation")}


def test_a_minimum_may_mean_the_sample_and_missing_values_agree_with_all() -> None:
    rows = [[0, 0]] * 99 + [[0, -1]]
    assert researchers(a_file(SEX, JOB, rows=rows, base=Base.SAMPLE), 2).outcome is MET
    assert researchers(a_file(SEX, JOB, rows=rows[:-1], base=Base.SAMPLE), 2).outcome is VIOLATED


def test_detail_beside_a_region_is_limited_as_the_agency_says() -> None:
    file = a_file(REGION, JOB, rows=[[0, 0], [1, 1], [1, 2]], municipalities=PLACES)
    limit = ResearchersRules(detail=(DetailLimit(Topic.OCCUPATION, 100_000, 2),))
    found = researchers(file, 3, limit)
    assert (found.outcome, found.violations[0].variables, found.violations[0].figure) == (
        VIOLATED,
        ("occupation",),
        3,
    )
    assert (
        researchers(file, 3, ResearchersRules(detail=(DetailLimit(Topic.OCCUPATION, 40_000, 2),))).outcome
        is MET
    )
    assert researchers(a_file(JOB, rows=[[0], [1], [2]]), 3, limit).outcome is MET


def test_detail_is_undecided_without_the_agencys_limits_or_the_municipalities() -> None:
    file = a_file(REGION, JOB, rows=[[0, 0]], municipalities=PLACES)
    assert (
        researchers(file, 3).explanation
        == "Cannot be judged: tell how many values of occupation a region allows."
    )
    limit = ResearchersRules(detail=(DetailLimit(Topic.OCCUPATION, 100_000, 2),))
    without = researchers(replace(file, municipalities=None), 3, limit)
    assert (without.outcome, "municipalities of municipality" in without.explanation) == (UNDECIDED, True)


def test_regions_of_fewer_than_ten_thousand_inhabitants_are_named() -> None:
    small = replace(PLACES, inhabitants=np.array([50_000] * 6 + [1_500] * 6))
    file = a_file(REGION, SEX, rows=[[0, 0], [1, 0]], municipalities=small)
    found = researchers(file, 4)
    assert (found.outcome, found.explanation) == (VIOLATED, "1 of 2 regions are smaller.")
    assert (found.violations[0].codes, found.violations[0].figure) == ((1,), 9_000)
    assert researchers(replace(file, codes=np.array([[0, 0], [0, 1]])), 4).outcome is MET
    assert researchers(replace(file, municipalities=None), 4).outcome is UNDECIDED
    assert researchers(a_file(SEX, rows=[[0]]), 4).outcome is MET


def test_regions_are_those_that_all_regional_variables_tell_apart_together() -> None:
    # Province and size class are large each; the small places of one province are one small region.
    province = replace(REGION, name="province")
    places = Municipalities(
        inhabitants=np.array([80_000, 9_000, 80_000, 20_000]),
        provinces=np.array([0, 0, 1, 1]),
        variables=(0, 1),
        codes=np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
    )
    found = researchers(a_file(province, SIZE, rows=[[0, 0], [0, 1], [1, 1]], municipalities=places), 4)
    assert [violation.codes for violation in found.violations] == [(0, 1)]
    assert (
        researchers(a_file(province, SIZE, rows=[[0, -1], [1, 1]], municipalities=places), 4).outcome is MET
    )
    elsewhere = a_file(province, SIZE, rows=[[1, 5]], municipalities=places)
    assert researchers(elsewhere, 4).violations[0].figure == 0


def test_a_panel_has_no_direct_regions() -> None:
    file = a_file(REGION, SEX, rows=[[0, 0]])
    assert researchers(file, 5).outcome is UNDECIDED
    assert researchers(replace(file, panel=False), 5).outcome is MET
    found = researchers(replace(file, panel=True), 5)
    assert (found.outcome, found.violations[0].variables) == (VIOLATED, ("municipality",))
    assert researchers(a_file(SEX, rows=[[0]]), 5).outcome is MET


def test_the_public_waits_a_year() -> None:
    file = a_file(SEX, rows=[[0]], reference_date=date(2024, 2, 29), release_date=date(2025, 2, 28))
    assert public(file, 1).outcome is VIOLATED
    assert public(replace(file, release_date=date(2025, 3, 1)), 1).outcome is MET
    assert public(replace(file, release_date=None), 1).outcome is UNDECIDED
    assert public(file, 1, PublicRules(age_years=0)).outcome is MET


def test_the_public_gets_no_direct_region_nationality_birthplace_or_ethnicity() -> None:
    origin = [
        ReleasedVariable("passport", topic=Topic.NATIONALITY),
        ReleasedVariable("born in", topic=Topic.COUNTRY_OF_BIRTH),
        ReleasedVariable("group", topic=Topic.ETHNICITY),
    ]
    found = public(a_file(REGION, SEX, *origin, rows=[[0, 0, 0, 0, 0]]), 2)
    assert [violation.variables[0] for violation in found.violations] == [
        "municipality",
        "passport",
        "born in",
        "group",
    ]
    assert public(a_file(SEX, JOB, rows=[[0, 0]]), 2).outcome is MET


def test_indirect_regions_are_large_scattered_and_of_one_kind() -> None:
    file = a_file(SIZE, SEX, rows=[[0, 0], [0, 0]], municipalities=PLACES)
    assert public(file, 3).outcome is MET
    small = public(replace(file, codes=np.array([[0, 0], [1, 0]])), 3)
    assert (small.outcome, small.violations[0].codes, small.violations[0].figure) == (VIOLATED, (1,), 42_000)
    few = replace(PLACES, provinces=np.array([0, 1, 2, 3, 4, 4] * 2))
    assert public(replace(file, municipalities=few), 3).outcome is VIOLATED
    city = replace(PLACES, inhabitants=np.array([250_000, *[50_000] * 5, *[7_000] * 6]))
    assert public(replace(file, municipalities=city), 3).outcome is VIOLATED
    assert public(replace(file, municipalities=None), 3).outcome is UNDECIDED
    assert public(a_file(SEX, rows=[[0]]), 3).outcome is MET


def test_two_kinds_of_indirect_regions_are_one_too_many_and_two_of_a_kind_are_not() -> None:
    urban = ReleasedVariable("urbanisation", Identifying.YES, regional=Regional.INDIRECT)
    places = replace(PLACES, variables=(0, 1), codes=np.repeat([[0, 0], [1, 1]], 6, axis=0))
    found = public(a_file(SIZE, urban, rows=[[0, 0]], municipalities=places), 3)
    assert found.explanation == "Several kinds: size of municipality, urbanisation."
    finer = replace(urban, kind="size of municipality")
    assert public(a_file(SIZE, finer, rows=[[0, 0]], municipalities=places), 3).outcome is MET


def test_at_most_fifteen_identifying_variables() -> None:
    sixteen = [ReleasedVariable(f"v{number}", Identifying.YES) for number in range(16)]
    assert public(a_file(*sixteen, rows=[[0] * 16]), 4).outcome is VIOLATED
    assert public(a_file(*sixteen[:15], DIET, rows=[[0] * 16]), 4).outcome is MET


def test_sensitive_variables_are_not_for_the_public() -> None:
    illness = ReleasedVariable("illness", sensitive=True)
    assert public(a_file(illness, SEX, rows=[[0, 0]]), 5).explanation == "Sensitive variables: illness."
    assert public(a_file(SEX, rows=[[0]]), 5).outcome is MET


def test_weights_must_not_tell_the_stratum() -> None:
    file = a_file(SEX, rows=[[0]] * 8, weights_released=True)
    telling = replace(file, weights=np.repeat([10.0, 20.0], 4))
    assert public(telling, 6).outcome is UNDECIDED
    found = public(replace(telling, design=np.array([1, 1, 1, 1, 1, 2, 2, 2])), 6)
    assert (found.outcome, found.violations[0].figure) == (VIOLATED, 0.5)
    assert public(replace(telling, design=np.tile([1, 2], 4)), 6).outcome is MET
    assert public(replace(telling, weights_released=False), 6).outcome is MET
    assert public(file, 6).explanation == "All weights are the same."
    each_his_own = replace(telling, weights=np.arange(1.0, 9.0), design=np.tile([1, 2], 4))
    assert public(each_his_own, 6).outcome is UNDECIDED


def test_every_value_has_two_hundred_thousand_persons_and_every_pair_a_thousand() -> None:
    rows = [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert public(a_file(SEX, JOB, rows=rows, each=100_000.0), 7).outcome is MET
    found = public(a_file(SEX, JOB, rows=[*rows, [2, 0]], each=100_000.0), 7)
    assert [(one.variables, one.codes) for one in found.violations] == [(("sex",), (2,))]
    assert public(a_file(SEX, JOB, rows=rows, each=1_000.0), 8).outcome is MET
    assert len(public(a_file(SEX, JOB, rows=rows, each=999.0), 8).violations) == 4
    assert public(a_file(DIET, DIET, rows=rows), 8).outcome is MET


def test_households_of_several_participants_are_at_least_five_of_their_kind() -> None:
    kind = ReleasedVariable("type of household", household=True)
    rows = [[0]] * 6 + [[1]] * 4 + [[2]]
    households = np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    file = a_file(kind, rows=rows, households=households)
    assert public(file, 9).outcome is MET
    couple = replace(file, households=np.array([0, 0, 1, 2, 3, 4, 5, 5, 7, 8, 9]))
    found = public(couple, 9)
    assert (found.outcome, found.violations[0].codes, found.violations[0].figure) == (VIOLATED, (1,), 3)
    assert public(replace(file, households=None), 9).outcome is UNDECIDED
    assert public(replace(file, codes=np.array([*rows[:-1], [7]])), 9).outcome is MET
    mixed = np.array([[5], *rows[1:]])
    assert "the same for all members" in public(replace(file, codes=mixed), 9).explanation
    assert public(a_file(SEX, rows=[[0]], households=np.array([0])), 9).outcome is MET


def test_records_in_the_order_of_households_are_not_in_random_order_whatever_the_steward_says() -> None:
    households = np.repeat(np.arange(60), 3)
    rows = np.random.default_rng(7).integers(0, 2, (180, 1)).tolist()
    file = a_file(SEX, rows=rows, households=households, random_order=True)
    found = public(file, 10)
    assert (found.outcome, found.explanation) == (
        VIOLATED,
        "Neighbours are alike beyond chance in households.",
    )
    shuffled = replace(file, households=np.random.default_rng(8).permutation(households))
    assert public(shuffled, 10).outcome is MET
    assert public(replace(shuffled, random_order=None), 10).outcome is UNDECIDED


def test_a_rule_set_is_met_only_if_every_rule_is() -> None:
    file = a_file(SEX, rows=[[0]], each=100.0)
    assert researchers_rules(file).met
    assert [finding.outcome for finding in researchers_rules(file).rules] == [MET] * 5
    assert not public_rules(file).met
    assert [finding.rule for finding in public_rules(file).rules] == list(range(1, 11))


def test_a_rule_that_could_not_be_judged_keeps_a_rule_set_from_being_met() -> None:
    file = a_file(REGION, rows=[[0]], each=100.0, municipalities=PLACES)
    assert [finding.outcome for finding in researchers_rules(file).rules] == [MET, MET, MET, MET, UNDECIDED]
    assert not researchers_rules(file).met
    assert researchers_rules(replace(file, panel=False)).met


def test_a_weight_that_one_unit_alone_has_tells_nothing_by_itself() -> None:
    weights, strata = np.array([10.0, 10.0, 20.0, 20.0, 30.0]), np.array([1, 2, 1, 2, 1])
    file = a_file(SEX, rows=[[0]] * 5, weights_released=True, design=strata)
    assert public(replace(file, weights=weights), 6).outcome is MET


def test_rare_values_are_hidden_where_findings_and_files_are_printed() -> None:
    file = a_file(SEX, JOB, rows=[[31, 32]], each=33.0)
    shown = repr(researchers_rules(file)) + repr(file)
    assert "31" not in shown
    assert "33" not in shown


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"weights": np.array([np.nan])}, "weights must be finite"),
        ({"households": np.array([1, 2])}, "households must have a value for each of the 1 units"),
        ({"design": np.array([1, 2])}, "design must have a value"),
        ({"variables": (SEX,)}, "variables: 1 for 2 columns"),
        ({"municipalities": replace(PLACES, variables=(1,))}, "column 1 is no regional variable"),
        ({"municipalities": replace(PLACES, codes=np.zeros((3, 1)))}, "of the same municipalities"),
        ({"municipalities": replace(PLACES, inhabitants=np.full(12, -1))}, "must not be negative"),
    ],
)
def test_a_file_that_contradicts_itself_is_rejected(told: dict[str, Any], message: str) -> None:
    file = a_file(SIZE, SEX, rows=[[0, 0]])
    with pytest.raises(ValueError, match=message):
        replace(file, **told)
