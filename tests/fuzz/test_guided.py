"""Descriptors, policies and results that jobs printed, led by what they reach of their parsers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.campaign import FUZZ_SEED, HANGS, SECONDS, Campaign

# The greatest memory of a process counts what the test process had when it was started: no limit of that.
MEMORY = ("-rss_limit_mb=0", "-malloc_limit_mb=1000")
LIMITS = ("-max_len=30000", f"-timeout={HANGS:.0f}", *MEMORY, "-print_final_stats=1")
FEW = 300
BRANCHES = {"descriptor": 50, "policy": 100, "results": 300}
"""Fewer than the good inputs reach."""


def ran(folder: Path, target: str, *options: str) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, str(Path(__file__).with_name("guided.py")), target, str(folder)]
    return subprocess.run([*command, *LIMITS, *options], capture_output=True, check=False)


@pytest.mark.parametrize("target", ["descriptor", "policy", "results"])
def test_what_a_parser_has_branches_for_is_read_or_refused(
    campaign: Campaign, target: str, tmp_path: Path
) -> None:
    if SECONDS:
        often = (f"-max_total_time={max(1, round(SECONDS))}", f"-seed={FUZZ_SEED % 2**31 or 1}")
    else:
        often = (f"-runs={FEW}", "-seed=1")
    ended = ran(tmp_path, target, *often)
    said = ended.stderr.decode(errors="replace")
    # The input that broke it is printed in Base64.
    assert ended.returncode == 0, said[-6000:]
    counted = re.search(r"stat::number_of_executed_units: (\d+)", said)
    covered = re.findall(r"cov: (\d+)", said)
    assert counted is not None
    assert int(counted[1]) >= (1 if SECONDS else FEW)
    campaign.inputs += int(counted[1])
    # A parser that is not looked into would be sent blind guesses.
    assert int(covered[-1]) > BRANCHES[target]
    campaign.reached(f"{covered[-1]} branches")
