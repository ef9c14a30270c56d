"""`sdcgate assess`: a report to be read, a page that needs nothing else, errors that say what to do."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from house import RANDHIE
from sdcgate.cli import main
from sdcgate.cli.assessment.parts import count, one_in, percent

RARE = "Zwicky of Glarus"
PEOPLE = 90


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.integers(0, 2, PEOPLE),
            "age": rng.integers(0, 6, PEOPLE),
            "name": [RARE, *rng.choice(["Bern", "Basel", "<b>Uri</b>"], PEOPLE - 1)],
            "w": rng.uniform(2, 40, PEOPLE),
            "household": np.arange(PEOPLE) // 3,
            "size": rng.integers(1, 4, PEOPLE),
            "sick": rng.integers(0, 2, PEOPLE),
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def assess(*words: str) -> Result:
    return CliRunner().invoke(main, ["assess", *words])


def test_every_section_is_there_where_all_is_given(file: Path) -> None:
    levels = file.parent / "levels.yaml"
    levels.write_text("age: {ten_years: 10}\n")
    scenarios = file.parent / "scenarios.yaml"
    scenarios.write_text("- {name: roll, kind: INDIVIDUAL_ARCHIVE, keys: [sex, age]}\n")
    given = [
        "--keys",
        "sex,size,age,name",
        "--weight",
        "w",
        "--household",
        "household",
        "--sensitive",
        "sick",
        "--recodings",
        str(levels),
        "--ordinal",
        "age",
        "--scenarios",
        str(scenarios),
    ]
    shown = assess(str(file), *given)
    assert shown.exit_code == 0, shown.output
    for title in ("The file", "Keys and sample uniques", "Individual risk", "Which estimate to trust",
                  "Uniqueness in the population", "Log-linear models", "Households", "Threshold rule",
                  "Special uniques", "Sensitive variables", "Recodings"):  # fmt: skip
        assert f"\n{title}\n" in shown.stdout
    lacking = shown.stdout[shown.stdout.index("\nNot computed\n") :]
    assert "rule sets" in lacking
    assert not any(one in lacking for one in ("risk", "smoothing", "sensitive", "scenarios", "recodings"))
    assert "name = Bern" in shown.stdout
    assert RARE not in shown.stdout


def test_ordered_keys_are_smoothed_and_the_model_that_was_searched_for_is_named(file: Path) -> None:
    given = [str(file), "--keys", "sex,size,age,name", "--weight", "w"]
    shown = assess(*given, "--ordinal", "age,size")
    assert shown.exit_code == 0, shown.output
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "smoothed along size, age" in text
    assert "forward search for a log-linear model took in" in text
    assert "All key variables are ordered" not in text
    report = json.loads(assess(*given, "--ordinal", "age", "--ordinal", "size", "--json").stdout)
    assert report["smoothed"]["keys"] == [1, 2]
    assert report["smoothed"]["tau_2"] > 0
    assert [one["model"] for one in report["log_linear"]][-1] == "forward search"
    assert "smoothed" not in json.loads(assess(*given, "--json").stdout)
    of_two = assess(str(file), "--keys", "sex,age", "--weight", "w", "--ordinal", "sex,age")
    assert "All key variables are ordered" in of_two.stdout
    wrong = assess(*given, "--ordinal", "wages")
    assert wrong.exit_code != 0
    assert "wages is no key variable; they are sex, size, age, name" in wrong.stderr


SCENARIOS = """
- {name: electoral roll, kind: INDIVIDUAL_ARCHIVE, keys: [sex, age], coverage: 0.9}
- {name: register, kind: HOUSEHOLD_ARCHIVE, keys: [sex, age, size], threshold: 0.05}
- {name: neighbour, kind: NOSY_NEIGHBOUR, keys: [sex, name], response_known: true}
"""


def test_scenarios_stand_side_by_side_with_their_worst_groups(file: Path, tmp_path: Path) -> None:
    declared = tmp_path / "scenarios.yaml"
    declared.write_text(SCENARIOS, encoding="utf-8")
    given = [str(file), "--keys", "sex", "--weight", "w", "--household", "household"]
    shown = assess(*given, "--scenarios", str(declared))
    assert shown.exit_code == 0, shown.output
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "All together, each unit at its largest risk" in text
    assert "neighbour nosy neighbour sex, name; who took part persons 1, 1, 1" in text
    assert "register household archive sex, age, size households 1, 1, 1" in text
    assert "electoral roll individual archive sex, age persons 1, 0.9, 1" in text
    assert RARE not in shown.output
    report = json.loads(assess(*given, "--scenarios", str(declared), "--json").stdout)
    assert [one["kind"] for one in report["scenarios"]] == [
        "INDIVIDUAL_ARCHIVE",
        "HOUSEHOLD_ARCHIVE",
        "NOSY_NEIGHBOUR",
    ]
    assert report["scenarios"][1]["target"] == "HOUSEHOLD"
    assert report["scenarios"][1]["threshold"] == 0.05
    assert "unsafe_households" not in report["scenarios"][0]


def test_what_is_wrong_with_scenarios_is_told_all_at_once(file: Path, tmp_path: Path) -> None:
    declared = tmp_path / "scenarios.yaml"
    declared.write_text(
        "- {name: a, kind: HOUSEHOLD_ARCHIVE, keys: [sex, agee], quality: 2}\n- {name: a, keys: []}\n",
        encoding="utf-8",
    )
    shown = assess(str(file), "--keys", "sex", "--scenarios", str(declared))
    assert shown.exit_code == 2
    for told in ("scenarios[0].keys[1]: the file has no column 'agee'", "scenarios[0].quality: is a prob",
                 "scenarios[0].target: households are", "scenarios[1].name: 'a' is declared twice",
                 "scenarios[1].kind: say", "scenarios[1].keys: name"):  # fmt: skip
        assert told in shown.stderr
    declared.write_text("name: x\n", encoding="utf-8")
    assert (
        "give a list of scenarios" in assess(str(file), "--keys", "sex", "--scenarios", str(declared)).stderr
    )


def test_the_worst_table_and_the_weights_stand_beside_the_file(file: Path) -> None:
    given = ["--keys", "sex,size,age", "--weight", "w", "--dimensions", "2"]
    text = re.sub(r"\s+", " ", assess(str(file), *given).stdout)
    assert "of 6 tables of up to 2 dimensions" in text
    assert "Nearly all differ, as after calibration: they were compared in 20 classes." in text


def test_rules_for_release_are_judged_by_what_a_descriptor_declares() -> None:
    shown = assess(str(RANDHIE), "--keys", "site,female", "--release-date", "1983-06-30")
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "For researchers: 5 of 5 rules are met." in text
    assert "1 VIOLATED The microdata are at least 1 year old. They are younger." in text
    later = assess(str(RANDHIE), "--keys", "site,female", "--release-date", "1984-06-30").stdout
    assert "They are younger" not in later


def test_what_another_release_adds_is_told_before_all_else(file: Path, tmp_path: Path) -> None:
    people = pd.read_csv(file)
    people["age"] = (people.age // 2 * 2).astype(str) + "-" + (people.age // 2 * 2 + 1).astype(str)
    other = tmp_path / "other.csv"
    people.to_csv(other, index=False)
    given = [str(file), "--keys", "sex,age,size", "--weight", "w", "--with", str(other)]
    shown = assess(*given, "--with-keys", "sex,age,sick")
    assert shown.exit_code == 0, shown.output
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "links them by what they share: sex, age." in text
    assert "Name the unit's id." in text
    same = [str(file), "--keys", "sex,age,size", "--weight", "w", "--with-keys", "sex,age,name", "--json"]
    linked = json.loads(assess(*same).stdout)["linked_releases"]
    assert linked["common_units"] == PEOPLE
    groups = len(people.groupby(["sex", pd.read_csv(file).age]))
    assert linked["expected_links"] == pytest.approx(groups, rel=1e-12)
    assert linked["expected_matches_union"] > linked["expected_matches"]


def test_strata_psus_and_a_model_of_ones_own_have_their_place(file: Path) -> None:
    given = ["--keys", "sex,age,size", "--weight", "w", "--stratum", "sick", "--psu", "household"]
    shown = assess(str(file), *given, "--model", "sex*age, age*size")
    assert shown.exit_code == 0, shown.output
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "Strata as a channel" in text
    assert "without the stratum" in text
    assert "30 PSUs of 3 to 3 units." in text
    told = json.loads(assess(str(file), *given, "--model", "sex*age,age*size", "--json").stdout)
    assert told["log_linear"][-1]["model"] == "sex*age + age*size"
    assert told["psus"]["psus"] == 30
    assert told["strata"]["values"] == 2


def test_minimums_by_class_are_of_a_file_or_of_what_a_descriptor_declares(file: Path) -> None:
    given = ["--keys", "sex,age,size", "--minimum", "1", "--class-minimum", "very*yes=12"]
    shown = assess(str(file), *given, "--identifying", "age=very")
    assert shown.exit_code == 0, shown.output
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "Every combination of variables by class, very x identifying, must occur 12 times." in text
    assert "sex x age" in text
    told = json.loads(assess(str(RANDHIE), "--keys", "site,female", *given[2:], "--json").stdout)
    assert told["threshold_rule"]["class_minimums"] == [{"classes": ["VERY", "YES"], "minimum": 12}]
    for wrong in (["--class-minimum", "much=3"], ["--class-minimum", "very=0"], ["--identifying", "age"]):
        assert assess(str(file), "--keys", "sex,age", *wrong).exit_code == 2
    assert assess(str(RANDHIE), "--identifying", "site=very").exit_code == 2


@pytest.mark.parametrize("model", ["sex", "sex*", "sex*sex", "sex*aeg"])
def test_what_is_no_model_is_told(file: Path, model: str) -> None:
    shown = assess(str(file), "--keys", "sex,age", "--weight", "w", "--model", model)
    assert shown.exit_code == 2
    assert "model" in shown.output


def test_strata_of_a_descriptor_are_its_variables() -> None:
    given = [str(RANDHIE), "--keys", "female,education", "--stratum", "site", "--json"]
    told = json.loads(assess(*given).stdout)
    assert told["strata"]["values"] == 6
    wrong = assess(*given[:3], "--psu", "sites")
    assert wrong.exit_code == 2
    assert "psu: 'sites' is no variable of the descriptor" in wrong.output


def test_what_is_missing_is_named_with_what_to_give(file: Path) -> None:
    shown = assess(str(file), "--keys", "sex,age")
    assert "\nNot computed\n" in shown.stdout
    assert "give a weight, a sampling fraction or a population" in re.sub(r"\s+", " ", shown.stdout)


def test_the_page_needs_nothing_else_and_shows_no_rare_value(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "risk.html"
    assess(str(file), "--keys", "sex,size,age,name", "--weight", "w", "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert not re.search(r"<script|<link|src=|https?://", text)
    assert text.count("<svg") == 3
    assert RARE not in text
    assert "<b>" not in text
    assert "&lt;b&gt;Uri" in text


def test_records_are_named_only_where_asked_and_by_number(file: Path) -> None:
    given = [str(file), "--keys", "sex,age", "--weight", "w"]
    assert "riskiest" not in assess(*given).stdout
    assert re.search(r"riskiest units begin in records \d+, \d+ of", assess(*given, "--records", "2").stdout)


def test_a_descriptor_brings_units_levels_and_a_map_of_recodings(tmp_path: Path) -> None:
    page = tmp_path / "risk.html"
    shown = assess(str(RANDHIE), "--keys", "site,female,education", "--html", str(page))
    assert shown.exit_code == 0, shown.output
    assert "20,190 records of 5,912 units." in shown.stdout
    assert "214 combinations of values (keys) occur. 29 units are alone" in shown.stdout
    assert "site, female, education:stages" in shown.stdout
    assert page.read_text(encoding="utf-8").count("<circle") == 2


def test_json_is_the_message_of_the_service(file: Path) -> None:
    report = json.loads(assess(str(file), "--keys", "sex,age", "--fraction", "0.1", "--json").stdout)
    assert report["file"]["units"] == PEOPLE
    assert report["individual"]["risk"]["maximum"] <= 0.1 * np.log(10) / 0.9 + 1e-12
    assert [key["name"] for key in report["file"]["keys"]] == ["sex", "age"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--keys", "sex,agee"], "keys[1]: the file has no column 'agee'; the nearest are 'age'"),
        (["--keys", "sex", "--weight", "w", "--fraction", "0.1"], "fraction: leave it out"),
        (["--keys", "sex", "--weight", "name"], f"{PEOPLE} records without a finite number"),
        (["--keys", "sex", "--threshold", "7"], "risk_threshold must be above 0"),
        ([], "keys: name at least one key variable"),
    ],
)
def test_what_is_wrong_is_told_with_its_option(file: Path, given: list[str], told: str) -> None:
    shown = assess(str(file), *given)
    assert shown.exit_code == 2
    assert told in shown.stderr
    assert RARE not in shown.output


def test_who_waits_for_large_models_is_told_so_at_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [str(file), "--keys", "sex,size,age,name", "--fraction", "0.1"]
    assert "keys are possible" not in assess(*asked).stderr
    monkeypatch.setattr("sdcgate.cli.assess.TAKES_LONG", 50)
    told = assess(*asked)
    assert "keys are possible: their models take up to a minute." in told.stderr
    assert "keys are possible" not in told.stdout


def test_columns_with_another_delimiter_are_told_and_read_once_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex;age\n" + "1;30\n2;31\n" * 20)
    asked = [str(path), "--keys", "sex,age", "--fraction", "0.1"]
    refused = assess(*asked)
    assert refused.exit_code == 2
    assert "its header is one column with ';' in it: say that this is the delimiter" in refused.stderr
    assert assess(*asked, "--delimiter", ";").exit_code == 0


def test_the_report_says_which_uniqueness_models_fit_the_keys_of_one_two_and_three_units(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.poisson(0.05 * np.exp(rng.normal(1.0, 2.0, 40_000)))
    path, page = tmp_path / "people.csv", tmp_path / "people.html"
    pd.DataFrame({"place": np.repeat(np.arange(40_000), sizes)}).to_csv(path, index=False)
    shown = assess(str(path), "--keys", "place", "--fraction", "0.05", "--html", str(page))
    words = " ".join(shown.stdout.split())
    found = np.bincount(sizes)[1:4]
    assert f"that the file has ({' / '.join(f'{one:,}' for one in found)}): gamma does not fit (" in words
    assert "; lognormal fits; pitman " in words
    recommended = re.search(r"\nrecommended +([\d,.]+) ", shown.stdout)
    assert recommended is not None
    assert f"The recommended estimate of tau_2 is {recommended[1]}, see below." in words
    assert "Do not quote a model that does not fit." in words
    assert re.search(
        r"uniqueness, gamma +[\d,]+ +- +does not fit \(\d+% too (many|few) keys of", shown.stdout
    )
    assert "gamma does not fit (" in page.read_text()


def test_a_descriptor_is_not_contradicted() -> None:
    shown = assess(str(RANDHIE), "--weight", "w", "--unit", "zper")
    assert shown.exit_code == 2
    assert "leave out --weight, --unit: the descriptor tells it" in shown.stderr


def test_figures_are_written_as_they_are_read() -> None:
    counts = [count(value) for value in (0, 12345, 0.5, 123.4, 6.9e-3)]
    assert counts == ["0", "12,345", "0.50", "123", "6.9e-03"]
    shares = [percent(value) for value in (0, 0.1234, 0.00051, 1.2e-7)]
    assert shares == ["0.0%", "12.3%", "0.051%", "1.2e-05%"]
    assert one_in(0.0069) == "1 in 145"


def test_a_large_parquet_file_is_assessed_by_its_keys_and_its_risks_are_written(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, risks = tmp_path / "people.parquet", tmp_path / "risks.parquet"
    frame = pd.read_csv(file)
    frame.to_parquet(large)
    given = [str(large), "--keys", "sex,age,name", "--weight", "w"]
    whole = assess(*given).stdout
    assert "\nThreshold rule\n" in whole
    monkeypatch.setattr("sdcgate.engine.large_files.LARGE", PEOPLE - 1)
    shown = assess(*given)
    assert shown.exit_code == 0, shown.output
    assert "\nThreshold rule\n" not in shown.stdout
    assert "special uniques, worst table" in shown.stdout
    same = re.compile(r"expected correct matches, all units.*")
    assert same.findall(shown.stdout) == same.findall(whole) != []
    assert "\nHouseholds\n" in assess(*given, "--household", "household").stdout
    assert assess(*given, "--risks", str(risks)).exit_code == 0
    written = pd.read_parquet(risks)
    assert len(written) == PEOPLE
    assert written["risk"].between(0.0, 1.0, inclusive="right").all()


def test_risks_are_written_of_parquet_files_whose_records_are_units_only(file: Path, tmp_path: Path) -> None:
    to = ["--keys", "sex", "--weight", "w", "--risks", str(tmp_path / "risks.parquet")]
    refused = assess(str(file), *to)
    assert refused.exit_code == 2
    assert "--risks wants a Parquet file" in " ".join(refused.output.split())
    pd.read_csv(file).to_parquet(tmp_path / "people.parquet")
    refused = assess(str(tmp_path / "people.parquet"), *to, "--unit", "household")
    assert "leave out --with" in " ".join(assess(str(file), *to, "--with-keys", "age").output.split())
    assert "each record is a unit of its own" in " ".join(refused.output.split())
    assert not (tmp_path / "risks.parquet").exists()


def test_records_whose_numbers_stand_alone_are_counted(tmp_path: Path) -> None:
    """A lattice of 30 x 30: within 1 a corner has 3 neighbours, an edge 5, all others 8."""
    file = tmp_path / "lattice.csv"
    across, along = np.meshgrid(np.arange(30), np.arange(30))
    pd.DataFrame({"x": across.ravel(), "y": along.ravel(), "sort": "a"}).to_csv(file, index=False)
    given = [str(file), "--keys", "sort", "--fraction", "1", "--near", "x=1", "--near", "y=1"]
    shown = assess(*given, "--neighbours", "5")
    assert shown.exit_code == 0, shown.output
    rows = [line.split() for line in shown.stdout[shown.stdout.index("\nNumbers\n") :].splitlines()]
    assert next(row for row in rows if "isolated" in row)[-1] == "4"
    assert next(row for row in rows if row[:2] == ["isolated,", "and"])[-1] == "0"
    shown = assess(*given, "--neighbours", "8")
    assert "116 records have fewer than 8 of them: 12.9%" in " ".join(shown.stdout.split())
    told = json.loads(assess(*given, "--neighbours", "8", "--json").stdout)["numbers"]
    assert told == {"neighbours": 8, "isolated": 116, "outside": 0, "largest": 59}


def test_weights_below_one_are_warned_of_in_the_report(file: Path) -> None:
    frame = pd.read_csv(file).assign(w=0.5)
    frame.to_csv(file, index=False)
    text = " ".join(assess(str(file), "--keys", "sex,age", "--weight", "w").stdout.split())
    assert "Warning: 90 of 90 units have a weight below 1, and 90 of 90 units have a key" in text


def test_a_target_rate_is_answered_with_its_threshold(file: Path) -> None:
    given = [str(file), "--keys", "sex,age", "--weight", "w", "--target-rate"]
    told = json.loads(assess(*given, "0.001", "--json").stdout)["individual"]["target"]
    text = " ".join(assess(*given, "0.001").stdout.split())
    assert f"For a rate xi* = 0.001 the threshold on the risk is {told['threshold']:.4g}:" in text
    assert "keeps the rate xi* = 0.9 as it is" in " ".join(assess(*given, "0.9").stdout.split())


def test_a_minimum_for_each_size_is_read(file: Path) -> None:
    given = [str(file), "--keys", "sex,age", "--weight", "w", "--minimum"]
    text = " ".join(assess(*given, "1:50,2:4").stdout.split())
    assert "occur often enough, of 1 variable 50, of 2 variables 4 times or more" in text
    assert json.loads(assess(*given, "2:4,1:50", "--json").stdout)["threshold_rule"]["minimums"] == [50, 4]
    for wrong in ("2:4", "1:x", "1:3,1:4", "many", "1:"):
        assert "write one number, or one for each size" in " ".join(assess(*given, wrong).stderr.split())


def test_a_width_in_percent_is_of_the_value(tmp_path: Path) -> None:
    file = tmp_path / "sales.csv"
    pd.DataFrame({"sales": [100, 110, 1000, 1100, 5000], "sort": "a"}).to_csv(file, index=False)
    shown = assess(str(file), "--keys", "sort", "--fraction", "1", "--near", "sales=10%", "--neighbours", "1")
    assert "1 record has fewer than 1 of them: 20" in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--near", "age"], "write a number and a width"),
        (["--near", "age=0"], "write a number and a width"),
        (["--near", "age=nan%"], "write a number and a width"),
        (["--near", "agee=2"], "no column 'agee'"),
        (["--near", "age=2", "--unit", "household"], "unit: numbers are compared where each record"),
        (["--near", "name=5%"], "numbers[0].column: column 'name' has 90 records without a finite"),
        (["--near", "size=5%", "--near", "sick=5%"], "numbers[1].relative: column 'sick' has"),
        (["--near", "age=2", "--neighbours", "0"], "neighbours must be at least 1"),
    ],
)
def test_what_is_wrong_with_widths_is_told(file: Path, words: list[str], message: str) -> None:
    shown = assess(str(file), "--keys", "sex", *words)
    assert shown.exit_code == 2
    assert message in shown.stderr
