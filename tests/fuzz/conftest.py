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
    made = _made(terminalreporter)
    if made:
        terminalreporter.section("fuzzed")
        for line in sorted({f"{target}: {words}" for target, _, words in made}):
            terminalreporter.write_line(line)
        total = sum(inputs for _, inputs, _ in made)
        terminalreporter.write_line(f"{total:,} inputs in all{_reached(total)}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A campaign that made fewer inputs than it should has failed, whatever its tests say."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not SECONDS or reporter is None or hasattr(session.config, "workerinput"):
        return
    if sum(inputs for _, inputs, _ in _made(reporter)) < WANTED and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _made(terminalreporter: Any) -> list[tuple[str, int, str]]:
    """Of each target its name, how many inputs it made, and what they reached."""
    return [
        (report.nodeid.rpartition("::")[2], *value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == INPUTS and report.when == "teardown"
    ]


def _reached(total: int) -> str:
    """Whether a campaign has made as many inputs as it should."""
    if not SECONDS:
        return ""
    return f": {WANTED:,} {'were' if total >= WANTED else 'were NOT'} reached"
