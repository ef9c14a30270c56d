"""Verdicts of ACRO 0.4.12 and 1.0.2 on means, sums, deviations, medians and maxima, both run, against ours.

Figures of cells are those of real charities' incomes and of a file made for the boundaries of rules. Where
both versions agree so do we, but for three things told below, where a cell tells single values.
"""

import numpy as np
import pytest

from sdcgate.methods.cells import Facts, MeasureFacts
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic, StatisticFacts
from sdcgate.methods.outputs.statistic_rules import PercentileUnits, StatisticRules, usual_rules
from sdcgate.methods.outputs.statistics import compute
from sdcgate.methods.rules import (
    Consequence,
    Dominance,
    EqualValues,
    MinimumUnits,
    PPercent,
    ReasonCode,
    Rules,
)

RULES = Rules(
    minimum_units=MinimumUnits(10, Consequence.REFUSE),
    dominance=(Dominance(2, 0.9, Consequence.REFUSE),),
    p_percent=PPercent(0.1, Consequence.REFUSE),
)
CHARITIES = [  # n, sum, largest, second largest, whether both versions flag the mean of grants
    (14, 138906690.0, 57600000.0, 46628000.0, False),
    (5, 0.0, 0.0, 0.0, True),
    (60, 504137052.0, 173171000.0, 165531000.0, False),
    (4, 46544000.0, 36645000.0, 8073000.0, True),
    (15, 127533700.0, 52900000.0, 44369000.0, False),
    (58, 7192804.0, 960417.0, 675401.0, False),
    (8, 128380000.0, 39118000.0, 30369000.0, True),
    (15, 171878700.0, 60100000.0, 57500000.0, False),
    (59, 7779685.0, 982879.0, 857674.0, False),
    (15, 206222200.0, 94700000.0, 85300000.0, False),
    (67, 554594197.0, 234218000.0, 176550000.0, False),
    (12, 133601200.0, 89300000.0, 18759000.0, False),
    (51, 551457279.0, 249327000.0, 165548000.0, False),
    (8, 146229000.0, 43693000.0, 33580000.0, True),
]
FEW = [1.0] * 10
BOUNDARIES = {  # values, and what both versions say of their sum and mean
    "nine": ([10, 11, 12, 13, 14, 15, 16, 17, 18], True),
    "ten": ([10, 11, 12, 13, 14, 15, 16, 17, 18, 19], False),
    "eleven": ([10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], False),
    "two of 12 hold 88%": ([44, 44] + [1.2] * 10, False),
    "two of 12 hold 92%": ([46, 46] + [0.8] * 10, True),
    "nine percent left": ([100, 50] + [0.9] * 10, True),
    "eleven percent left": ([100, 50] + [1.1] * 10, True),
    "one dominates": ([1000] + [1] * 19, True),
    "fifteen": (list(range(5, 20)), False),
}


def told(cells) -> StatisticFacts:
    """Facts as a portal tells them: nothing but what the cells of the cases have."""
    n, sums, first, second = (np.array(column) for column in list(zip(*cells, strict=True))[:4])
    measure = MeasureFacts(
        name="grants",
        sums=sums,
        valid_records=n,
        valid_units=n,
        largest=np.stack([first, second], axis=1),
        absolute_sums=sums,
        minima=np.zeros(len(n)),
        maxima=first,
    )
    return StatisticFacts(Facts(units=n, records=n, measures=(measure,)))


def one_group(values) -> Sample:
    values = np.array(values, dtype=np.float64)
    return Sample(values, np.zeros(len(values), dtype=np.int64), np.arange(len(values)), 1)


def verdict(statistic: Statistic, values, rules: StatisticRules, errors=False) -> set[ReasonCode]:
    computed = compute(statistic, one_group(values), rules, errors=errors)
    found = assess_statistic(statistic, computed.facts, rules, computed.errors)
    assert found.unchecked == ()
    return {finding.rule for finding in found.findings}


def test_means_of_charities_grants_are_judged_as_both_versions_do():
    found = assess_statistic(Statistic.MEAN, told(CHARITIES), StatisticRules(RULES))
    assert found.unsafe(len(CHARITIES)).tolist() == [cell[-1] for cell in CHARITIES]


@pytest.mark.parametrize(("values", "flagged"), BOUNDARIES.values(), ids=BOUNDARIES)
@pytest.mark.parametrize("statistic", [Statistic.MEAN, Statistic.TOTAL])
def test_sums_and_means_at_the_boundaries_are_judged_as_both_versions_do(statistic, values, flagged):
    assert bool(verdict(statistic, values, StatisticRules(RULES))) == flagged


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_mean_of_equal_values_tells_each_of_them(value):
    """Both versions flag twelve zeros and let twelve sevens leave: each of the twelve is told either way."""
    equal = Rules(minimum_units=RULES.minimum_units, equal_values=EqualValues(0.0, Consequence.REFUSE))
    assert verdict(Statistic.MEAN, [value] * 12, StatisticRules(equal)) == {ReasonCode.EQUAL_VALUES}


def test_a_mean_with_its_error_tells_the_first_of_two_equal_ones_to_the_second():
    """Two of twelve hold 88%: as a mean both versions and we let it leave, but not with its variance."""
    values, flagged = BOUNDARIES["two of 12 hold 88%"]
    assert not flagged
    assert verdict(Statistic.MEAN, values, StatisticRules(RULES), errors=True) == {ReasonCode.P_PERCENT}


@pytest.mark.parametrize(
    ("values", "flagged"), [cell for name, cell in BOUNDARIES.items() if name != "two of 12 hold 88%"]
)
def test_deviations_at_the_boundaries_are_judged_as_the_version_that_masks_them(values, flagged):
    """Of 1.0.2 the mask of standard deviations is wrong: it flags every cell. 0.4.12 judges them as sums."""
    assert bool(verdict(Statistic.STANDARD_DEVIATION, values, StatisticRules(RULES))) == flagged


def test_a_deviation_is_refused_where_it_tells_an_outlier_that_no_sum_tells():
    """One of 40 far out on a high level holds 3% of the sum, and lies where the variance says it must."""
    values = [100.0 + place / 4 for place in range(39)] + [150.0]
    assert verdict(Statistic.MEAN, values, StatisticRules(RULES)) == set()
    assert verdict(Statistic.VARIANCE, values, StatisticRules(RULES)) == {ReasonCode.P_PERCENT}


@pytest.mark.parametrize("number", [10, 11, 12, 15, 20])
def test_medians_agree_under_the_same_rules_and_are_refused_where_they_are_a_records_value(number):
    """Both versions let medians of 10 leave: of 11 it is one record's value. We ask for units beside it."""
    values = [3 + place * 0.7 for place in range(number)]
    as_acro = StatisticRules(RULES, percentiles=PercentileUnits(10, 0, Consequence.REFUSE, (0.5,)))
    assert verdict(Statistic.PERCENTILES, values, as_acro) == set()
    ours = usual_rules(RULES)
    assert verdict(Statistic.PERCENTILES, values, ours) == {ReasonCode.PERCENTILE_UNITS}


@pytest.mark.parametrize(("values", "flagged"), BOUNDARIES.values(), ids=BOUNDARIES)
@pytest.mark.parametrize("statistic", [Statistic.MAXIMUM, Statistic.RANGE])
def test_extremes_are_refused_though_acro_lets_them_leave_on_a_count(statistic, values, flagged):
    """1.0.2 lets the maximum of ten charities leave: it is what the richest of them got."""
    assert ReasonCode.EXTREME_VALUE in verdict(statistic, values, usual_rules(RULES))


def test_an_extreme_leaves_where_enough_units_share_it():
    assert verdict(Statistic.MINIMUM, [0.0] * 10 + [5.0, 9.0], usual_rules(RULES)) == set()
    assert verdict(Statistic.MINIMUM, [0.0] * 9 + [5.0] * 10, usual_rules(RULES)) == {
        ReasonCode.EXTREME_VALUE
    }
