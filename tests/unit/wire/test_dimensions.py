"""Axes on the wire, and cells that come in their sender's order."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.cells import Axis
from sdcgate.wire.dimensions import CellOrder, axes_from_messages, axes_to_messages
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.tables import listed, mask
from sdcgate_proto.sdcgate.types.v1 import table_pb2

SEX = Axis("sex", "sex", ("f", "m", "_T"), (2, 2, -1), identifying=True, labels=("a", "b", "c"))
AREA = Axis("area", "area", ("n", "s"), (-1, -1), sensitive=True)


def dimension(codes="ab", cells=(), parents=(), variable="x", level=""):
    return table_pb2.Dimension(variable=variable, level=level, codes=codes, parents=parents, cells=cells)


def problems(*dimensions, **how):
    with pytest.raises(InvalidMessageError) as caught:
        axes_from_messages(dimensions, **how)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_axes_come_back_as_they_went():
    for with_cells in (False, True):
        messages = axes_to_messages((SEX, AREA), with_cells)
        axes, order = axes_from_messages(messages)
        assert (axes, order.places) == ((SEX, AREA), None)
    assert list(messages[0].cells) == [0, 0, 1, 1, 2, 2]
    assert list(messages[1].cells) == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"codes": []}, "codes"),
        ({"codes": ["f", "f", "_T"]}, "codes"),
        ({"parents": [2, 2]}, "parents"),
        ({"parents": [5, 2, -1]}, "parents"),
        ({"parents": [1, 0, -1]}, "parents"),
        ({"parents": [0, 2, -1]}, "parents"),
        ({"labels": ["x"]}, "labels"),
        ({"cells": [0, 1, 2, 0, 1]}, "cells"),
        ({"cells": [0, 0, 1, 1, 2, 3]}, "cells"),
        ({"cells": []}, "cells"),
    ],
)
def test_axes_that_are_no_axes_are_refused(changes, path):
    messages = axes_to_messages((SEX, AREA), with_cells=True)
    for name, value in changes.items():
        del getattr(messages[0], name)[:]
        getattr(messages[0], name).extend(value)
    assert f"dimensions[0].{path}" in problems(*messages)


def test_all_problems_of_all_dimensions_come_at_once():
    found = problems(
        dimension(parents=[1, 0]), dimension(variable="y", codes=["a", "a"]), dimension(parents=[-1])
    )
    assert found.keys() == {
        "dimensions[0].parents",
        "dimensions[1].codes",
        "dimensions[2].parents",
        "dimensions[2].variable",
    }
    assert found["dimensions[0].parents"] == "run in a circle"


def test_a_variable_may_stand_twice_only_at_two_levels():
    axes_from_messages([dimension(level="years"), dimension(level="decades")])
    assert problems(dimension(level="years"), dimension(level="years")).keys() == {"dimensions[1].variable"}


def test_tables_of_absurd_size_are_refused_before_anything_is_made():
    wide = Axis("a", "a", tuple(map(str, range(10_000))), (-1,) * 10_000)
    messages = axes_to_messages((wide,)) * 5
    assert "at most 10000000" in problems(*messages)["dimensions"]
    assert "at most 3 " in problems(dimension(), dimension(variable="y"), most_cells=3)["dimensions"]
    axes_from_messages([dimension(), dimension(variable="y")], most_cells=4)


def test_codes_beside_a_total_are_its_parts_unless_parents_are_given():
    def parents(*codes, given=()):
        ((axis,), _) = axes_from_messages([dimension(codes=codes, parents=given)])
        return axis.parents

    assert parents("a", "b", "_T") == (2, 2, -1)
    assert parents("_T", "a") == (-1, 0)
    assert parents("a", "b") == (-1, -1)
    assert parents("a", "b", "_T", given=[-1, -1, -1]) == (-1, -1, -1)
    assert parents("a", "b", "ab", "_T", given=[2, 2, 3, -1]) == (2, 2, 3, -1)


def test_long_chains_of_parents_are_read_in_time():
    count = 100_000
    chain = dimension(codes=map(str, range(count)), parents=[*range(1, count), -1])
    began = time.process_time()
    ((axis,), _) = axes_from_messages([chain])
    assert len(axis.parts()) == count - 1
    assert time.process_time() - began < 3


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_cells_may_come_in_any_order(sizes, random):
    cells = list(product(*map(range, sizes)))
    random.shuffle(cells)
    messages = [
        dimension(codes=map(str, range(size)), cells=column, variable=str(place))
        for place, (size, column) in enumerate(zip(sizes, zip(*cells, strict=True), strict=True))
    ]
    axes, order = axes_from_messages(messages)
    assert [len(axis.codes) for axis in axes] == sizes
    weights = np.array([*sizes, 1])[::-1].cumprod()[::-1][1:]
    told = np.array(cells) @ weights
    assert order.arranged(told).tolist() == list(range(len(cells)))
    assert order.arranged(np.stack([told, -told], 1))[:, 1].tolist() == [-n for n in range(len(cells))]
    sent = sorted(random.sample(range(len(cells)), len(cells) // 2))
    read = mask(sent, len(cells), "unsafe", order)
    assert np.flatnonzero(read).tolist() == sorted(told[sent])
    assert listed(read, order) == sent
    assert list(order.told(tuple(np.flatnonzero(read)))) == sent


def test_cells_that_stand_twice_or_are_missing_are_told():
    found = problems(dimension(cells=[0, 0, 1, 0]), dimension(variable="y", cells=[0, 1, 1, 0]))
    assert found["dimensions"] == (
        "must name each combination of codes once; some cells repeat one (positions 3), others are missing"
    )
    short = problems(dimension(cells=[0, 0, 1]), dimension(variable="y", cells=[0, 1, 0]))
    assert short["dimensions[0].cells"] == ("must have 4 positions, one for each combination of codes, not 3")


def test_a_column_of_another_length_is_left_for_its_own_problem():
    order = CellOrder(np.array([1, 0]))
    assert order.arranged(np.array([5, 6])).tolist() == [6, 5]
    assert order.arranged(np.array([5, 6, 7])).tolist() == [5, 6, 7]
    assert order.arranged(np.zeros(0)).tolist() == []


def test_classes_of_codes_come_back_and_must_be_positions():
    nested = Axis("x", "x", ("a", "b", "c"), (-1,) * 3, sensitive=True, harmless=("c",), classes=((0, 1),))
    message = axes_to_messages((nested,))
    assert axes_from_messages(message)[0] == (nested,)
    message[0].classes.add(codes=[1, 3])
    message[0].classes.add()
    assert problems(*message) == dict.fromkeys(
        ("dimensions[0].classes[1].codes", "dimensions[0].classes[2].codes"),
        "must be positions of codes, 0 to 2",
    )
