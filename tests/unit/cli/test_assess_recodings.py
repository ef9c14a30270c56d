"""`sdcgate assess --recodings`: levels from a file, variance that is left, who may have which recoding."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main

PEOPLE = 200
LEVELS = """
age:
  ten_years: 10
  broad: {20-29: young, 30-39: young, 40-49: old, 50-59: old}
area: areas.csv
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    people = {
        "age": rng.integers(20, 60, PEOPLE),
        "area": rng.choice(["n1", "n2", "s1"], PEOPLE),
        "w": rng.uniform(20, 40, PEOPLE).round(1),
        "income": rng.normal(3000, 800, PEOPLE).round(),
    }
    pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "areas.csv").write_text("n1;north\nn2;north\ns1;south\n")
    (tmp_path / "levels.yaml").write_text(LEVELS)
    return tmp_path


def assess(folder: Path, *words: str) -> Result:
    given = [
        "assess",
        str(folder / "people.csv"),
        "--keys",
        "age,area",
        "--recodings",
        str(folder / "levels.yaml"),
    ]
    return CliRunner().invoke(main, [*given, *words])


def test_recodings_of_a_file_without_a_descriptor_are_compared(folder: Path) -> None:
    shown = assess(
        folder, "--weight", "w", "--interest", "income", "--accepted", "0.001",
        "--access", "public=0",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    section = shown.stdout.partition("\nRecodings\n")[2]
    assert section.startswith("6 recodings of the key")
    assert "The most information with a risk of at most 0.1%: age:ten_years, area." in section
    assert "variance left" in section
    assert {"public", "nobody"} <= set(section.split())


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ("age: 10", "age: give levels by name, or the path of a hierarchy file"),
        ("age: {ten: [10]}", "age.ten: give a width of bands, or a map"),
        ("area: {part: {n1: yes}}", "area.part: codes are texts or numbers; put yes, no"),
        ("- age", "holds no levels"),
        ("sex: {a: 5}", "'sex' is no key variable; they are 'age', 'area'"),
        ("area: {part: {n1: north}}", "tells no parent of 2 of the 3 codes"),
        ("area: people.csv", "people.csv needs lines of two columns or more"),
        ("age: {ten: 10}\nage: {five: 5}", "age"),
    ],
)
def test_levels_that_cannot_be_read_are_told(folder: Path, levels: str, message: str) -> None:
    (folder / "levels.yaml").write_text(levels)
    shown = assess(folder, "--weight", "w")
    assert shown.exit_code == 2, shown.output
    assert message in shown.stderr


@pytest.mark.parametrize("bound", ["public", "public=2", "=0.1", "public=x"])
def test_bounds_of_access_levels_that_are_none_are_told(folder: Path, bound: str) -> None:
    shown = assess(folder, "--weight", "w", "--access", bound)
    assert shown.exit_code == 2
    assert f"--access {bound}: write a level and a share" in shown.stderr
