"""What the ledger's audit says of cells that were withheld, on a machine where a facility has run."""

import re
from collections.abc import Iterator

import pytest

from house import verdict
from installation import TEXT, Installation


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("installation"))
    assert verdict(made.house.ask(rows=["plan"], columns=["site"])) == "RELEASED_PROTECTED"
    assert verdict(made.house.ask(rows=["female"], columns=["site"])) == "RELEASED"
    both = {"rows": ["plan"], "columns": ["site"]}
    assert verdict(made.house.ask(figures=["UNITS", "SUM:mdvis"], **both)) == "RELEASED_PROTECTED"
    by_plan = made.house.ask(rows=["plan"], figures=["UNITS", "SUM:mdvis"])
    assert verdict(by_plan).startswith("RELEASED")
    yield made
    made.house.ledger.close()


def wider(installation: Installation, width: str) -> dict[str, str]:
    """A policy that wants more uncertainty than there was when the tables left."""
    folder = installation.folder / f"wider {width}"
    folder.mkdir(exist_ok=True)
    name, _, _ = width.partition(":")
    text, found = re.subn(rf"\b{name}: \S+", width, TEXT)
    assert found == 1
    (folder / "israel-cbs.yaml").write_text(text)
    return {"SDCGATE_POLICY_DIR": str(folder)}


def test_what_left_under_the_policy_is_refuted_nowhere(installation: Installation) -> None:
    result = installation.run("ledger", "audit", "randhie", "--all")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("4 tables have left\n\nrandhie version 1: ")
    assert " 0 refuted, " in result.stdout
    assert " 0 unproved" in result.stdout
    assert len(re.findall(r"^  (?:WIDE|PROVED): plan .*, site ", result.stdout, re.MULTILINE)) > 3
    sums = r"sums of mdvis published, [1-9]\d* withheld, to be told to no less than 10% of each\n  0 refuted"
    assert re.search(sums, result.stdout)


def test_everything_is_proved_over_all_tables_together(installation: Installation) -> None:
    result = installation.run("ledger", "audit", "randhie", "--atoms", "30", "--strict")
    assert result.exit_code == 0, result.output
    found = re.findall(r"(\d+) refuted, (\d+) proved, (\d+) wide .*, (\d+) unproved", result.stdout)
    assert len(found) >= 3
    assert all((refuted, wide, unproved) == ("0", "0", "0") for refuted, _, wide, unproved in found)


def test_what_is_told_too_closely_comes_with_arithmetic_that_adds_up(installation: Installation) -> None:
    result = installation.run("ledger", "audit", "randhie", **wider(installation, "count_width: 500"))
    assert result.exit_code == 1, result.output
    refuted = re.findall(
        r"REFUTED: (plan .+, site .+) lies between (\d+) and (\d+)\n +at least (.*)\n +at most +(.*)",
        result.stdout,
    )
    assert len(refuted) > 3
    for _, low, high, least, most in refuted:
        assert int(high) - int(low) < 500
        for bound, said in ((low, least), (high, most)):
            if "more" not in said and "=" in said:
                total, _, terms = said.partition(" = ")
                added = re.findall(r"([+-]?) ?(?:([\d.]+) x )?(\d+) \(", terms)
                parts = [float(f"{sign}1") * float(times or 1) * int(count) for sign, times, count in added]
                assert sum(parts) == int(total) == int(bound)
    assert "something that was withheld is told" in result.stderr


def test_a_sum_told_too_closely_comes_with_arithmetic_that_adds_up(installation: Installation) -> None:
    result = installation.run("ledger", "audit", "randhie", **wider(installation, "sum_width: 9.9"))
    assert result.exit_code == 1, result.output
    sums = result.stdout[result.stdout.index("sums of mdvis") :]
    said = r"REFUTED: plan .+, site .+ lies between (\S+) and (\S+)\n +at least (.*)\n +at most +(.*)"
    refuted = re.findall(said, sums)
    assert len(refuted) == 4
    summed = 0
    for low, high, least, most in refuted:
        for bound, arithmetic in ((low, least), (high, most)):
            total, equal, terms = arithmetic.partition(" = ")
            if equal and "more" not in terms:
                added = re.findall(r"([+-]?) ?(?:([\d.]+) x )?([\d.]+) \(", terms)
                parts = [float(f"{sign}1") * float(times or 1) * float(sum_) for sign, times, sum_ in added]
                assert sum(parts) == pytest.approx(float(total))
                assert float(total) == pytest.approx(float(bound), rel=1e-4)
                summed += 1
    assert summed > 3


def test_a_sum_by_a_variable_that_nothing_had_restricted_before_was_not_told_before(tmp_path) -> None:
    made = Installation(tmp_path)
    assert verdict(made.house.ask(rows=["female"], figures=["SUM:mdvis"])) == "RELEASED"
    answered = made.house.ask(rows=["plan"], columns=["site"], figures=["SUM:mdvis"])
    assert verdict(answered) == "RELEASED_PROTECTED"
    result = made.run("ledger", "audit", "randhie", **wider(made, "sum_width: 9.9"))
    made.house.ledger.close()
    assert result.exit_code == 1, result.output
    assert re.search(r"REFUTED: plan .+, site .+ lies between", result.stdout)


def test_what_is_no_dataset_is_told(installation: Installation) -> None:
    result = installation.run("ledger", "audit", "randhi")
    assert result.exit_code != 0
    assert "randhi" in result.stderr


def test_without_time_nothing_is_proved_and_nothing_refuted(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sdcgate.facility.ledger_audit.Deadline.left", lambda _: 0.0)
    result = installation.run("ledger", "audit", "randhie")
    assert result.exit_code == 0
    assert re.search(r" 0 refuted, 0 proved, 0 wide within the variables looked at, [1-9]", result.stdout)
