"""What is not given is said to be unchecked, and what is certain without it is found all the same."""

from dataclasses import replace

import numpy as np
import pytest

from sdcgate.methods.cells import Axis, Facts, MeasureFacts
from sdcgate.methods.rules import (
    Consequence,
    Dominance,
    EqualValues,
    GroupDisclosure,
    IndividualRisk,
    MinimumBase,
    MinimumHouseholds,
    MinimumUnits,
    PPercent,
    ReasonCode,
    Rules,
)
from sdcgate.methods.tables.assessment import Key, assess_table

PROTECT = Consequence.PROTECT
AXES = (Axis("site", "site", ("1", "2", "3", "_T"), (3, 3, 3, -1), sensitive=True),)
NONE = np.zeros(0)
NO_COUNTS = np.zeros(0, dtype=np.int64)
UNITS = np.array([2, 20, 0, 22])
RECORDS = np.array([4, 50, 0, 54])
INCOME = MeasureFacts(
    name="income",
    sums=np.array([90.0, 400.0, 0.0, 490.0]),
    valid_records=np.array([4, 50, 0, 54]),
    valid_units=UNITS,
    largest=np.array([[80.0, 10], [30, 30], [0, 0], [80, 30]]),
    absolute_sums=np.array([90.0, 400.0, 0.0, 490.0]),
    minima=np.array([10.0, 8.0, 0.0, 8.0]),
    maxima=np.array([10.0, 30.0, 0.0, 30.0]),
)
FACTS = Facts(UNITS, RECORDS, households=np.array([2.0, 9.0, 0.0, 11.0]), measures=(INCOME,))
RULES = Rules(
    minimum_units=MinimumUnits(5, PROTECT),
    minimum_households=MinimumHouseholds(3, PROTECT),
    minimum_base=MinimumBase(10, PROTECT),
    dominance=(Dominance(1, 0.5, PROTECT),),
    p_percent=PPercent(0.1, PROTECT),
    group_disclosure=GroupDisclosure(0.9, PROTECT),
    equal_values=EqualValues(0.0, PROTECT),
    individual_risk=IndividualRisk(0.5, True, PROTECT),
)
KEY = Key(np.array([2, 20]), np.array([20.0, 200.0]))


def assess(facts, rules=RULES, base=22, key=KEY):
    return assess_table(AXES, facts, rules, base, key)


def unchecked(facts, **how):
    found = assess(facts, **how)
    return {code.name for code in found.unchecked}, set(found.absent)


def cells(facts, rule, **how):
    return {cell for f in assess(facts, **how).findings if f.rule.name == rule for cell in f.cells}


def without(*names):
    """The facts without some columns of theirs or of the measure."""
    changes = {name: NO_COUNTS for name in names if name in ("units", "records")}
    changes |= {name: None for name in names if name == "households"}
    of_measure = {
        name: NO_COUNTS if name.startswith("valid") else NONE for name in names if hasattr(INCOME, name)
    }
    return replace(FACTS, measures=(replace(INCOME, **of_measure),), **changes)


def test_group_disclosure_has_nothing_to_judge_where_no_dimension_is_sensitive():
    """Nor do rules on contributions without a measure: what a table does not have is not unchecked."""
    plain = replace(AXES[0], sensitive=False)
    rules = Rules(group_disclosure=GroupDisclosure(0.5, PROTECT), p_percent=PPercent(0.1, PROTECT))
    for units in (FACTS.units, NO_COUNTS):
        found = assess_table((plain,), Facts(units, RECORDS), rules, None, None)
        assert (found.findings, found.unchecked, found.absent) == ((), (), ())
    marked = assess_table(AXES, Facts(NO_COUNTS, RECORDS), rules, None, None)
    assert [code.name for code in marked.unchecked] == ["GROUP_DISCLOSURE"]


def test_with_all_facts_nothing_is_unchecked():
    assert unchecked(FACTS) == (set(), set())
    assert cells(FACTS, "MINIMUM_UNITS") == {0}


@pytest.mark.parametrize(
    ("absent", "rules"),
    [
        ("units", {"MINIMUM_UNITS", "GROUP_DISCLOSURE"}),
        ("households", {"MINIMUM_HOUSEHOLDS"}),
        ("valid_units", {"MINIMUM_UNITS"}),
        ("valid_records", {"MINIMUM_UNITS"}),
        ("largest", {"DOMINANCE", "P_PERCENT"}),
        ("absolute_sums", {"DOMINANCE", "P_PERCENT"}),
        ("minima", {"EQUAL_VALUES"}),
        ("maxima", {"EQUAL_VALUES"}),
        ("sums", set()),
    ],
)
def test_each_absent_fact_leaves_its_rules_unchecked_and_is_named(absent, rules):
    of = absent if absent in ("units", "households") else f"{absent} of income"
    assert unchecked(without(absent)) == (rules, {of} if rules else set())


def test_base_and_key_are_absent_where_they_are_not_told():
    assert unchecked(FACTS, base=None) == ({"MINIMUM_BASE", "INDIVIDUAL_RISK"}, {"base_units"})
    assert unchecked(FACTS, key=None) == ({"INDIVIDUAL_RISK"}, {"key"})
    assert assess(FACTS, base=None).risk.key_cells == 2
    # An empty population is one that was told.
    assert ReasonCode.MINIMUM_BASE in {f.rule for f in assess(FACTS, base=0).findings}


def test_too_few_records_are_too_few_units_whatever_the_units():
    facts = without("units", "valid_units")
    assert cells(facts, "MINIMUM_UNITS") == {0}
    assert cells(facts, "MINIMUM_UNITS", rules=Rules(minimum_units=MinimumUnits(51, PROTECT))) == {0, 1}
    many_records = replace(facts, records=np.array([6, 50, 0, 56]), measures=())
    assert cells(many_records, "MINIMUM_UNITS") == set()
    assert unchecked(many_records)[0] == {"MINIMUM_UNITS", "GROUP_DISCLOSURE"}


def test_households_are_judged_by_whoever_is_known_to_be_there():
    nobody_asked = without("units", "records")
    assert cells(nobody_asked, "MINIMUM_HOUSEHOLDS") == {0}
    assert "units" in unchecked(nobody_asked)[1]
    # A cell with records and no household is no household; without records nobody knows.
    homeless = {"households": np.array([0.0, 9.0, 0.0, 9.0])}
    assert cells(replace(without("units"), **homeless), "MINIMUM_HOUSEHOLDS") == {0}
    assert cells(replace(nobody_asked, **homeless), "MINIMUM_HOUSEHOLDS") == set()


def test_a_table_of_sums_alone_is_judged_for_concentration():
    facts = Facts(NO_COUNTS, NO_COUNTS, measures=without("valid_units", "valid_records").measures)
    assert cells(facts, "DOMINANCE") == {0}
    assert cells(facts, "P_PERCENT") == {0}
    assert cells(facts, "EQUAL_VALUES") == {0}
    names, absent = unchecked(facts)
    assert names == {"MINIMUM_UNITS", "MINIMUM_HOUSEHOLDS", "GROUP_DISCLOSURE", "EQUAL_VALUES"}
    assert {"units", "households", "valid_units of income", "valid_records of income"} == absent


def test_a_sensitive_variable_alone_makes_group_disclosure_need_units():
    axes = (replace(AXES[0], sensitive=False),)
    facts = replace(without("units"), measures=())
    found = assess_table(axes, facts, Rules(group_disclosure=RULES.group_disclosure), None, None)
    assert (found.findings, found.unchecked) == ((), ())


@pytest.mark.parametrize("records", [RECORDS, NO_COUNTS], ids=["records", "no-records"])
def test_few_holdings_are_found_where_nothing_else_is_known_of_who_has_a_measure(records):
    of_holdings = replace(
        INCOME, valid_units=NO_COUNTS, valid_records=NO_COUNTS, valid_holdings=np.array([2, 9, 0, 11])
    )
    facts = replace(FACTS, records=records, measures=(of_holdings,))
    found = assess(facts, rules=Rules(minimum_units=MinimumUnits(5, PROTECT)))
    few = [one.cells for one in found.findings if one.measure == "income"]
    assert few == [(0,)]
    assert set(found.absent) == {"valid_units of income", "valid_records of income"}
