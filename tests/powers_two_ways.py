"""Sums of powers of a population and how closely they tell its outermost values: by records, and by sums."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from engines_compared import conditions
from sdcgate.engine import Dataset, Engine
from sdcgate.engine import engine as engines
from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.engine.queries import RecordsQuery, Region
from sdcgate.facility.counted_regions import CountedRegions
from sdcgate.facility.judged_regions import JudgedRegions
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.region_moments import (
    Moments,
    MomentsByRecords,
    MomentsBySums,
    moments_of_regions,
)
from sdcgate.facility.region_records import RegionRecords, measures_of, variables_of_boxes
from sdcgate.facility.region_residuals import Products, residuals_of_regions
from sdcgate.facility.statistic_computing import Done
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.methods.outputs.power_sums import PowerSums, power_sums
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment, assess_statistic
from sdcgate.methods.outputs.statistic_facts import StatisticFacts
from sdcgate.methods.rules import ProtectionLevels

NEVER = 10**9
"""Records from which on sums are computed, so many that none are."""
FIGURES = ("totals", "sums", "absolute_sums", "largest")


def queries() -> st.SearchStrategy[MomentQuery]:
    """Questions for the sums of powers of a population."""
    return st.builds(
        MomentQuery,
        measure=st.sampled_from(["x", "y"]),
        highest=st.integers(2, 4),
        coalition=st.integers(1, 3),
        valid=st.sampled_from([(), ("x",), ("x", "y")]),
        filters=conditions(),
    )


def by_records(engine: Engine, dataset: Dataset, query: MomentQuery) -> tuple[PowerSums, ...]:
    """From the records, as statistics have them."""
    measures = tuple(sorted({query.measure, *query.valid}))
    found = engine.records(dataset, RecordsQuery((), measures, query.filters))
    if not len(found.unit):
        return ()
    nowhere = np.zeros(len(found.unit), dtype=np.int64)
    sample = Sample(found.measures[query.measure], nowhere, found.unit, 1)
    return tuple(power_sums(sample, order, query.coalition) for order in range(2, query.highest + 1))


def by_sums(engine: Engine, dataset: Dataset, query: MomentQuery) -> tuple[PowerSums, ...]:
    """Computed where the records lie."""
    return engine.moment_sums(dataset, _no_hurry).of_population(query)


def agree(one: tuple[PowerSums, ...], other: tuple[PowerSums, ...]) -> None:
    """The same counts; sums and closeness to a millionth of the millionth of what is summed or compared."""
    assert [powers.order for powers in one] == [powers.order for powers in other]
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(theirs.units, mine.units)
        np.testing.assert_array_equal(theirs.records, mine.records)
        summed = (mine.largest ** (1 / mine.order) * mine.records).max()
        np.testing.assert_allclose(theirs.totals, mine.totals, rtol=1e-12, atol=1e-12 * summed)
        for name in FIGURES[1:]:
            atol = 1e-12 * mine.absolute_sums.max()
            np.testing.assert_allclose(getattr(theirs, name), getattr(mine, name), rtol=1e-12, atol=atol)
        np.testing.assert_allclose(theirs.closeness, mine.closeness, rtol=1e-9, atol=1e-12)


def agree_on_tables(one: Sequence[ReleasedTable], other: Sequence[ReleasedTable]) -> None:
    """The same quantities in the same states of the same boxes, and sums as in `agree`."""
    assert [table.quantity for table in one] == [table.quantity for table in other]
    for mine, theirs in zip(one, other, strict=True):
        assert mine.boxes == theirs.boxes
        np.testing.assert_array_equal(theirs.table.states, mine.table.states)
        np.testing.assert_array_equal(theirs.facts.units, mine.facts.units)
        np.testing.assert_array_equal(theirs.facts.records, mine.facts.records)
        (of_one,), (of_other,) = mine.facts.measures, theirs.facts.measures
        for name in ("sums", "absolute_sums", "largest"):
            np.testing.assert_allclose(getattr(of_other, name), getattr(of_one, name), rtol=1e-12)
        assert (of_one.lower_bound, of_one.upper_bound) == (of_other.lower_bound, of_other.upper_bound)


def agree_on_statistics(plan: StatisticPlan, one: Done | None, other: Done | None) -> None:
    """The same facts, findings and figures, to 1e-8; of loadings but for signs, which equals leave open."""
    if one is None or other is None:
        assert one is other
        return
    agree_on_facts(one.computed.facts, other.computed.facts)
    rules = plan.policy.statistic_rules
    findings = [assess_statistic(plan.statistic, done.computed.facts, rules) for done in (one, other)]
    agree_on_findings(*findings)
    assert [figure.name for figure in one.computed.figures] == [f.name for f in other.computed.figures]
    for mine, theirs in zip(one.computed.figures, other.computed.figures, strict=True):
        values = [
            np.abs(values) if "loading" in mine.name else values for values in (theirs.values, mine.values)
        ]
        np.testing.assert_allclose(*values, rtol=1e-8, atol=1e-9, err_msg=mine.name)
    for power, same in zip(one.powers, other.powers, strict=True):
        assert power.measure == same.measure
        agree((power.whole,), (same.whole,))
        agree((power.of_samples,), (same.of_samples,))


def agree_on_findings(one: StatisticAssessment, other: StatisticAssessment) -> None:
    """The same findings; how much protection they want is a sum, which agrees as sums do."""
    bare = [
        [replace(found, levels=ProtectionLevels()) for found in assessed.findings]
        for assessed in (one, other)
    ]
    assert bare[0] == bare[1]
    assert (one.unchecked, one.absent) == (other.unchecked, other.absent)
    for mine, theirs in zip(one.findings, other.findings, strict=True):
        for name in (field.name for field in fields(ProtectionLevels)):
            wanted = (getattr(found.levels, name) for found in (theirs, mine))
            np.testing.assert_allclose(*wanted, rtol=1e-9, atol=1e-9)


def agree_on_facts(one: StatisticFacts, other: StatisticFacts) -> None:
    """The same counts, and sums and closeness as in `agree`."""
    np.testing.assert_array_equal(one.table.units, other.table.units)
    np.testing.assert_array_equal(one.table.records, other.table.records)
    for mine, theirs in zip(one.table.measures, other.table.measures, strict=True):
        assert mine.name == theirs.name
        for name in ("valid_records", "valid_units", "minima", "maxima"):
            np.testing.assert_array_equal(getattr(theirs, name), getattr(mine, name))
        for name in ("sums", "absolute_sums", "largest"):
            np.testing.assert_allclose(getattr(theirs, name), getattr(mine, name), rtol=1e-12, atol=1e-9)
    for bound, same in zip(one.bounds, other.bounds, strict=True):
        assert bound.name == same.name
        np.testing.assert_allclose(same.closeness, bound.closeness, rtol=1e-9, atol=1e-12)
    assert [left.name for left in one.residual_shares] == [left.name for left in other.residual_shares]
    for left, same_share in zip(one.residual_shares, other.residual_shares, strict=True):
        np.testing.assert_allclose(same_share.shares, left.shares, rtol=1e-6, atol=1e-9, err_msg=left.name)
    assert [table.name for table in one.implied] == [table.name for table in other.implied]
    for table, same_ in zip(one.implied, other.implied, strict=True):
        np.testing.assert_array_equal(same_.units, table.units)


def regions_of(dataset: Dataset, draw: Any) -> list[Region]:
    """Differences and atoms as the audit looks at them, over the codes that occur."""
    names = [variable.name for variable in dataset.descriptor.variables]

    def box(having: bool) -> tuple[tuple[str, int], ...]:
        chosen = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
        masks = {name: draw(st.integers(1, 2 ** dataset.occurring(name).bit_count() - 1)) for name in chosen}
        return tuple(sorted({**masks, **({"measure:y": 1} if having else {})}.items()))

    found = []
    for _ in range(draw(st.integers(1, 5))):
        having = draw(st.booleans())
        outside = [box(having) for _ in range(draw(st.integers(0, 1)))]
        found.append(Region((box(having),), tuple(outside)))
    return found


def same_of_regions(
    engine: Engine, dataset: Dataset, regions: list[Region], order: int, share: float
) -> None:
    """Counts, closeness and the judgement of regions."""
    variables = variables_of_boxes([box for region in regions for box in (*region.inside, *region.outside)])
    moments = Moments("x", order, share, 1)
    records = MomentsByRecords(RegionRecords(engine, dataset, "x"), variables, moments)
    sums = MomentsBySums(CountedRegions(engine, dataset, ("x",), variables, _no_hurry), moments)
    asked = [(region, measures_of(region.inside[0])) for region in regions]
    mine, theirs = ([way.chosen(*one) for one in asked] for way in (records, sums))
    assert [count for count, _ in mine] == [count for count, _ in theirs]
    there = [place for place, (count, _) in enumerate(mine) if count]
    if there:
        np.testing.assert_allclose(
            sums.closest([theirs[place][1] for place in there]),
            records.closest([mine[place][1] for place in there]),
            rtol=1e-9,
            atol=1e-12,
        )
    products = Products(("x", "y"), share, 1)
    for judge in (
        moments_of_regions(engine, dataset, moments, _no_hurry),
        residuals_of_regions(engine, dataset, products, _no_hurry),
    ):
        _judged_alike(judge, regions)


def _judged_alike(judge: JudgedRegions, regions: list[Region]) -> None:
    judged = []
    for sums_from in (NEVER, 0):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(engines, "SUMS_FROM", sums_from)
            judged.append(judge.unsafe(regions))
    np.testing.assert_array_equal(*judged)


def _no_hurry() -> None:
    """There is time left."""
