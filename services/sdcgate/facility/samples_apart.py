"""Tests of ranks that tell that everybody at one end of the values is of one sample.

With D of 1, or U of 0, all of the ill are younger than any of the healthy: whoever is as young as the median
of the ill is ill. D tells it of a part as well, where it is the share of a sample that lies beyond the other:
of 77 ill and 123 healthy people 46 / 77 is no other difference of shares.
"""

import numpy as np

from sdcgate.facility.boxes import codes_left, compressed
from sdcgate.facility.disclosed_groups import sensitive_codes
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_records import Population
from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.rules import Finding, ReasonCode
from sdcgate.methods.tables.sensitivity import CLOSE

OF_RANKS = frozenset({Statistic.MANN_WHITNEY_TEST, Statistic.KOLMOGOROV_SMIRNOV_TEST})


def samples_apart(plan: StatisticPlan, people: Population) -> tuple[Finding, ...]:
    """Groups of whom a test of ranks tells that all at one end have what it harms to have."""
    rule, has = plan.policy.rules.group_disclosure, people.columns.has
    if rule is None or has is None or plan.statistic not in OF_RANKS:
        return ()
    first, rest = _harm(plan)
    if not (first or rest):
        return ()
    values, order = people.sample.values, np.argsort(people.sample.groups, kind="stable")
    numbers, starts = np.unique(people.sample.groups[order], return_index=True)
    of_groups = zip(numbers.tolist(), np.split(order, starts[1:]), strict=True)
    found = [
        group
        for group, those in of_groups
        if _tells(plan.statistic, (values[those[has[those]]], values[those[~has[those]]]), (first, rest))
    ]
    return (Finding(ReasonCode.GROUP_DISCLOSURE, rule.consequence, tuple(found)),) if found else ()


def _harm(plan: StatisticPlan) -> tuple[bool, bool]:
    """Whether it does harm that all of a group are of the first sample, and that they are of the other."""
    dataset, having = plan.dataset, plan.having
    if having is None or not dataset.sensitive(having.variable):
        return False, False
    codes = sensitive_codes(dataset)[having.variable]
    within = codes_left(dataset, having.variable, plan.population)
    first = dataset.mask(having.variable, having.level, having.codes)
    sides = (compressed(dataset, having.variable, mask) for mask in (within & first, within & ~first))
    own, other = (codes.shared(side) for side in sides)
    return own, other


def _tells(statistic: Statistic, samples: tuple[FloatArray, FloatArray], harm: tuple[bool, bool]) -> bool:
    """Whether a test of two samples tells that all at one end are of one of which it does harm."""
    from scipy.stats import ks_2samp

    first, rest = samples
    if not (first.size and rest.size):
        return False
    if statistic is Statistic.MANN_WHITNEY_TEST:
        return bool(first.max() < rest.min() or rest.max() < first.min())
    largest = float(ks_2samp(first, rest, method="asymp").statistic)
    beyond = [
        max(float(np.mean(own < other.min())), float(np.mean(own > other.max())))
        for own, other, harms in ((first, rest, harm[0]), (rest, first, harm[1]))
        if harms
    ]
    return any(share >= largest * (1 - CLOSE) for share in beyond)
