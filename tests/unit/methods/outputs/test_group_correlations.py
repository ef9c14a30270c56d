"""What correlations tell beside how measures vary together."""

import numpy as np

from sdcgate.methods.outputs.group_correlations import group_correlations
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import ImpliedTable, StatisticRules
from sdcgate.methods.outputs.statistics import Columns
from sdcgate.methods.rules import Consequence, ReasonCode, Rules


def test_a_measure_of_two_values_compares_two_groups_of_units() -> None:
    """In the first group nine have 11 and the others 10, in the second a third has: each has two records."""
    rng = np.random.default_rng(4)
    units = np.repeat(np.arange(200), 2)
    first = units < 100
    coins = np.where(np.where(first, units < 9, units % 3 == 0), 11.0, 10.0)
    incomes = rng.normal(100, 10, len(units))
    sample = Sample(incomes, np.where(first, 0, 1), units, 2)
    rules = StatisticRules(Rules(), implied=ImpliedTable(10, Consequence.PROTECT))

    found = group_correlations(
        Statistic.CORRELATIONS, sample, rules, Columns(measures=(("incomes", incomes), ("coins", coins)))
    )

    (implied,) = found.facts.implied
    assert implied.name == "values of coins"
    assert implied.units.tolist() == [[91, 9], [67, 33]]
    (finding,) = assess_statistic(found.statistic, found.facts, rules).findings
    assert (finding.rule, finding.cells, finding.measure) == (
        ReasonCode.IMPLIED_TABLE,
        (0,),
        "values of coins",
    )


def test_two_measures_of_two_values_are_told_together() -> None:
    """Of 60 who are ill and 60 who are old three are both: r is phi of these counts, and tells the three."""
    at = np.arange(1000)
    ill, old = (at < 60) * 1.0, ((at >= 57) & (at < 117)) * 1.0
    sample = Sample(ill, np.zeros(1000, dtype=np.int64), at, 1)
    rules = StatisticRules(Rules(), implied=ImpliedTable(10, Consequence.PROTECT))

    found = group_correlations(
        Statistic.CORRELATIONS, sample, rules, Columns(measures=(("ill", ill), ("old", old)))
    )

    told = next(figure for figure in found.figures if figure.name == "correlation(ill,old)").values[0]
    assert round(1000 * (0.06**2 + told * 0.06 * 0.94)) == 3
    assert [one.units.tolist() for one in found.facts.implied] == [
        [[940, 60]],
        [[940, 60]],
        [[883, 57, 57, 3]],
    ]
    (finding,) = assess_statistic(found.statistic, found.facts, rules).findings
    assert (finding.rule, finding.measure) == (ReasonCode.IMPLIED_TABLE, "values of ill and old")
