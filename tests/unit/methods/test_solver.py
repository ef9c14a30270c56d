"""Programs keep to their time, again and again."""

import time

import numpy as np

from sdcgate.methods.tables.solver import Deadline, Program, Rows


def hopeless(rows=5, columns=50):
    """A market split problem (Cornuejols and Dawande, IPCO 1998): small, and beyond branching for hours."""
    weights = np.random.default_rng(7).integers(0, 100, (rows, columns)).astype(float)
    halves = np.floor(weights.sum(axis=1) / 2)
    of = Rows()
    of.start(halves, halves)
    row, column = np.indices(weights.shape)
    of.put(row.reshape(-1), column.reshape(-1), weights.reshape(-1))
    return Program(of, columns, integer=np.ones(columns, dtype=np.bool_))


def test_an_integer_program_has_no_more_time_for_having_run_before():
    program, cost = hopeless(), np.random.default_rng(8).random(50)
    for _ in range(4):
        began = time.monotonic()
        assert program.maximise(cost, np.zeros(50), np.ones(50), Deadline(0.2)) is None
        took = time.monotonic() - began
    assert took < 0.45
