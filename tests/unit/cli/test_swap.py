"""`sdcgate swap`: a file that is like the first but for who lives where, a report, errors in words."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main

HEADER = ["person", "home", "county", "town", "age", "note", "income"]
RECORDS = ("--hierarchy", "county,town", "--household", "home", "--risk-variables", "age")


@pytest.fixture
def census(tmp_path: Path) -> Path:
    chance = np.random.default_rng(3)
    file = tmp_path / "census.csv"
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(HEADER)
        for person in range(300):
            home = person // 2
            note = ['a "word"', "b,c", "", "007", "1.50"][person % 5]
            income = f"{chance.normal(3000, 700):.2f}"
            writer.writerow([person, f"h{home}", home % 2, home % 10, chance.integers(0, 40), note, income])
    (tmp_path / "key").write_bytes(bytes(range(32)))
    return file


def swap(file: Path, out: str, *words: str) -> Result:
    given = [str(file), "--out", str(file.with_name(out)), *words]
    return CliRunner().invoke(main, ["swap", *given])


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_households_change_places_and_all_else_is_written_as_it_was(census: Path) -> None:
    shown = swap(census, "swapped.csv", *RECORDS, "--swap-rate", "0.2")
    assert shown.exit_code == 0, shown.output
    before, after = rows(census), rows(census.with_name("swapped.csv"))
    assert list(after[0]) == HEADER
    moved = {"county", "town"}
    assert [{name: text for name, text in row.items() if name not in moved} for row in after] == [
        {name: text for name, text in row.items() if name not in moved} for row in before
    ]
    changed = {
        row["home"]
        for row, old in zip(after, before, strict=True)
        if (row["county"], row["town"]) != (old["county"], old["town"])
    }
    # All are at risk in their towns: thirty persons of some forty ages.
    assert len(changed) > 140
    assert f"{len(changed)} of 150 households" in shown.output
    assert "county x age" in shown.output
    counts = [[(row["county"], row["town"]) for row in file] for file in (before, after)]
    assert sorted(counts[0]) == sorted(counts[1])


def test_with_a_key_file_the_same_file_is_made_again_and_without_one_another(census: Path) -> None:
    words = ("--hierarchy", "town", "--household", "home", "--swap-rate", "0.5")
    key = ("--key-file", str(census.with_name("key")))
    for out, more in (("a.csv", key), ("b.csv", key), ("c.csv", ()), ("d.csv", ())):
        assert swap(census, out, *words, *more).exit_code == 0
    a, b, c, d = (census.with_name(f"{name}.csv").read_bytes() for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3


def test_the_report_as_json_has_the_names_of_levels_and_tables(census: Path) -> None:
    more = ("--similar", "age", "--similar", "", "--table", "age,note", "--k-anonymity", "0", "--json")
    shown = swap(census, "swapped.csv", *RECORDS, *more)
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)["record_swapping"]
    assert found["households"] == 150
    assert sum(found["by_profile"]) == found["swapped_households"] == 6
    assert [one["level"] for one in found["levels"]] == ["county", "town"]
    assert [(one["level"], one["variables"]) for one in found["tables"]] == [
        ("county", ["age", "note"]),
        ("town", ["age", "note"]),
    ]


def test_values_change_places_by_rank(census: Path) -> None:
    shown = swap(
        census, "swapped.csv", "--ranks", "income,note", "--rank-share", "0.05", "--order",
        'note=007,1.50,a "word",b', "--missing-text", "b,c",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    before, after = rows(census), rows(census.with_name("swapped.csv"))
    for name in ("income", "note"):
        assert sorted(row[name] for row in after) == sorted(row[name] for row in before)
        assert [row[name] for row in after] != [row[name] for row in before]
    ranks = {text: rank for rank, text in enumerate(sorted({row["income"] for row in before}, key=float))}
    apart = [abs(ranks[one["income"]] - ranks[two["income"]]) for one, two in zip(before, after, strict=True)]
    assert 0 < max(apart) <= 15
    assert "by 0." in shown.output


def test_a_parquet_file_keeps_its_types(census: Path) -> None:
    frame = pa.table(
        {
            "area": pa.array([1, 2] * 50, pa.int16()),
            "when": pa.array(range(100), pa.timestamp("us")),
            "share": pa.array([None, 0.25] * 50, pa.float32()),
        }
    )
    source = census.with_name("census.parquet")
    pq.write_table(frame, source)
    assert swap(source, "swapped.parquet", "--hierarchy", "area", "--swap-rate", "0.3").exit_code == 0
    after = pq.read_table(census.with_name("swapped.parquet"))
    assert after.schema.types == frame.schema.types
    assert after.select(["when", "share"]).equals(frame.select(["when", "share"]))
    moved = sum(one != two for one, two in zip(after["area"].to_pylist(), [1, 2] * 50, strict=True))
    assert moved == 30


@pytest.mark.parametrize(
    ("out", "words", "told"),
    [
        ("new.csv", (), "one of them a call"),
        ("new.csv", (*RECORDS, "--ranks", "age", "--rank-share", "0.1"), "one of them a call"),
        ("new.csv", (*RECORDS, "--swap-rate", "5"), "swap_rate"),
        ("new.csv", ("--hierarchy", "county,twon", "--household", "home"), "no column 'twon'"),
        ("new.csv", ("--hierarchy", "person", "--household", "home"), "differs within 150 households"),
        ("new.csv", ("--ranks", "note", "--rank-share", "0.1"), "give their `order`"),
        ("new.csv", ("--ranks", "age", "--rank-share", "0.1", "--order", "school=a,b"), "no variable of"),
        ("new.csv", ("--ranks", "age"), "rank_share"),
        ("new.txt.zip", RECORDS, "must end in .csv or .parquet"),
        ("census.csv", RECORDS, "cannot be written: File exists"),
        ("key", ("--hierarchy", "town", "--key-file", "census.csv"), "not 32"),
    ],
)
def test_what_is_wrong_is_told_and_no_file_is_written(
    census: Path, monkeypatch: pytest.MonkeyPatch, out: str, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(census.parent)
    content = census.read_bytes()
    shown = swap(census, out, *words)
    assert shown.exit_code == 2, shown.output
    assert told in shown.output
    assert census.read_bytes() == content
    assert sorted(path.name for path in census.parent.iterdir()) == ["census.csv", "key"]
