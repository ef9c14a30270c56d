"""Which cells are kept back so that nothing withheld can be computed with earlier releases, and no more."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from people_by_region import BY_REGION, FULL, MEN, SOUTH, WOMEN, knowing, released
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.methods.cells import State
from sdcgate.methods.tables.modular import unhurried
from sdcgate.methods.tables.span import SpanBudgetExceeded


def test_where_nothing_can_be_computed_nothing_is_kept_back():
    known = knowing(released(BY_REGION, withheld=(1, 2), sex=WOMEN))
    assert not known.revealing([released(BY_REGION)], unhurried).any()


def test_the_smallest_cells_are_kept_back_that_with_earlier_ones_give_a_withheld_one():
    known = knowing(released(BY_REGION, withheld=(1, 3), sex=WOMEN))
    # With and without the men of the south, the women there could be computed.
    known = known.grown(released({"sex": (MEN, 0b100)}, region=SOUTH))
    new = released({"sex": (0b111,)}, region=SOUTH)
    assert known.reveals([new], unhurried)
    assert known.revealing([new], unhurried).tolist() == [True]
    # In the table of all regions the south follows from the total as well, unless one more is kept back.
    table = released(BY_REGION)
    assert known.revealing([table], unhurried).tolist() == [False, True, False, True, False]


def test_what_is_known_already_holds_nothing_back_and_what_is_not_goes_on_being_watched():
    """The women of one region follow from the others; of the men two are withheld."""
    known = knowing(released(BY_REGION, withheld=(1,), sex=WOMEN))
    assert not known.revealing([released(BY_REGION)], unhurried).any()
    known = known.grown(released(BY_REGION, withheld=(1, 3), sex=MEN))
    assert known.revealing([released(BY_REGION, sex=WOMEN | MEN)], unhurried).any()


def test_a_search_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr("sdcgate.facility.knowledge.MOST_TRIALS", 2)
    known = knowing(released(BY_REGION, withheld=(1, 3), sex=WOMEN))
    known = known.grown(released({"sex": (MEN, 0b100)}, region=SOUTH))
    with pytest.raises(SpanBudgetExceeded):
        known.revealing([released(BY_REGION)], unhurried)


MASKS = {name: tuple(range(1, full + 1)) for name, full in FULL.items()}


@st.composite
def tables(draw, withholding=True):
    """A table of any codes of one or two variables, filtered by the other, with any cells withheld."""
    names = draw(st.sampled_from([("region",), ("sex",), ("region", "sex")]))
    axes = {
        name: tuple(draw(st.lists(st.sampled_from(MASKS[name]), min_size=1, max_size=4, unique=True)))
        for name in names
    }
    others = [name for name in FULL if name not in names]
    fixed = {name: draw(st.sampled_from(MASKS[name])) for name in others if draw(st.booleans())}
    fixed = {name: mask for name, mask in fixed.items() if mask != FULL[name]}
    count = int(np.prod([len(masks) for masks in axes.values()]))
    withheld = draw(st.sets(st.integers(0, count - 1), max_size=3)) if withholding else set()
    return released(axes, tuple(withheld), **fixed)


def dense(table: ReleasedTable, cells: np.ndarray) -> list[np.ndarray]:
    """Cells as vectors over all combinations of codes."""
    found = []
    for cell in np.flatnonzero(cells):
        box = {**FULL, **dict(table.boxes[cell])}
        codes = [[mask >> code & 1 for code in range(FULL[name].bit_length())] for name, mask in box.items()]
        found.append(np.array([a * b for a, b in product(*codes)], dtype=float))
    return found


def computable(shown: list[np.ndarray], hidden: list[np.ndarray]) -> bool:
    rank = np.linalg.matrix_rank(np.array(shown)) if shown else 0
    return any(np.linalg.matrix_rank(np.array([*shown, one])) == rank for one in hidden)


@settings(max_examples=150, deadline=None)
@given(earlier=st.lists(tables(), min_size=1, max_size=3), new=tables())
def test_what_is_kept_back_is_enough_and_nothing_of_it_too_much(earlier, new):
    shown, hidden = [], []
    for table in earlier:
        shown += dense(table, table.table.states == State.PUBLISHED)
        hidden += dense(table, table.table.states == State.WITHHELD)
    hidden += dense(new, new.table.states == State.WITHHELD)
    assume(not computable(shown, hidden))
    kept_back = knowing(*earlier).revealing([new], unhurried)
    leaving = (new.table.states == State.PUBLISHED) & ~kept_back
    assert not computable([*shown, *dense(new, leaving)], hidden)
    for cell in np.flatnonzero(kept_back):
        alone = np.arange(len(kept_back)) == cell
        assert computable([*shown, *dense(new, leaving | alone)], hidden)
