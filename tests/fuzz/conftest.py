"""Counts inputs: a line a target and their number at the end."""

from collections.abc import Iterator
from typing import Any

import pytest

from fuzz.campaign import INPUTS as WANTED
from fuzz.campaign import SECONDS, Campaign

INPUTS = "fuzzed inputs"


@pytest.fixture
def campaign(record_property: Any) -> Iterator[Campaign]:
    """A campaign whose count is told when the session ends."""
    made = Campaign()
    yield made
    record_property(INPUTS, (made.inputs, str(made)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A line a target, and the sum of their inputs."""
    lines, total = [], 0
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == INPUTS and report.when == "teardown":
                    total += value[0]
                    lines.append(f"{report.nodeid.rpartition('::')[2]}: {value[1]}")
    if lines:
        terminalreporter.section("fuzzed")
        for line in sorted(set(lines)):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"{total:,} inputs in all{_reached(total)}")


def _reached(total: int) -> str:
    """Whether a campaign has made as many inputs as it should."""
    if not SECONDS:
        return ""
    return f": {WANTED:,} {'were' if total >= WANTED else 'were NOT'} reached"
