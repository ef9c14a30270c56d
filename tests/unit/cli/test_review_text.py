"""What a checker reads of a referred query: the true table, and the same one of another version beside it."""

from sdcgate.cli.review import describe

DIMENSION = {"variable": "sex", "codes": ["f", "m", "_T"], "cells": [0, 1, 2]}
REQUEST = {"rows": [{"variable": "sex"}], "figures": [{"statistic": "UNITS"}]}


def facts(units: list[int], sums: list[float]) -> dict:
    return {"units": units, "records": units, "measures": [{"measure": "income", "sums": sums}]}


def view(**other) -> dict:
    there = {"dataset": "people", "version": 1, "queries": ["q-1", "q-2"], **other}
    mine = facts([301, 300, 601], [364_700.0, 359_700.0, 724_400.0])
    return {"researcher": "ada", "dimensions": [DIMENSION], "facts": mine, "other_versions": [there]}


def test_the_same_table_of_the_other_version_is_shown_with_what_each_figure_differs_by():
    text = describe(view(facts=facts([300, 300, 600], [359_700.0, 359_700.0, 719_400.0])), REQUEST)
    assert "compare with people version 1, of which has left: q-1, q-2" in text
    less = text[text.index("less people version 1:") :]
    women, men, total = (line.split() for line in less.splitlines()[3:6])
    assert (women[1:], men[1:], total[1:]) == (["1", "1", "5000"], ["0", "0", "0"], ["1", "1", "5000"])


def test_what_means_nothing_in_the_other_version_is_named_without_figures():
    text = describe(view(queries=[]), REQUEST)
    assert "of which has left: nothing with a cell of this table" in text
    assert "less people version 1" not in text
