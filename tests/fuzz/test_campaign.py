"""What counts inputs fails where it should: too few of them, and processes that grow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import campaign
from fuzz.campaign import Campaign

TARGET = "tests/fuzz/test_files.py::test_policies_changed_anywhere"


def ran(wanted: int, *options: str) -> "subprocess.CompletedProcess[str]":
    """A campaign of half a second with one target."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, TARGET],
        env={**os.environ, "FUZZ_SECONDS": "0.5", "FUZZ_INPUTS": str(wanted)},
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("options", [("-n", "0"), ("-n", "1")], ids=" ".join)
def test_a_campaign_that_makes_too_few_inputs_fails(options: tuple[str, ...]) -> None:
    few = ran(10**9, *options)
    assert few.returncode == 1
    assert "1,000,000,000 were NOT reached" in few.stdout
    assert "1 passed" in few.stdout


def test_one_that_makes_enough_does_not() -> None:
    enough = ran(1, "-n", "0")
    assert enough.returncode == 0, enough.stdout
    assert "inputs in all: 1 were reached" in enough.stdout


def test_files_that_another_process_leaves_open_are_a_leak(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(campaign, "SHARE", 4)
    monkeypatch.setattr(campaign, "SECONDS", 0)
    opening = f"""
import sys
kept = []
for line in sys.stdin:
    kept += [open({str(tmp_path / "file")!r}, "w") for _ in range({campaign.LEAKED_FILES})]
    print("opened", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", opening], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def answered() -> str:
            print("an input", file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        made = Campaign()
        made.watch([process.pid])
        with pytest.raises(AssertionError, match="files were left open"):
            made.seeded(lambda _: answered(), examples=4)
        process.stdin.close()
