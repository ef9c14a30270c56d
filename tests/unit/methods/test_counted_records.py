"""Counts in amounts that are parts of records: how far apart they are in whole numbers."""

from dataclasses import replace

import numpy as np

from sdcgate.methods.tables.joint_system import Counted, joint_system
from three_variables import FULL, box

SYSTEM = joint_system(set(FULL), {}, [box(age=1), box(age=2)], FULL, room=1e-6)


def test_between_bounds_lie_the_whole_records_that_both_leave():
    counted = Counted(10.0, np.array([0.0, -2.5]))
    least, greatest = counted.whole(np.array([0.5, 2.4]), np.array([29.99999, 32.6]))
    assert least.tolist() == [1.0, 0.0]
    assert greatest.tolist() == [3.0, 3.0]
    found = replace(SYSTEM, counted=counted).apart(np.array([0.5, 2.4]), np.array([29.99999, 32.6]))
    assert found.tolist() == [20.0, 30.0]


def test_amounts_that_are_no_counts_are_as_far_apart_as_they_are():
    assert SYSTEM.apart(np.array([0.5, 2.4]), np.array([29.5, 32.5])).tolist() == [29.0, 30.1]
