"""Conditions with long lists of codes: the same records as one by one, in little time."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.engine import CellQuery, Condition
from sdcgate.engine.code_lists import mask_of

PLACES = {"name": "place", "identifying": "NO", "levels": [{"integers": {"first": 0, "last": 9_999}}]}


@pytest.fixture
def places(bench, people):
    bench.write("id,place\n" + "".join(f"{number},{number}\n" for number in range(0, 10_000, 7)))
    return bench.register(people(variables=[PLACES]))


def counted(bench, dataset, codes):
    query = CellQuery((), (Condition("place", "", tuple(map(str, codes))),))
    return bench.engine.compute(dataset, query).facts.units.tolist()


@pytest.mark.parametrize(
    "codes",
    [range(9_000), range(0, 9_999, 2), [5], [6, 7, 8], [*range(8)], [*range(9)],
     [*range(100), 200, 202, *range(300, 500)]],
    ids=["a run", "every second", "one", "a short run", "eight", "nine", "mixed"],
)  # fmt: skip
def test_a_condition_keeps_the_records_of_its_codes(bench, places, codes):
    began = time.process_time()
    assert counted(bench, places, codes) == [sum(code % 7 == 0 for code in codes)]
    assert time.process_time() - began < 10


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), max_size=200))
def test_a_mask_has_the_bits_of_its_flags(flags):
    assert mask_of(np.array(flags, dtype=np.bool_)) == sum(
        1 << place for place, flag in enumerate(flags) if flag
    )
