"""What was tried and what came of it: the table that the fault tests print at the end of a run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from served_house import ServedHouse
from stories import DEADLINES, Oracle
from truthful_house import TruthfulHouses

BUNDLED = Path(__file__).parents[2] / "services/sdcgate/policy/bundled/israel-cbs.yaml"
_OUTCOME = "outcome"
_WIDTHS = (44, 8)

Told = Callable[..., None]


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Told:
    """Put a line into the table: the fault, how often, and what came of it in words."""

    def say(fault: str, trials: int, **outcomes: object) -> None:
        words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in outcomes.items())
        record_property(_OUTCOME, (fault, trials, words))

    return say


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """What is true of the demonstration data."""
    houses = TruthfulHouses(tmp_path_factory.mktemp("truth") / "houses")
    houses.register_randhie("randhie")
    yield Oracle(houses)
    houses.engine.close()


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    """Four processes with short deadlines, and a policy under which the solver gets ten milliseconds."""
    folder = tmp_path_factory.mktemp("house")
    hasty = yaml.safe_load(BUNDLED.read_text())
    hasty["name"] = "hasty"
    hasty["defaults"]["protection"]["time_limit_ms"] = 10
    (folder / "policies").mkdir()
    (folder / "policies" / "hasty.yaml").write_text(yaml.safe_dump(hasty))
    made = ServedHouse(folder / "our house", {"policy_dir": folder / "policies"}, **DEADLINES)
    yield made
    made.stop()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = list(_lines(terminalreporter))
    if lines:
        terminalreporter.section("faults, trials, outcomes")
        for fault, number, words in lines:
            terminalreporter.write_line(f"{fault:{_WIDTHS[0]}} {number:{_WIDTHS[1]}} {words}")


def _lines(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[str, int, str]]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                yield from (value for name, value in report.user_properties if name == _OUTCOME)
