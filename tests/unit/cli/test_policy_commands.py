"""`sdcgate policy` as a person uses it: all problems with their lines, every setting written out, schemas."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from sdcgate.cli import main
from sdcgate.policy import load_policy, parse_policy
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.json_schema import EXAMPLES_FILE, POLICY_FILE, schemas

TEXT = (BUNDLED / "five-safes.yaml").read_text().replace("name: five-safes", "name: ours")


def policy(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["policy", *arguments], env=environment)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "ours.yaml").write_text(TEXT)
    return tmp_path


def test_policies_of_the_agency_s_folder_are_listed_and_found_by_name(own: Path) -> None:
    listed = policy("list", SDCGATE_POLICY_DIR=str(own)).stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == [
        "cell-key",
        "five-safes",
        "israel-cbs",
        "statistics-netherlands-public",
        "statistics-netherlands-researchers",
        "ours",
    ]
    assert policy("show", "ours", SDCGATE_POLICY_DIR=str(own)).exit_code == 0
    assert policy("show", "ours", SDCGATE_POLICY_DIR="").exit_code == 2


def test_all_problems_of_several_files_are_told_with_their_lines(own: Path) -> None:
    broken = own / "broken.yaml"
    text = TEXT.replace("minimum_units: {units: 10", "minimum_units: {units: ten")
    broken.write_text(text.replace("  on-site: {}", "  moon: {}"))
    place = {line: number for number, line in enumerate(text.splitlines(), 1)}
    units = next(number for line, number in place.items() if "units: ten" in line)
    result = policy("validate", str(broken), str(own / "ours.yaml"), "nobodys")
    assert result.exit_code == 2
    assert result.stdout.startswith(
        "ours version 2026.1 is valid (access levels: public, licensed, remote, on-site)"
    )
    lines = {line.strip() for line in result.stderr.splitlines()}
    assert f"line {units}: defaults.rules.minimum_units.units: input should be a valid integer" in lines
    moon = f"line {place['  on-site: {}']}: access_levels.moon: input should be 'public'"
    assert any(line.startswith(moon) for line in lines)
    assert "policy nobodys cannot be used:" in lines


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_the_effective_policy_written_out_is_a_policy_that_is_the_same(form: str, own: Path) -> None:
    shown = policy("show", "israel-cbs", "--format", form)
    assert shown.exit_code == 0
    read = parse_policy(shown.stdout)
    for level in load_policy("israel-cbs").access_levels:
        assert read.effective(level, "x") == load_policy("israel-cbs").effective(level, "x")
    one = yaml.safe_load(policy("show", "israel-cbs", "--access-level", "public", "--format", form).stdout)
    assert list(one["access_levels"]) == ["public"]
    assert one["access_levels"]["public"]["protection"]["count_width"] == 20


def test_a_dataset_s_changes_are_shown_for_the_dataset(own: Path) -> None:
    (own / "ours.yaml").write_text(TEXT + "datasets: {survey: {remote: {output: {digits: 0}}}}\n")
    file = str(own / "ours.yaml")
    assert "percentages: 2." in policy("show", file, "--access-level", "remote").stdout
    assert "percentages: 0." in policy("show", file, "--access-level", "remote", "--dataset", "survey").stdout


def test_the_schemas_are_printed_for_editors() -> None:
    assert policy("schema").stdout == schemas()[POLICY_FILE]
    assert policy("schema", "--examples").stdout == schemas()[EXAMPLES_FILE]
    assert json.loads(policy("schema").stdout)["required"] == [
        "name",
        "version",
        "description",
        "access_levels",
    ]


def test_a_difference_of_two_files_is_told_in_words(own: Path) -> None:
    changed = own / "changed.yaml"
    changed.write_text(TEXT.replace("maximum: 5,", "maximum: 4,"))
    result = policy("diff", str(own / "ours.yaml"), str(changed))
    assert result.exit_code == 0
    assert result.stdout == (
        "ours version 2026.1 -> ours version 2026.1\n\n"
        "dimensions.maximum (licensed, remote, on-site)\n"
        "  - 5\n      At most 5 dimensions.\n"
        "  + 4\n      At most 4 dimensions.\n\n"
        "queries answered before are decided anew: licensed, remote, on-site\n"
    )
    missing = policy("diff", "ours", str(changed))
    assert (missing.exit_code, "neither a file nor one of the policies" in missing.stderr) == (2, True)
