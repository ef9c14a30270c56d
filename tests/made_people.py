"""Small populations with persons, records, households and one measure, for judging by brute force."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from sdcgate.methods.cells import Axis, Facts, MeasureFacts
from sdcgate.methods.rules import (
    Consequence,
    Dominance,
    EqualValues,
    LinearSensitivity,
    MinimumHouseholds,
    MinimumUnits,
    PPercent,
    PriorPosterior,
    Rules,
)
from sdcgate.methods.tables.assessment import assess_table

PROTECT = Consequence.PROTECT
SINGLE_RULES = {
    "units": Rules(minimum_units=MinimumUnits(3, PROTECT)),
    "households": Rules(minimum_households=MinimumHouseholds(2, PROTECT)),
    "dominance of one": Rules(dominance=(Dominance(1, 0.5, PROTECT),)),
    "dominance of two": Rules(dominance=(Dominance(2, 0.8, PROTECT),)),
    "p percent": Rules(p_percent=PPercent(0.1, PROTECT)),
    "p percent of two who collude": Rules(p_percent=PPercent(0.3, PROTECT, 2)),
    "prior posterior": Rules(prior_posterior=PriorPosterior(0.1, 0.4, PROTECT)),
    "linear measure": Rules(linear_sensitivity=(LinearSensitivity((0.1, -0.3), -0.4, PROTECT),)),
    "equal values": Rules(equal_values=EqualValues(0.01, PROTECT)),
}
"""One rule at a time, so that none hides behind another."""
RANKS = 3


@dataclass(frozen=True)
class People:
    """Records: who, whose household, in which cell, with which value."""

    person: np.ndarray
    household: np.ndarray
    cell: np.ndarray
    value: np.ndarray

    def facts(self, groups: list[np.ndarray]) -> Facts:
        """Facts of groups of records, each a mask."""
        units, records, households = [], [], []
        sums, largest, absolute, minima, maxima = [], [], [], [], []
        for chosen in groups:
            persons = np.unique(self.person[chosen])
            totals = np.sort([self.value[chosen & (self.person == one)].sum() for one in persons])[::-1]
            units.append(len(persons))
            records.append(int(chosen.sum()))
            households.append(len(np.unique(self.household[chosen])))
            sums.append(self.value[chosen].sum())
            largest.append(np.append(totals, np.zeros(RANKS))[:RANKS])
            absolute.append(np.abs(totals).sum())
            minima.append(self.value[chosen].min() if chosen.any() else 0.0)
            maxima.append(self.value[chosen].max() if chosen.any() else 0.0)
        measure = MeasureFacts(
            name="income",
            sums=np.array(sums, dtype=float),
            valid_records=np.array(records),
            valid_units=np.array(units),
            largest=np.array(largest, dtype=float).reshape(len(groups), RANKS),
            absolute_sums=np.array(absolute, dtype=float),
            minima=np.array(minima, dtype=float),
            maxima=np.array(maxima, dtype=float),
            lower_bound=0.0,
            upper_bound=1000.0,
            lacking_units=np.zeros(len(groups), dtype=np.int64),
        )
        return Facts(
            units=np.array(units),
            records=np.array(records),
            households=np.array(households, dtype=float),
            measures=(measure,),
        )


def breaks_a_rule(facts: Facts, rules: Rules) -> np.ndarray:
    """Which groups break a rule, by the methods themselves."""
    axis = Axis("group", "group", tuple(map(str, range(len(facts)))), (-1,) * len(facts))
    unsafe = np.zeros(len(facts), dtype=bool)
    for finding in assess_table((axis,), facts, rules, 0, None).findings:
        unsafe[list(finding.cells)] = True
    return unsafe


@st.composite
def people(draw: st.DrawFn, cells: int = 4) -> People:
    """Up to 8 persons with up to 3 records each, in a few cells."""
    number = draw(st.integers(1, 8))
    records = draw(st.lists(st.integers(1, 3), min_size=number, max_size=number))
    person = np.repeat(np.arange(number), records)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    value = np.round(rng.choice([0.0, 1.0, 10.0, 100.0], len(person)) * rng.uniform(0.9, 1.1, len(person)), 2)
    return People(person, rng.integers(0, 3, number)[person], rng.integers(0, cells, len(person)), value)
