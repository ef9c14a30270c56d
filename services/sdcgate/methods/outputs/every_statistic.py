"""Every statistic of groups that is computed from records, by its kind."""

from collections.abc import Callable, Iterator, Mapping

from sdcgate.methods.outputs.group_correlations import group_correlations
from sdcgate.methods.outputs.group_survival import group_survival
from sdcgate.methods.outputs.group_tests import group_tests
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.outputs.statistics import LARGEST, Columns, Computed, compute
from sdcgate.methods.positions import FactProblem, FactsError

_OF_SEVERAL_COLUMNS: Mapping[Statistic, Callable[[Statistic, Sample, StatisticRules, Columns], Computed]] = {
    Statistic.KAPLAN_MEIER: group_survival,
    Statistic.NELSON_AALEN: group_survival,
    Statistic.CORRELATIONS: group_correlations,
    Statistic.PRINCIPAL_COMPONENTS: group_correlations,
    Statistic.CHI_SQUARED_TEST: group_tests,
    Statistic.T_TEST: group_tests,
    Statistic.MANN_WHITNEY_TEST: group_tests,
    Statistic.KOLMOGOROV_SMIRNOV_TEST: group_tests,
    Statistic.ANALYSIS_OF_VARIANCE: group_tests,
}


def compute_statistic(
    statistic: Statistic,
    sample: Sample,
    rules: StatisticRules,
    columns: Columns | None = None,
    largest: int = LARGEST,
    errors: bool = True,
) -> Computed:
    """Compute a statistic of each group, with all the facts that its checks need; as `compute`, of any kind.

    Raises:
        FactsError: a column or a rule that the statistic needs is not given or does not fit.
    """
    columns = columns or Columns()
    if statistic in _OF_SEVERAL_COLUMNS:
        if problems := list(_problems(statistic, sample, columns)):
            raise FactsError(problems)
        return _OF_SEVERAL_COLUMNS[statistic](statistic, sample, rules, columns)
    return compute(statistic, sample, rules, columns, largest, errors)


def _problems(statistic: Statistic, sample: Sample, columns: Columns) -> Iterator[FactProblem]:
    """Columns that are too few, or not one value a record."""
    if statistic in (Statistic.CORRELATIONS, Statistic.PRINCIPAL_COMPONENTS) and len(columns.measures) < 2:
        yield FactProblem("measures", "must be two or more")
    if statistic is Statistic.CHI_SQUARED_TEST and len(columns.factors) != 2:
        yield FactProblem("factors", "must be two")
    if statistic is Statistic.ANALYSIS_OF_VARIANCE and not columns.factors:
        yield FactProblem("factors", "must be one or more")
    shapes = {f"measures[{place}]": values.shape for place, (_, values) in enumerate(columns.measures)}
    shapes |= {f"factors[{place}]": factor.positions.shape for place, factor in enumerate(columns.factors)}
    if columns.has is not None:
        shapes["has"] = columns.has.shape
    for path, shape in shapes.items():
        if shape != sample.values.shape:
            yield FactProblem(path, f"must have one value for each of {len(sample.values)} records")
