from types import SimpleNamespace
from typing import Any

import numpy as np

from sdcgate.facility.protection import protect
from sdcgate.methods.cells import Axis, Facts
from sdcgate.methods.tables.problem import Problem

UNITS = np.array([0, 12, 14, 26])
NOTHING = np.zeros(4, dtype=np.bool_)


def test_an_empty_unsafe_cell_is_unproved_where_zeros_are_published() -> None:
    """The protection service calls such a question wrong, and that would be an error, not a verdict."""
    problem = Problem(
        axes=(Axis("region", "region", ("n", "s", "w", "_T"), (3, 3, 3, -1)),),
        facts=Facts(units=UNITS, records=UNITS),
        units_additive=True,
        count_width=3,
        sum_width=0.0,
        zeros_withheld=False,
        records_per_unit=1,
        known=NOTHING,
        absent=NOTHING,
    )
    # Neither the plan nor the service nor the engine is asked.
    nobody: Any = SimpleNamespace()
    found = protect(nobody, problem, UNITS == 0, nobody, nobody, lambda: 1.0)
    assert not found.proved
    assert not found.impossible
    assert found.in_time
    assert found.marked.tolist() == [True, False, False, False]
