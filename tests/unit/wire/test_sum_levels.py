"""Protection levels of sums between messages and problems."""

from dataclasses import replace

import numpy as np
import pytest

from made_tables import axis, facts, problem
from sdcgate.methods.tables.suppression import protect
from sdcgate.wire import protection
from sdcgate.wire.json import from_value
from sdcgate.wire.problems import InvalidMessageError
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb

COUNTS = [20, 20, 20, 60]
SUMS = {"profit": [50.0, 100, 150, 300], "turnover": [10.0, 20, 30, 60]}
PROBLEM = problem((axis("size", "abc"),), facts(COUNTS, COUNTS, SUMS))


def sent(asked) -> pb.ProtectTableRequest:
    return pb.ProtectTableRequest(
        problem=protection.problem_to_message(asked), unsafe=[0], time_limit_ms=5000
    )


def test_levels_come_back_as_they_went_and_none_are_written_where_none_are_asked():
    levels = np.arange(8.0).reshape(2, 4)
    for upper, lower in ((levels, levels + 1), (levels, None), (None, levels)):
        read = protection.table_to_protect(sent(replace(PROBLEM, upper_levels=upper, lower_levels=lower)))
        for back, went in ((read.problem.upper_levels, upper), (read.problem.lower_levels, lower)):
            assert back.tolist() == (np.zeros((2, 4)) if went is None else went).tolist()
    assert not sent(PROBLEM).problem.sum_levels
    assert protection.table_to_protect(sent(PROBLEM)).problem.upper_levels is None


def test_levels_come_in_the_senders_order_of_cells():
    body = {
        "problem": {
            "dimensions": [{"variable": "size", "codes": ["a", "b", "c", "_T"], "cells": [3, 0, 1, 2]}],
            "facts": {
                "units": [60, 20, 20, 20],
                "measures": [{"measure": "profit", "sums": [300, 50, 100, 150], "lower_bound": 0}],
            },
            "units_additive": True,
            "records_per_unit": 1,
            "count_width": 1,
            "sum_levels": [{"measure": "profit", "lower": [0, 40, 0, 0]}],
        },
        "unsafe": [1],
        "time_limit_ms": 5000,
    }
    read = protection.table_to_protect(from_value(body, pb.ProtectTableRequest))
    assert read.problem.lower_levels.tolist() == [[40, 0, 0, 0]]
    assert read.problem.upper_levels.tolist() == [[0, 0, 0, 0]]
    found = protect(read.problem, read.cells, 5.0)
    assert found.withheld.sum() == 2


def test_all_that_is_wrong_with_levels_is_named():
    message = sent(PROBLEM)
    message.problem.sum_levels.add(measure="loss", upper=[1, 2, 3, 4])
    message.problem.sum_levels.add(measure="profit", upper=[1, 2], lower=[0, -1, 0, 0])
    message.problem.sum_levels.add(measure="turnover", upper=[float("nan"), 0, 0, 0])
    with pytest.raises(InvalidMessageError) as caught:
        protection.table_to_protect(message)
    assert {problem.path for problem in caught.value.problems} == {
        "problem.sum_levels[0].measure",
        "problem.sum_levels[1].upper",
        "problem.sum_levels[1].lower",
        "problem.sum_levels[2].upper",
    }
