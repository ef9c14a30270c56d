"""`sdcgate link`: a report to be read, the service's answer as JSON, a line a record, errors in words."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main
from sdcgate.methods.risk.individual import individual_risk
from shlomo_tables import table_2

PEOPLE = 200


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """People, and the same in another order with noise."""
    rng = np.random.default_rng(4)
    original = pd.DataFrame(
        {
            "person": np.arange(PEOPLE),
            "income": rng.normal(3000, 500, PEOPLE).round(1),
            "age": rng.integers(20, 60, PEOPLE),
            "area": rng.integers(0, 30, PEOPLE),
            "sex": rng.integers(0, 2, PEOPLE),
        }
    )
    released = original.sample(frac=1, random_state=1).rename(columns={"area": "region"})
    released["income"] += rng.normal(0, 20, PEOPLE).round(1)
    paths = tmp_path / "original.csv", tmp_path / "released.parquet"
    original.to_csv(paths[0], index=False)
    released.to_parquet(paths[1], index=False)
    return str(paths[0]), str(paths[1])


def link(*words: str) -> Result:
    return CliRunner().invoke(main, ["link", *words])


def test_a_report_says_how_many_links_are_right(files: tuple[str, str], tmp_path: Path) -> None:
    matches = tmp_path / "matches.csv"
    given = ["--numeric", "income,age", "--nominal", "area=region", "--id", "person", "--weight", "income=9"]
    shown = link(*files, *given, "--by-record", str(matches))
    assert shown.exit_code == 0, shown.output
    answer = json.loads(link(*files, *given, "--json").stdout)
    assert f"{answer['distance']['rate']:.1%}" in shown.stdout
    assert answer["distance"]["rate"] > 0.95
    rows = list(csv.DictReader(matches.open()))
    assert [int(row["original"]) for row in rows] == answer["distance"]["linked"]
    assert [float(row["second_distance"]) for row in rows] == answer["distance"]["second"]
    lighter = json.loads(link(*files, *given[:-2], "--json").stdout)
    assert lighter["distance"]["nearest"] != answer["distance"]["nearest"]


def test_fellegi_and_sunters_report_has_the_model_and_the_patterns(files: tuple[str, str]) -> None:
    shown = link(
        *files, "--nominal", "age,area=region,sex", "--method", "probabilistic", "--matches", str(PEOPLE),
        "--id", "person",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert "agrees in a match (m)" in shown.stdout
    assert "age, area, sex" in shown.stdout
    assert "of those that are linked are expected to be right" in shown.stdout


def test_intervals_are_shown_by_width(files: tuple[str, str]) -> None:
    shown = link(*files, "--numeric", "income", "--method", "interval", "--id", "person", "--widths", "0.05")
    assert shown.exit_code == 0, shown.output
    assert "0.05" in shown.stdout
    assert "Interval disclosure" in shown.stdout


def test_a_population_gives_the_rows_of_table_2(tmp_path: Path) -> None:
    sample, keys, people = table_2()
    paths = tmp_path / "population.csv", tmp_path / "sample.csv"
    pd.DataFrame({"key": keys, "people": people}).to_csv(paths[0], index=False)
    pd.DataFrame({"key": sample}).to_csv(paths[1], index=False)
    given = ["--nominal", "key", "--method", "population-counts", "--count", "people"]
    shown = link(*map(str, paths), *given)
    assert shown.exit_code == 0, shown.output
    rows = {line[:50].strip(): line[50:].strip() for line in shown.stdout.splitlines()}
    assert rows["uniques in the sample"] == "6,031"
    assert rows["percentage of uniques in the population"] == "29.7%"
    assert rows["sample uniques matched"] == "5,669"
    assert rows["average number of correct matches"] in ("411", "412")  # 411.5
    assert rows["matches one to one"] == "101"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "variables: must contain"),
        (["--numeric", "incom"], "original: the file has no column 'incom'; the nearest are 'income'"),
        (["--numeric", "income", "--weight", "age=2"], "--weight: 'age' is no variable"),
        (["--numeric", "income", "--weight", "income"], "write a variable and a number"),
        (["--numeric", "income", "--error", "age=2"], "--error: 'age' is no variable"),
        (["--numeric", "income", "--method", "areas"], "psu: name the column"),
        (["--numeric", "income", "--method", "measurement-error"], "id: name the column"),
        (["--numeric", "income", "--widths", "0.1"], "widths: is for the method INTERVAL only"),
        (["--numeric", "income", "--method", "interval"], "id: name the column"),
        (["--numeric", "income", "--method", "probabilistic"], "put the numbers into bands"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(files: tuple[str, str], words: list[str], message: str) -> None:
    shown = link(*files, *words)
    assert shown.exit_code == 2
    assert message in shown.stderr


def test_schools_are_found_by_their_pupils_and_pupils_by_their_schools(tmp_path: Path) -> None:
    """Three of four schools have one number of pupils when it is rounded to 10; two share 300."""
    paths = tmp_path / "schools.csv", tmp_path / "pupils.csv"
    pd.DataFrame({"school": list("abcd"), "pupils": [301, 298, 452, 620]}).to_csv(paths[0], index=False)
    psu = np.repeat([7, 8, 9], 20)
    pupils = pd.DataFrame({"psu": psu, "size": np.repeat([300, 450, 620], 20), "w": 40.0})
    pupils["age"] = np.arange(60) % 10
    pupils["school"] = np.repeat(list("acd"), 20)
    pupils.to_csv(paths[1], index=False)
    given = ["--method", "areas", "--numeric", "pupils=size", "--rounding", "pupils=10", "--psu", "psu"]
    more = ["--count", "pupils", "--keys", "age", "--design-weight", "w", "--id", "school"]
    shown = link(*map(str, paths), *given, *more, "--by-record", str(tmp_path / "risks.csv"))
    assert shown.exit_code == 0, shown.output
    assert "Of 3 PSUs 2.50 are expected to be linked rightly to an area; 2 with" in shown.stdout
    assert "Really right are 2.50" in shown.stdout
    together = link(*map(str, paths), *given, "--id", "school", "--size", "pupils", "--one-to-one").stdout
    assert "no two may be in one area, 3 of them are linked at once, 3 rightly" in " ".join(together.split())
    risks = pd.read_csv(tmp_path / "risks.csv")["risk"]
    # f = 2 of 301, 452, 620 pupils by 20 records: p = 20 / pupils; the first is one of two schools
    own = individual_risk(np.full(3, 2), 20 / np.array([301.0, 452.0, 620.0])) * [0.5, 1.0, 1.0]
    assert risks.iloc[[0, 20, 40]].tolist() == pytest.approx(own.tolist(), rel=1e-9)


def test_numbers_with_errors_are_linked_by_what_the_errors_leave(tmp_path: Path) -> None:
    paths = tmp_path / "before.csv", tmp_path / "after.csv"
    pd.DataFrame({"x": [1.0, 2.0, 3.0, 9.0]}).to_csv(paths[0], index=False)
    pd.DataFrame({"x": [1.1, 2.1, 2.9, 9.1]}).to_csv(paths[1], index=False)
    given = ["--method", "measurement-error", "--numeric", "x", "--error", "x=0.1", "--same-order"]
    shown = link(*map(str, paths), *given, "--by-record", str(tmp_path / "m.csv"))
    assert shown.exit_code == 0, shown.output
    assert "is right for 4 of 4: 100.0%" in shown.stdout or "is right for 4.0 of 4" in shown.stdout
    assert pd.read_csv(tmp_path / "m.csv")["linked"].tolist() == [1, 2, 3, 4]


def test_a_method_without_records_writes_no_matches(files: tuple[str, str], tmp_path: Path) -> None:
    given = ["--numeric", "income", "--method", "interval", "--id", "person"]
    shown = link(*files, *given, "--by-record", str(tmp_path / "m.csv"))
    assert shown.exit_code == 2
    assert "says nothing of single records" in shown.stderr
