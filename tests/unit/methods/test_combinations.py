"""Joint codes that records have."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.tables.combinations import occurring


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=30), st.integers(0, 3))
def test_records_are_counted_and_summed_by_the_joint_codes_that_they_have(people, variables):
    codes = [np.array([person[v] for person in people], dtype=np.uint8) for v in range(variables)]
    weights = np.arange(len(people), dtype=np.float64)
    found = occurring(tuple("abc"[:variables]), codes, len(people))
    joint = [tuple(map(int, row)) for row in found.combinations.codes]
    expected = Counter(person[:variables] for person in people)
    assert joint == sorted(expected)
    assert dict(zip(joint, found.summed().tolist(), strict=True)) == expected
    summed = Counter(dict.fromkeys(expected, 0))
    for person, weight in zip(people, weights.tolist(), strict=True):
        summed[person[:variables]] += weight
    assert dict(zip(joint, found.summed(weights).tolist(), strict=True)) == summed
