"""Golden examples: those of the bundled policies come out, and fail where the policy is another."""

import copy
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from sdcgate.cli import main
from sdcgate.facility.examples import Difference, run_examples
from sdcgate.policy import Policy, PolicyInvalid, bundled_policies, load_policy, parse_policy
from sdcgate.policy.examples import examples_beside, load_examples
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.settings import as_file

BEGINNING = """
policy: ours
examples:
  - name: Small cells
    dataset: survey.yaml
    queries:
"""
OURS = (BUNDLED / "five-safes.yaml").read_text().replace("name: five-safes", "name: ours")


def sdcgate(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["policy", *arguments], env=environment)


def differences(policy: Policy, folder: Path, name: str = "") -> Iterator[Difference]:
    """What comes out otherwise of the bundled examples of a policy, the first first."""
    golden = examples_beside(BUNDLED / f"{name or policy.name}.yaml")
    for result in run_examples(policy, golden, folder):
        yield from result.differences


@pytest.mark.parametrize("name", bundled_policies())
def test_the_examples_of_a_bundled_policy_come_out(name: str, tmp_path: Path) -> None:
    assert list(differences(load_policy(name), tmp_path)) == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("five-safes", "minimum_units: {units: 10,", "minimum_units: {units: 5,"),
        ("israel-cbs", "minimum_units: {units: 10,", "minimum_units: {units: 20,"),
        ("statistics-netherlands-public", "minimum_units: {units: 1000,", "minimum_units: {units: 500,"),
        ("statistics-netherlands-researchers", "minimum_units: {units: 100,", "minimum_units: {units: 50,"),
    ],
)
def test_they_fail_where_another_minimum_of_units_applies(
    name: str, old: str, new: str, tmp_path: Path
) -> None:
    text = (BUNDLED / f"{name}.yaml").read_text()
    assert old in text
    assert next(differences(parse_policy(text.replace(old, new)), tmp_path)).what in (
        "verdict",
        "cells withheld",
    )


REDUNDANT = {
    # Whoever leaves the others less than a tenth of the largest has, with another, more than three quarters.
    "israel-cbs": {"rules.p_percent null"},
    "five-safes": {"rules.p_percent null"},
    # A thousand persons are never fewer than five households.
    "statistics-netherlands-public": {"rules.minimum_households null"},
    # Under noise rules say what must stay possible, which it nearly always does.
    "cell-key": {
        "rules.dominance 0 gone",
        "rules.p_percent null",
        "units 5",
        "units 20",
        "differencing refer",
    },
}
"""Changes that show in no table of these data that is small enough for an example."""


def changes(policy: Policy, level: str) -> Iterator[tuple[str, Policy]]:
    """The policy with one setting of an access level switched off or changed."""
    tree = as_file(policy.effective(level, "randhie"))

    def changed(change: Callable[[dict[str, Any]], object]) -> Policy:
        altered = copy.deepcopy(tree)
        change(altered)
        levels = {other: as_file(policy.effective(other, "randhie")) for other in policy.access_levels}
        file = {
            "name": policy.name,
            "version": "x",
            "description": "x",
            "access_levels": levels | {level: altered},
        }
        return parse_policy(yaml.safe_dump(file))

    for name, rule in tree["rules"].items():
        if isinstance(rule, list):
            for place in range(len(rule)):
                yield f"rules.{name} {place} gone", changed(lambda t, n=name, p=place: t["rules"][n].pop(p))
        elif rule is not None and name not in ("minimum_units", "contributions"):
            yield f"rules.{name} null", changed(lambda t, n=name: t["rules"].update({n: None}))
    units = tree["rules"]["minimum_units"]["units"]
    for other in (units // 2, units * 2):
        yield f"units {other}", changed(lambda t, o=other: t["rules"]["minimum_units"].update(units=o))
    most = tree["dimensions"]["maximum"]
    for other in (most - 1, most + 1):
        yield f"dimensions {other}", changed(lambda t, o=other: t["dimensions"].update(maximum=o))
    counted = not tree["dimensions"]["filters_count"]
    yield "filters count", changed(lambda t: t["dimensions"].update(filters_count=counted))
    for section in ("dimensions", "differencing"):
        turned = {"refer": "refuse", "refuse": "refer"}[tree[section]["consequence"]]
        yield f"{section} {turned}", changed(lambda t, s=section, c=turned: t[s].update(consequence=c))
    yield "cells", changed(lambda t: t["output"].update(maximum_cells=20))


@pytest.mark.long
@pytest.mark.parametrize("name", bundled_policies())
def test_every_setting_that_can_show_in_a_table_is_held_by_an_example(name: str, tmp_path: Path) -> None:
    policy = load_policy(name)
    level = "remote" if "remote" in policy.access_levels else "public"
    unseen = set()
    for number, (change, other) in enumerate(changes(policy, level)):
        if next(differences(other, tmp_path / str(number)), None) is None:
            unseen.add(change)
    assert unseen == REDUNDANT.get(name, set())


@pytest.fixture
def agency(tmp_path: Path) -> Path:
    """A folder of an agency's: its policy, its data, and what it expects."""
    rows = [f"{region},{sex}" for region, men in (("n", 12), ("s", 4)) for sex in "m" * men + "f" * 30]
    (tmp_path / "survey.csv").write_text("\n".join(["region,sex", *rows]))
    codes = {"region": "ns", "sex": "mf"}
    descriptor = {
        "name": "survey",
        "data": {"path": "survey.csv"},
        "design": {"coverage": "CENSUS"},
        "policy": "none-of-these",
        "variables": [
            {
                "name": name,
                "identifying": "NO",
                "levels": [{"codes": [{"code": code} for code in codes[name]]}],
            }
            for name in codes
        ],
    }
    (tmp_path / "survey.yaml").write_text(yaml.safe_dump(descriptor))
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "ours.yaml").write_text(OURS)
    return tmp_path


def write_examples(agency: Path, queries: str) -> Path:
    path = agency / "policies" / "ours.examples.yaml"
    beginning = BEGINNING.replace("survey.yaml", "../survey.yaml")
    path.write_text(beginning + textwrap.indent(textwrap.dedent(queries), "      "))
    return path


RIGHT = """
- rows: [region]
  columns: [sex]
  expect:
    verdict: RELEASED_PROTECTED
    reasons: [MINIMUM_UNITS]
    withheld: 4
    cells: [{codes: {region: s, sex: m}, status: WITHHELD}, {codes: {region: _T, sex: _T}, status: PUBLISHED}]
"""


def test_an_agency_tests_its_own_policy_on_its_own_data(agency: Path) -> None:
    write_examples(agency, RIGHT)
    folder = str(agency / "policies")
    result = sdcgate("test", folder, "--data-root", str(agency))
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "ours version 2026.1, ours.examples.yaml",
            "  ok    Small cells",
            "all 1 examples came out as expected",
        ],
    )
    named = sdcgate("test", "ours", "--data-root", str(agency), SDCGATE_POLICY_DIR=folder)
    assert named.stdout == result.stdout
    assert not list(agency.rglob("*.parquet"))


def test_what_comes_out_otherwise_is_shown_side_by_side_and_without_figures(agency: Path) -> None:
    write_examples(
        agency,
        """
        - rows: [region]
          columns: [sex]
          figures: [UNITS, RECORDS]
          filter: {sex: [m]}
          expect:
            verdict: RELEASED
            reasons: [DIFFERENCING]
            withheld: {at_least: 9}
            cells: [{codes: {region: n}, status: PUBLISHED}, {codes: {region: s, sex: m}, status: PUBLISHED}]
        - rows: [regoin]
          expect: {verdict: REFUSED}
        """,
    )
    result = sdcgate("test", str(agency / "policies" / "ours.yaml"), "--data-root", str(agency))
    assert result.exit_code == 1
    assert result.stderr == "1 of 1 examples came out otherwise\n"
    assert result.stdout.splitlines() == [
        "ours version 2026.1, ours.examples.yaml",
        "  FAIL  Small cells",
        "          query 1: rows region; columns sex; figures UNITS, RECORDS; where sex in m",
        "            verdict",
        "              - expected  RELEASED",
        "              + actual    RELEASED_PROTECTED",
        "            reasons",
        "              - expected  DIFFERENCING",
        "              + actual    MINIMUM_UNITS",
        "            cells withheld",
        "              - expected  9 or more",
        "              + actual    4",
        "            cell region n",
        "              - expected  PUBLISHED",
        "              + actual    no such cell",
        "            cell region s, sex m",
        "              - expected  PUBLISHED",
        "              + actual    WITHHELD",
        "          query 2: rows regoin; figures UNITS",
        "            verdict",
        "              - expected  REFUSED",
        "              + actual    no verdict: rows[0].variable: There is no variable of this name. "
        "Did you mean region?",
    ]


def test_examples_with_problems_are_not_run_and_all_problems_are_told(agency: Path) -> None:
    path = write_examples(
        agency,
        """
        - row: [region]
          expect: {verdict: RELEASED, reasons: [TOO_SMALL]}
        - rows: [region]
          expect: {verdict: REFUSED, withheld: 3}
        - rows: [region]
        """,
    )
    with pytest.raises(PolicyInvalid) as caught:
        load_examples(path)
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (8, "examples.0.queries.0.row"),
        (9, "examples.0.queries.0.expect.reasons.0"),
        (11, "examples.0.queries.1.expect"),
        (12, "examples.0.queries.2.expect"),
    ]
    result = sdcgate("test", str(path))
    assert result.exit_code == 2
    assert "line 8: examples.0.queries.0.row: is not known here" in result.stderr
    assert sdcgate("validate", str(path), "five-safes").exit_code == 2


def test_nothing_to_test_is_not_a_test_that_came_out(agency: Path) -> None:
    missing = sdcgate("test", str(agency / "policies" / "ours.yaml"))
    assert (missing.exit_code, missing.stderr) == (
        2,
        f"{agency}/policies/ours.yaml has no examples beside it: write ours.examples.yaml\n",
    )
    assert sdcgate("test", str(agency / "policies")).exit_code == 1
    assert sdcgate("test", "nobodys").exit_code == 2
    write_examples(agency, RIGHT)
    other = agency / "policies" / "other.yaml"
    other.write_text(OURS.replace("name: ours", "name: other"))
    (agency / "policies" / "other.examples.yaml").write_text(
        (agency / "policies" / "ours.examples.yaml").read_text()
    )
    assert "has examples of ours and not of other" in sdcgate("test", str(other)).stderr
    borrowed = sdcgate(
        "test",
        str(other),
        "--examples",
        str(agency / "policies" / "ours.examples.yaml"),
        "--data-root",
        str(agency),
    )
    assert borrowed.exit_code == 0


def test_a_dataset_that_cannot_be_registered_is_told_with_its_problems(agency: Path) -> None:
    write_examples(agency, RIGHT)
    result = sdcgate("test", str(agency / "policies" / "ours.yaml"))
    assert result.exit_code == 2
    assert "dataset ../survey.yaml cannot be registered:\n  data.path: " in result.stderr
