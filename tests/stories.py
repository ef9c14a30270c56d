"""Stories: queries asked one after the other of a served house, each judged by what a truthful house says.

The truthful house has the same history: it is asked what has left of the dataset before, then the same.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx

from clients_under_load import NOT_NOW
from house import cells as cells_of_truth
from house import verdict
from served_house import ServedHouse, cells
from truthful_house import SHOWN, TruthfulHouses

PLANS = {"rows": ["plan"], "columns": ["site"], "figures": ["UNITS", "RECORDS"]}
INCOMES = {"rows": ["household_size"], "figures": ["UNITS", "SUM:income"]}
FOUR_DIMENSIONS = {"rows": ["site", "year"], "columns": ["female"], "layers": ["child"]}
"""Refused for its wording; no data are needed for it."""
YEARS_BUT_ONE = ["1", "2", "3", "5"]
SCHOOLED = [str(years) for years in range(26)]
SHORT_STORY: list[dict[str, Any]] = [
    PLANS,
    INCOMES,
    # Differencing: site 2, plan 17 has six persons with a record in year 4.
    {**PLANS, "year": YEARS_BUT_ONE},
]
STORY: list[dict[str, Any]] = [
    # Too high an individual risk.
    {"rows": ["age"], "columns": ["education"], "site": ["6"], "female": ["1"]},
    *SHORT_STORY,
    {"rows": ["female"], "site": ["3"], "year": ["2"], "education": SCHOOLED},
    # Differencing: one person of site 3 and year 2 has no education.
    {"rows": ["female"], "site": ["3"], "year": ["2"]},
    # Too small a population.
    {"rows": ["idp"], "site": ["2"], "plan": ["5"], "year": ["4"]},
    {"rows": ["site"], "columns": ["female"]},
]
"""Asked in this order; only the last is safe as it is, whatever was asked before."""
DEADLINE = 8.0
PATIENCE = 10.0
"""Seconds that an answer may take beyond the deadline: the machine of the tests is busy."""
DEADLINES: dict[str, dict[str, Any]] = {
    "facility": {"risk_deadline_seconds": 2, "protection_deadline_seconds": 4},
    "gateway": {"deadline_seconds": DEADLINE},
}


class Oracle:
    """Asks truthful houses what they would have answered after the same history."""

    def __init__(self, houses: TruthfulHouses) -> None:
        self._houses = houses
        self._known: dict[str, Any] = {}

    def truth(self, dataset: str, left: list[dict[str, Any]], request: dict[str, Any]) -> Any:
        """The truthful answer where so much of the dataset has left."""
        key = repr((dataset, left, request))
        if key not in self._known:
            house = self._houses.new()
            for earlier in left:
                house.ask(dataset=dataset, **earlier)
            self._known[key] = house.ask(dataset=dataset, **request).decision
            house.ledger.close()
        return self._known[key]


def unsafe(said: dict[str, Any], truth: Any) -> str:
    """What is unsafe about a decision; nothing where it is no more than the truthful one."""
    if said["verdict"] not in SHOWN:
        return "a table without a release" if "table" in said else ""
    if verdict(truth) not in SHOWN:
        return f"{said['verdict']} where the truth is {verdict(truth)}"
    if said["verdict"] == "RELEASED" and verdict(truth) != "RELEASED":
        return "RELEASED without protection"
    honest = cells_of_truth(truth)
    for code, figures in cells(said).items():
        if figures[0] is not None and figures != honest[code]:
            return f"cell {code} shows {figures}"
    return ""


def problem_in_time(response: httpx.Response, seconds: float) -> bool:
    """Whether it is an error as documented that came in time."""
    content = response.json()
    return (
        response.status_code in (503, 504)
        and response.headers["content-type"] == "application/problem+json"
        and content["status"] == response.status_code
        and "verdict" not in content
        and seconds < DEADLINE + PATIENCE
    )


def patiently(ask: Callable[[], httpx.Response], seconds: float = 30.0) -> httpx.Response:
    """The answer of somebody who asks again while there is none."""
    deadline = time.monotonic() + seconds
    while (response := ask()).status_code in NOT_NOW and time.monotonic() < deadline:
        time.sleep(0.05)
    assert response.status_code < 300, response.text
    return response


class Told:
    """Tells a story to a house, dataset after dataset, and counts what came of it."""

    numbers = itertools.count()

    def __init__(self, house: ServedHouse, oracle: Oracle) -> None:
        self.house, self.oracle = house, oracle
        self.outcomes: Counter[str] = Counter()
        self.slowest = 0.0

    def new_dataset(self, **changes: str) -> str:
        """A copy of the data that nobody has asked."""
        name = f"randhie-{next(self.numbers)}"
        patiently(lambda: self.house.register_randhie(name, **changes))
        return name

    def story(self, fault: str, story: list[dict[str, Any]]) -> None:
        """Ask all of it of a new copy of the data; AssertionError where something unsafe leaves."""
        self.ask(fault, self.new_dataset(), story)

    def ask(self, fault: str, dataset: str, story: list[dict[str, Any]]) -> None:
        """Ask all of it; AssertionError where something unsafe leaves."""
        left: list[dict[str, Any]] = []
        for request in story:
            began = time.monotonic()
            response = self.house.ask(dataset, **request)
            seconds = time.monotonic() - began
            self.slowest = max(self.slowest, seconds)
            if response.status_code >= 300:
                assert problem_in_time(response, seconds), f"{fault}: {response.status_code} {response.text}"
                self.outcomes[str(response.status_code)] += 1
                continue
            said, truth = response.json(), self.oracle.truth("randhie", left, request)
            assert unsafe(said, truth) == "", f"{fault}: {request}"
            if said["verdict"] in SHOWN:
                left.append(request)
            self.outcomes[self._kind(said, truth)] += 1

    def patient(
        self, dataset: str, story: list[dict[str, Any]], left: list[dict[str, Any]] | None = None
    ) -> None:
        """Ask until there is an answer; AssertionError where it is not what a truthful house says."""
        left = list(left or [])
        for request in story:
            said = patiently(lambda asked=request: self.house.ask(dataset, **asked)).json()
            truth = self.oracle.truth("randhie", left, request)
            assert said["verdict"] == verdict(truth)
            if said["verdict"] in SHOWN:
                assert cells(said) == cells_of_truth(truth)
                left.append(request)

    def _kind(self, said: dict[str, Any], truth: Any) -> str:
        if said["verdict"] not in SHOWN:
            return "held as by a truthful house" if verdict(truth) == said["verdict"] else "held"
        alike = cells(said) == cells_of_truth(truth)
        return "answered as by a truthful house" if alike else "answered with more withheld"

    def told(self) -> dict[str, object]:
        """As a line of the table."""
        return {**self.outcomes, "unsafe": 0, "slowest_s": f"{self.slowest:.1f}"}


def normal_again(house: ServedHouse, oracle: Oracle) -> float:
    """Seconds until it answers again; after that it answers as a truthful house does."""
    began, told = time.monotonic(), Told(house, oracle)
    name = told.new_dataset()
    patiently(lambda: house.ask(name, **SHORT_STORY[0]))
    seconds = time.monotonic() - began
    told.patient(name, SHORT_STORY)
    return seconds
