"""Samples that are printed with their estimates, and records as a sample."""

import numpy as np

from sdcgate.methods.outputs.sample import Design, Sample

ICE_CREAM = """
7 7 7 7 8 12 9 10 7 1 7 10 7 3 8 20 8 19 7 2 7 2 9 15 8 16 7 6 7 6 7 6 9 15 8 17 8 14 9 8
9 8 9 7 7 3 7 12 7 4 9 14 8 18 9 9 7 2 7 1 7 4 7 11 9 8 8 10 8 13 7 2 9 6 9 11 7 2 7 9
"""
"""Grade and weekly spending of 40 students: SAS/STAT 9.22 User's Guide, The SURVEYMEANS Procedure."""
STUDY_GROUPS = """
7 34 7 7 34 7 7 412 4 9 27 14 7 34 2 9 230 15 9 27 15 7 501 2 9 230 8 9 230 7 7 501 3 8 59 20
7 403 4 7 403 11 8 59 13 8 59 17 8 143 12 8 143 16 8 59 18 9 235 9 8 143 10 9 312 8 9 235 6 9 235 11
9 312 10 7 321 6 8 156 19 8 156 14 7 321 3 7 321 12 7 489 2 7 489 9 7 78 1 7 78 10 7 489 2 7 156 1
7 78 6 7 412 6 7 156 2 9 301 8
"""
"""Grade, study group and spending: the same chapter's Example 1, stratified clusters."""


def sample_of(values, groups=None, units=None, weights=None, design=None):
    values = np.asarray(values, dtype=np.float64)
    groups = np.zeros(len(values), dtype=np.int64) if groups is None else np.asarray(groups)
    units = np.arange(len(values)) if units is None else np.asarray(units)
    design = Design() if design is None else design
    return Sample(values, groups, units, int(groups.max()) + 1, weights, design)


def ice_cream():
    grade, spending = np.array(ICE_CREAM.split(), dtype=np.float64).reshape(-1, 2).T
    return grade.astype(np.int64) - 7, spending
