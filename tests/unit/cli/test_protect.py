"""`sdcgate protect`: a table that is proved is written, another is not, and errors are in words."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(6)
    file = tmp_path / "people.csv"
    regions = rng.choice(["n", "s", "w", "e"], 300, p=[0.5, 0.3, 0.18, 0.02])
    lines = [f"{person},{region},{rng.integers(1, 4)}" for person, region in enumerate(regions)]
    file.write_text("person,region,age\n" + "\n".join(lines) + "\n")
    (tmp_path / "key").write_bytes(bytes(range(32)))
    return file


def protect(people: Path, *words: str) -> Result:
    given = [str(people), "--by", "region,age", "--unit", "person", *words]
    return CliRunner().invoke(main, ["protect", *given])


def counts(text: str) -> dict[tuple[str, str], str]:
    return {(row["region"], row["age"]): row["units"] for row in csv.DictReader(io.StringIO(text))}


def true_counts(people: Path) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for row in csv.DictReader(people.open()):
        for region in (row["region"], "_T"):
            for age in (row["age"], "_T"):
                found[region, age] = found.get((region, age), 0) + 1
    return found


def test_small_counts_are_withheld_with_others(people: Path) -> None:
    shown = protect(people)
    assert shown.exit_code == 0, shown.output
    found, true = counts(shown.stdout), true_counts(people)
    blank = {cell for cell, text in found.items() if not text}
    small = {cell for cell, count in true.items() if count < 3}
    assert small
    assert small < blank
    assert all(found[cell] == str(count) for cell, count in true.items() if cell not in blank)
    assert f"{len(blank)} cells are withheld" in shown.stderr


def test_the_cheapest_cells_are_withheld_where_that_is_asked(people: Path) -> None:
    usual, shown = protect(people), protect(people, "--exact")
    assert shown.exit_code == 0, shown.output
    found, true = counts(shown.stdout), true_counts(people)
    cost, usual_cost = (
        sum(true[cell] + 1 for cell, text in table.items() if not text and true[cell] >= 3)
        for table in (found, counts(usual.stdout))
    )
    assert 0 < cost <= usual_cost
    assert f"those beside the unsafe ones cost {cost}, and no others cost less" in shown.stderr


def test_the_cheapest_cells_cannot_be_asked_of_another_method(people: Path) -> None:
    shown = protect(people, "--method", "controlled", "--exact")
    assert shown.exit_code == 2
    assert "--exact and --with are for --method withhold" in shown.stderr


def test_several_tables_of_a_file_are_protected_together(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    shown = protect(people, "--with", "region", "--with", "age", "--out", str(out))
    assert shown.exit_code == 0, shown.output
    assert "With region: 5 cells" in shown.stderr
    both = counts(out.read_text())
    regions = list(csv.DictReader((tmp_path / "table-2.csv").open()))
    assert {row["region"]: row["units"] for row in regions} == {
        region: text for (region, age), text in both.items() if age == "_T"
    }
    assert (tmp_path / "table-3.csv").exists()
    written = protect(people, "--with", "region")
    first, second = written.stdout.split("\n\n")
    assert first.startswith("region,age,units\n")
    assert second.startswith("region,units\n")


def test_several_tables_cannot_be_rounded_together(people: Path) -> None:
    shown = protect(people, "--method", "controlled", "--with", "region")
    assert shown.exit_code == 2
    assert "--with are for --method withhold" in shown.stderr


def test_controlled_rounding_writes_a_table_that_adds_up(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    shown = protect(people, "--method", "controlled", "--base", "5", "--out", str(out))
    assert shown.exit_code == 0, shown.output
    found = {cell: int(text) for cell, text in counts(out.read_text()).items()}
    assert all(count % 5 == 0 for count in found.values())
    assert found["n", "_T"] == sum(found["n", age] for age in "123")
    assert "0 of 9 sums no longer hold" in shown.stderr


def test_cell_keys_give_the_same_noise_again_and_other_noise_with_another_key(people: Path) -> None:
    key = people.with_name("key")
    given = ["--method", "cell-keys", "--key-file", str(key), "--maximum-noise", "4", "--variance", "2"]
    first, again = protect(people, *given), protect(people, *given)
    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout
    found, true = counts(first.stdout), true_counts(people)
    assert 0 < max(abs(int(found[cell]) - count) for cell, count in true.items()) <= 4
    key.write_bytes(bytes(32))
    assert protect(people, *given).stdout != first.stdout


def test_a_perturbation_table_of_one_s_own_is_used(people: Path) -> None:
    own = people.with_name("own.csv")
    own.write_text("i,j,p,v,p_int_ub\n0,0,1,0,1\n1,0,0.4,-1,0.4\n1,1,0.2,0,0.6\n1,2,0.4,1,1\n")
    given = ["--method", "cell-keys", "--key-file", str(people.with_name("key")), "--minimum", "1"]
    shown = protect(people, *given, "--ptable", str(own))
    assert shown.exit_code == 0, shown.output
    found, true = counts(shown.stdout), true_counts(people)
    assert {abs(int(found[cell]) - count) for cell, count in true.items()} == {0, 1}


def test_intervals_have_two_columns(people: Path) -> None:
    shown = protect(people, "--method", "intervals", "--base", "10")
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    true = true_counts(people)
    assert rows
    for row in rows:
        assert int(row["lower"]) <= true.get((row["region"], row["age"]), 0) <= int(row["upper"])


def test_a_table_that_hides_too_little_is_not_written(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    shown = protect(people, "--method", "nearest", "--base", "3", "--minimum", "5", "--out", str(out))
    assert shown.exit_code == 1
    assert "REFUTED" in shown.stderr
    assert "nothing is written" in shown.stderr
    assert not out.exists()
    assert not shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "cell-keys"], "needs --key-file and --unit"),
        (["--method", "cell-keys", "--key-file", "SHORT"], "has 5 bytes, not 32"),
        (
            ["--method", "cell-keys", "--key-file", "KEY", "--variance", "0.1"],
            "maximum_noise must be at most",
        ),
        (["--by", "town"], "no column 'town'"),
    ],
)
def test_what_is_wrong_is_told(people: Path, words: list[str], message: str) -> None:
    people.with_name("SHORT").write_bytes(b"12345")
    files = {"SHORT": str(people.with_name("SHORT")), "KEY": str(people.with_name("key"))}
    shown = protect(people, *(files.get(word, word) for word in words))
    assert shown.exit_code == 2
    assert message in shown.stderr


def test_units_in_several_cells_are_not_rounded(people: Path) -> None:
    with people.open("a") as opened:
        opened.write("0,e,1\n0,e,2\n")
    shown = protect(people, "--method", "controlled")
    assert shown.exit_code == 2
    assert "do not add up" in shown.stderr


def rounded(people: Path, by: str, out: Path, *words: str) -> dict[tuple[str, ...], int]:
    given = ["--by", by, "--unit", "person", "--method", "controlled", "--base", "5", "--out", str(out)]
    shown = CliRunner().invoke(main, ["protect", str(people), *given, *words])
    assert shown.exit_code == 0, shown.output
    return {tuple(row.values())[:-1]: int(row["units"]) for row in csv.DictReader(out.open())}


def test_cells_that_left_in_an_earlier_table_keep_their_values(people: Path, tmp_path: Path) -> None:
    first = rounded(people, "region,age", tmp_path / "first.csv")
    # The earlier table is changed where it still adds up, so that binding shows.
    moved = (
        (tmp_path / "first.csv")
        .read_text()
        .replace(f"w,_T,{first['w', '_T']}", f"w,_T,{first['w', '_T'] + 5}")
    )
    moved = moved.replace(f"_T,_T,{first['_T', '_T']}", f"_T,_T,{first['_T', '_T'] + 5}")
    (tmp_path / "moved.csv").write_text(moved)
    alone = rounded(people, "region", tmp_path / "alone.csv")
    bound = rounded(people, "region", tmp_path / "bound.csv", "--released", str(tmp_path / "moved.csv"))
    assert bound["w",] == first["w", "_T"] + 5 != alone["w",]
    assert bound["n",] == first["n", "_T"]


@pytest.mark.parametrize(
    ("earlier", "words", "message"),
    [
        ("region,lower,upper\nn,0,4\n", [], "no column units or records"),
        ("region,units\nn,5\nmoon,5\n", [], "line 3: region has no code 'moon'"),
        ("region,units\nn,five\n", [], "line 2: 'five' is no number"),
        ("region,units\nn,5\nn,10\n", [], "line 3: another table has another value"),
        ("region,units\nn,7\n", [], "multiples of the base"),
        ("region,units\nn,5\n", ["--method", "nearest"], "is for --method controlled"),
    ],
)
def test_earlier_tables_that_make_no_sense_are_told(
    people: Path, tmp_path: Path, earlier: str, words: list[str], message: str
) -> None:
    file = tmp_path / "earlier.csv"
    file.write_text(earlier)
    shown = protect(people, "--method", "controlled", "--released", str(file), *words)
    assert shown.exit_code == 2, shown.output
    assert message in shown.stderr


def adjusted(people: Path, *words: str) -> Result:
    return protect(people, "--method", "adjustment", *words)


def test_adjustment_writes_a_table_that_adds_up_and_in_which_no_small_count_stays_small(people: Path) -> None:
    shown = adjusted(people)
    assert shown.exit_code == 0, shown.output
    found = {cell: int(text) for cell, text in counts(shown.stdout).items()}
    true = true_counts(people)
    assert any(count < 3 for count in true.values())
    assert not any(0 < found[cell] < 3 for cell, count in true.items() if count < 3)
    assert max(abs(found[cell] - count) for cell, count in true.items()) <= 6
    assert found["e", "_T"] == sum(found["e", age] for age in "123")
    distance = sum(abs(found[cell] - count) for cell, count in true.items())
    assert f"No table is nearer than this one: {distance}." in shown.stderr
    assert "0 of 9 sums no longer hold" in shown.stderr


def test_totals_stay_within_their_share(people: Path) -> None:
    shown = adjusted(people, "--weighting", "relative", "--margin-share", "0.2", "--minimum", "2")
    assert shown.exit_code == 0, shown.output
    found = {cell: int(text) for cell, text in counts(shown.stdout).items()}
    for cell, count in true_counts(people).items():
        assert "_T" not in cell or abs(found[cell] - count) <= 0.2 * count


def test_totals_that_may_not_change_do_not(people: Path) -> None:
    shown = adjusted(people, "--margin-share", "0")
    assert shown.exit_code == 0, shown.output
    assert "0 totals move" in shown.stderr
    found, true = counts(shown.stdout), true_counts(people)
    assert all(found[cell] == str(count) for cell, count in true.items() if "_T" in cell)


def test_adjusted_counts_that_left_in_an_earlier_table_bind(people: Path, tmp_path: Path) -> None:
    first = adjusted(people)
    (tmp_path / "first.csv").write_text(first.stdout)
    left = counts(first.stdout)
    shown = CliRunner().invoke(
        main,
        [
            *("protect", str(people), "--by", "region", "--unit", "person", "--method", "adjustment"),
            *("--released", str(tmp_path / "first.csv")),
        ],
    )
    assert shown.exit_code == 0, shown.output
    for row in csv.DictReader(io.StringIO(shown.stdout)):
        assert row["units"] == left[row["region"], "_T"]


def test_where_there_is_no_adjusted_table_the_cell_is_named_and_nothing_is_written(
    people: Path, tmp_path: Path
) -> None:
    small = min((cell for cell in true_counts(people) if "_T" not in cell), key=true_counts(people).get)
    count = true_counts(people)[small]
    (tmp_path / "earlier.csv").write_text(f"region,age,units\n{small[0]},{small[1]},{count}\n")
    shown = adjusted(people, "--released", str(tmp_path / "earlier.csv"))
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "There is no such table. Too strict: released." in shown.stderr
    assert f"Cells that can go neither way: {small[0]}, {small[1]}." in shown.stderr


def test_adjustment_without_a_minimum_is_refused(people: Path) -> None:
    shown = adjusted(people, "--minimum", "1")
    assert shown.exit_code == 2
    assert "--minimum of 2" in shown.stderr
