"""Counts of a cell may be known from an earlier release while a sum is not: then the sum is protected."""

from dataclasses import replace

import numpy as np
import pytest

from sdcgate.methods.cells import Axis, Facts, MeasureFacts
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.witnesses import verify

SHAPE = (4, 4)


def with_totals(inner):
    table = np.zeros(SHAPE, dtype=inner.dtype)
    table[:3, :3] = inner
    table[3, :3], table[:3, 3], table[3, 3] = inner.sum(axis=0), inner.sum(axis=1), inner.sum()
    return table.reshape(-1)


@pytest.fixture
def problem() -> Problem:
    axes = tuple(Axis(name, name, ("1", "2", "3", "_T"), (3, 3, 3, -1)) for name in ("row", "column"))
    records = with_totals(np.array([[30, 40, 50], [60, 70, 80], [20, 30, 40]]))
    sums = with_totals(np.array([[300.0, 420.0, 510.0], [640.0, 690.0, 805.0], [215.0, 330.0, 390.0]]))
    income = MeasureFacts(
        name="income",
        sums=sums,
        valid_records=records,
        valid_units=records,
        largest=np.zeros((16, 1)),
        absolute_sums=sums,
        minima=np.zeros(16),
        maxima=np.zeros(16),
        lower_bound=0.0,
        upper_bound=1000.0,
    )
    nowhere = np.zeros(16, dtype=np.bool_)
    return Problem(
        axes=axes,
        facts=Facts(units=records, records=records, measures=(income,)),
        units_additive=True,
        count_width=10,
        sum_width=0.1,
        zeros_withheld=False,
        records_per_unit=1,
        known=np.ones(16, dtype=np.bool_),
        known_measures=nowhere[None],
        absent=nowhere,
    )


def test_the_sum_of_a_cell_whose_count_is_known_is_withheld_and_proved(problem):
    unsafe = np.arange(16) == 0
    found = protect(problem, unsafe, 5.0)
    assert found.proof is Proof.PROVED
    assert found.withheld[0]
    assert found.withheld.sum() == 4
    assert np.all(found.witnesses.records == problem.facts.records[found.witnesses.cells])
    spread = np.ptp(np.append(found.witnesses.sums[0, :, 0], problem.facts.measures[0].sums[0]))
    assert spread >= 30.0


def test_a_witness_that_changes_a_known_count_proves_nothing(problem):
    unsafe = np.arange(16) == 0
    found = protect(problem, unsafe, 5.0)
    forged = replace(found.witnesses, records=found.witnesses.records + np.array([1, -1, -1, 1]))
    forged = replace(forged, units=forged.records)
    assert not verify(problem, found.withheld, found.witnesses).any()
    assert verify(problem, found.withheld, forged)[0]


def test_a_sum_that_is_known_as_well_cannot_be_withheld(problem):
    known = np.zeros((1, 16), dtype=np.bool_)
    known[0, 0] = True
    found = protect(replace(problem, known_measures=known), np.arange(16) == 0, 5.0)
    assert found.proof is not Proof.PROVED
    assert found.unprotected[0]


def test_counts_that_are_not_known_stay_protected_beside_sums_that_are(problem):
    everywhere = np.ones((1, 16), dtype=np.bool_)
    nowhere = np.zeros(16, dtype=np.bool_)
    counts = replace(problem, known=nowhere, known_measures=everywhere)
    found = protect(counts, np.arange(16) == 0, 5.0)
    assert found.proof is Proof.PROVED
    assert np.ptp(np.append(found.witnesses.records[:, 0], 30)) >= 10
    assert np.all(found.witnesses.sums == problem.facts.measures[0].sums[found.witnesses.cells])
