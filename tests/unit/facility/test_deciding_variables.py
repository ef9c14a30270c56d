"""The usual code of a variable beside each code of another, whatever number of codes both have."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.facility.deciding_variables import _usual

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=40)


@given(ROWS)
def test_the_usual_code_is_one_that_most_records_have(rows: list[tuple[int, int, int]]) -> None:
    deciding, decided, records = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    counted: dict[int, Counter[int]] = {}
    for one, other, number in rows:
        counted.setdefault(one, Counter())[other] += number

    usual = _usual(deciding, decided, records)

    for one, others in counted.items():
        assert others[int(usual[one])] == max(others.values())


def test_many_codes_take_no_table_of_all_pairs() -> None:
    codes = np.arange(1_000_000, dtype=np.int64)

    usual = _usual(codes, codes[::-1].copy(), np.ones_like(codes))

    assert usual[:3].tolist() == [999_999, 999_998, 999_997]
