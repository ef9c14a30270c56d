"""The threat model names code and tests that exist; what it calls open is open, and nothing else is."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
OPEN = "## What is not defended"
EXPECTED_TO_FAIL = {"is_open", "xfail"}


@pytest.fixture(scope="module")
def tests() -> dict[str, bool]:
    """Every test, and whether it is expected to fail."""
    found = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                names = {
                    part.attr if isinstance(part, ast.Attribute) else part.id
                    for decorator in node.decorator_list
                    for part in ast.walk(decorator)
                    if isinstance(part, ast.Attribute | ast.Name)
                }
                found[node.name] = bool(names & EXPECTED_TO_FAIL)
    return found


def named(text: str) -> set[str]:
    return set(re.findall(r"`(test_\w+)`", text))


def test_every_test_that_is_named_exists(tests: dict[str, bool]) -> None:
    assert len(named(PAGE)) > 60
    assert named(PAGE) - set(tests) == set()


def test_every_file_that_stops_an_attack_exists() -> None:
    files = set(re.findall(r"`([a-z_]+/[\w/]+\.py)`", PAGE))
    assert len(files) > 25
    assert [path for path in sorted(files) if not (ROOT / "services/sdcgate" / path).is_file()] == []


def test_every_attack_says_by_which_test_its_defence_is_shown() -> None:
    defended = PAGE.partition(OPEN)[0]
    attacks = re.split(r"\n\n(?=\*\*)", defended)[1:]
    assert len(attacks) > 25
    assert [attack[:60] for attack in attacks if "*Shown by*" not in attack] == []


def test_what_is_called_open_is_open_and_everything_open_is_called_so(tests: dict[str, bool]) -> None:
    defended, _, undefended = PAGE.partition(OPEN)
    expected_to_fail = {name for name, fails in tests.items() if fails}
    assert named(undefended) == expected_to_fail
    assert named(defended) & expected_to_fail == set()
