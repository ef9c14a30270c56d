"""`sdcgate check`: a table in a file is judged here, by its own rules or by a policy's."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main

TABLE = {
    "dimensions": [
        {"variable": "region", "codes": ["n", "s", "_T"], "cells": [2, 2, 0, 0, 1, 1]},
        {"variable": "size", "codes": ["small", "large"], "cells": [0, 1, 0, 1, 0, 1]},
    ],
    "facts": {
        "units": [16, 50, 4, 20, 12, 30],
        "measures": [
            {"measure": "turnover", "sums": [390, 1200, 90, 400, 300, 800], "lower_bound": 0, "ranks": 2,
             "largest": [70, 60, 350, 50, 60, 20, 350, 20, 70, 60, 60, 50],
             "valid_units": [16, 50, 4, 20, 12, 30]}
        ],
    },
    "rules": {
        "minimum_units": {"units": 5, "consequence": "PROTECT"},
        "p_percent": {"share": 0.1, "consequence": "REFER"},
    },
}  # fmt: skip


def check(folder: Path, body: object, *words: str) -> Result:
    file = folder / "table.json"
    file.write_text(body if isinstance(body, str) else json.dumps(body))
    return CliRunner().invoke(main, ["check", str(file), *words])


def test_unsafe_cells_are_named_by_their_codes_with_what_they_need(tmp_path):
    found = check(tmp_path, TABLE)
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "MINIMUM_UNITS (protect)",
        "  n/small: sliding 5",
        "MINIMUM_UNITS (protect) of turnover",
        "  n/small",
        "P_PERCENT (refer) of turnover",
        "  n/large: upper 5, lower 5",
    ]
    assert found.stderr == "The table does not pass.\n"


def test_a_policy_judges_in_place_of_the_rules_in_the_file(tmp_path):
    found = check(tmp_path, TABLE, "--policy", "five-safes")
    assert found.exit_code == 1
    assert (
        "DOMINANCE (protect) of turnover\n  n/small: upper 30, lower 30\n  n/large: upper 300" in found.stdout
    )
    absent = "largest of turnover, minima of turnover"
    assert f"not judged: P_PERCENT, EQUAL_VALUES; what is absent: {absent}\n" in found.stdout
    assert check(tmp_path, TABLE, "--policy", "five-safes", "--access-level", "moon").exit_code == 2


def test_a_table_without_findings_passes(tmp_path):
    fine = {**TABLE, "rules": {"minimum_units": {"units": 2, "consequence": "PROTECT"}}}
    found = check(tmp_path, fine)
    assert (found.exit_code, found.stdout) == (0, "No rule finds anything.\n")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{", "must be one JSON object"),
        ({**TABLE, "rules": {"minimum_units": {"units": 0}}}, "rules.minimum_units.units"),
        ({**TABLE, "facts": {"units": [17, 50, 4, 20, 12, 30]}}, "facts.units"),
        ({**TABLE, "facts": {"units": [16]}}, "facts.units"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(tmp_path, body, told):
    found = check(tmp_path, body)
    assert found.exit_code == 2
    assert told in found.stderr
    assert "Traceback" not in found.stderr
