"""What `make lint-deploy` compares with, and that it is called for a clean clone."""

import os
from pathlib import Path

from previous_contract import IMAGE

ROOT = Path(__file__).parents[2]


def test_a_change_of_the_contract_is_looked_for_since_the_version_before_not_since_the_last_commit() -> None:
    text = (ROOT / "deploy/lint/lint.sh").read_text(encoding="utf-8")
    assert f"against={IMAGE.relative_to(ROOT)}\n" in text
    assert 'buf breaking --against "$against"' in text
    assert ".git#" not in text


def test_a_clean_clone_is_checked_by_both_files_of_the_builds_machine() -> None:
    for name, calls in {"run": ["make lint", "make test"], "deploy": ["make lint-deploy"]}.items():
        file = ROOT / ".ci" / name
        assert os.access(file, os.X_OK)
        lines = file.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith("make ")] == calls
