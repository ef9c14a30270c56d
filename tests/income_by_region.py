"""Income of the people by region and sex, in memory: tables of its sums and of their counts."""

from dataclasses import replace

import numpy as np

from people_by_region import released
from sdcgate.facility.knowledge import Knowledge, KnownQuantity
from sdcgate.methods.cells import MeasureFacts
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.span import Span

INCOME = np.array([[930, 510, 60], [150, 690, 30], [1000, 390, 90], [30, 20, 0]])
"""Of the people by region and sex; the women in the west have 1000, those in no region 30."""
NOWHERE = {"region": (0b1000,)}


def summed(table: BoxTable) -> np.ndarray:
    masks = [dict(box) for box in table.boxes()]
    inside = [
        [[m.get("region", 15) >> r & 1 and m.get("sex", 7) >> s & 1 for s in range(3)] for r in range(4)]
        for m in masks
    ]
    return np.array([(INCOME * np.array(one)).sum() for one in inside], dtype=float)


def of_income(axes, withheld=(), bounds=(0.0, 1000.0), **fixed):
    """A table of the people's income, and its counts."""
    counts = released(axes, withheld, **fixed)
    records, sums = counts.table.records, summed(counts.table)
    income = MeasureFacts(
        "income", sums, records, records, sums[:, None], sums, sums, sums, *bounds
    )  # fmt: skip
    return replace(counts, quantity="income", facts=replace(counts.facts, measures=(income,))), counts


def knowing(*tables):
    known = Knowledge(0, {}, KnownQuantity(Span({}, rng=np.random.default_rng(7))))
    return known.grown(one for table in tables for one in table)
