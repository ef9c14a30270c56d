"""One researcher asks what takes too much time, memory or all threads; others are answered meanwhile.

Over the wire, as it would happen: four processes, REST, keys. Limits are short, so that they are met soon.
"""

import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest

from served_house import ServedHouse, table_body

PEOPLE, JOBS, TOWNS = 150_000, 19_000, 400
DEADLINE = 30.0
LIMITS = {"SECONDS": 3, "MEMORY_MEBIBYTES": 1024}
SITES = ["1", "2", "3"]

TOO_LONG = {"kind": "NEGATIVE_BINOMIAL", "formula": "visits ~ class*sex + income + cost"}
TOO_LARGE = {"kind": "LOGIT", "formula": 'C(sex, event="1") ~ town + class'}
JOB = {"variable": "job"}
OF_MANY_CODES: list[tuple[str, dict[str, Any]]] = [
    ("statistics", {"kind": "MODE", "mode_of": JOB}),
    ("statistics", {"kind": "MEAN", "measure": "income", "groups": [JOB]}),
    ("tables", {"rows": [JOB], "figures": [{"statistic": "UNITS"}]}),
]


def descriptor() -> dict[str, Any]:
    def listed(name: str, codes: int) -> dict[str, Any]:
        levels = [{"integers": {"first": 0, "last": codes - 1}}]
        return {"name": name, "identifying": "NO", "levels": levels}

    return {
        "name": "people",
        "data": {"path": "people.csv"},
        "unit": {"label": "person"},
        "design": {"coverage": "CENSUS"},
        "variables": [listed("job", JOBS), listed("town", TOWNS), listed("class", 12), listed("sex", 2)],
        "measures": [
            {"name": name, "lower_bound": 0, "decimals": 0} for name in ("income", "cost", "visits")
        ],
    }


def write_people(path: Path) -> None:
    rng = np.random.default_rng(6)
    codes = [rng.integers(0, size, PEOPLE) for size in (JOBS, TOWNS, 12, 2)]
    measures = [rng.lognormal(10, 1, PEOPLE), rng.lognormal(8, 1, PEOPLE), rng.poisson(2, PEOPLE)]
    path.parent.mkdir(parents=True, exist_ok=True)
    names = "job,town,class,sex,income,cost,visits"
    np.savetxt(path, np.column_stack([*codes, *measures]), "%d", ",", header=names, comments="")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    folder = tmp_path_factory.mktemp("too much")
    write_people(folder / "data" / "people.csv")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in LIMITS.items():
            patched.setenv(f"SDCGATE_FACILITY__FITTING__{name}", str(value))
        made = ServedHouse(folder, gateway={"deadline_seconds": DEADLINE})
    for answer in (made.register_randhie(), made.register(descriptor())):
        assert answer.status_code == 201, answer.text
    yield made
    made.stop()


class Ordinary:
    """Somebody who asks tables, models and statistics, one after the other, each a new one."""

    def __init__(self, house: ServedHouse) -> None:
        self._house = house
        self.seconds: list[float] = []

    def ask(self, who: str, formula: str, figure: str, sites: list[str] = SITES) -> None:
        """A table, a statistic and two models of each site, of which each is an answer."""
        for site in sites:
            chosen = [{"variable": "site", "codes": [site]}]
            model = {"formula": formula, "filter": chosen}
            groups = [{"variable": "child"}]
            self._one(who, "tables", table_body(rows=["female"], figures=["UNITS", figure], site=[site]))
            self._one(who, "models", {"kind": "LINEAR", **model})
            self._one(
                who,
                "statistics",
                {"kind": "GINI", "measure": formula.split()[0], "groups": groups, "filter": chosen},
            )
            self._one(who, "models", {"kind": "LINEAR", **model, "formula": f"{formula} + numeric(age)"})

    def _one(self, who: str, what: str, body: dict[str, Any]) -> None:
        began = time.monotonic()
        answer = self._house.send("POST", f"/v1/datasets/randhie/{what}", body, who)
        self.seconds.append(time.monotonic() - began)
        assert answer.status_code == 201, (what, body, answer.text)
        assert answer.json()["verdict"].startswith("RELEASED"), (what, body, answer.text)


class Flood:
    """Questions of one researcher, all at once; those answered are asked again until it is to end."""

    def __init__(self, house: ServedHouse, asked: list[tuple[str, dict[str, Any]]]) -> None:
        self._house = house
        self._ends = Event()
        self._pool = ThreadPoolExecutor(len(asked))
        self._answers = [self._pool.submit(self._send_again, *one) for one in asked]

    def _send_again(self, what: str, body: dict[str, Any]) -> list[httpx.Response]:
        headers = {"Authorization": f"Bearer {self._house.keys['ada']}"}
        url = f"{self._house.supervisor.url}/v1/datasets/people/{what}"
        found = [httpx.post(url, json=body, headers=headers, timeout=120)]
        # Whoever is turned away at once would be a flood of another kind.
        while not self._ends.wait(0.5):
            found.append(httpx.post(url, json=body, headers=headers, timeout=120))
        return found

    def answers(self) -> list[httpx.Response]:
        """Ends it, and gives all answers; a problem has its words and no verdict."""
        self._ends.set()
        found = [answer for one in self._answers for answer in one.result()]
        self._pool.shutdown()
        for answer in found:
            if answer.status_code not in (200, 201, 202):
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.status_code in (429, 503, 504), answer.text
                assert "verdict" not in answer.json()
                assert answer.json()["detail"]
        return found


def until(reached: Callable[[], bool], seconds: float) -> float:
    began = time.monotonic()
    while not reached():
        assert time.monotonic() < began + seconds
        time.sleep(0.1)
    return time.monotonic() - began


def running(house: ServedHouse) -> float:
    """Calls of the facility under way, as its metrics say."""
    line = next(one for one in house.told("facility").splitlines() if one.startswith("sdcgate_calls_running"))
    return float(line.split()[-1])


def memory(house: ServedHouse) -> float:
    """Megabytes of the facility with its workers."""
    own = house.supervisor.processes["facility"]
    children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    pages = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in (own, *children)]
    return sum(pages) * os.sysconf("SC_PAGESIZE") / 1e6


def processor_seconds(house: ServedHouse) -> float:
    """Of the facility with its workers; not of what ended."""
    own = house.supervisor.processes["facility"]
    children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    ticks = [Path(f"/proc/{one}/stat").read_text().rsplit(")")[-1].split()[11:13] for one in (own, *children)]
    return sum(int(one) for pair in ticks for one in pair) / os.sysconf("SC_CLK_TCK")


def test_models_beyond_their_time_and_memory_end_in_problems_and_others_have_their_answers(served, tell):
    calm, storm = Ordinary(served), Ordinary(served)
    calm.ask("bob", "meddol ~ female", "MEAN:meddol")
    before = memory(served)
    flood = Flood(served, [("models", TOO_LONG)] * 4)
    storm.ask("grace as researcher", "outpdol ~ female", "MEAN:outpdol")
    answers = flood.answers()
    flood = Flood(served, [("models", TOO_LARGE)])
    storm.ask("bob", "inpdol ~ female", "MEAN:inpdol")
    answers += flood.answers()
    words = Counter((answer.status_code, answer.json()["detail"].split(";")[0]) for answer in answers)
    assert words[504, "A model or statistic may take 3 seconds, waiting included"] >= 1
    assert words[503, "This needs more memory than one question may take"] >= 1
    until(lambda: running(served) == 0, 5.0)
    assert statistics.mean(storm.seconds) < 10 * statistics.mean(calm.seconds) + 0.5
    # Workers that were ended have begun anew, and hold nothing of what they computed.
    grown = memory(served) - before
    assert grown < 400
    used = processor_seconds(served)
    time.sleep(2.0)
    assert processor_seconds(served) - used < 1.0
    tell(
        "models beyond time and memory",
        len(answers),
        **{str(code): sum(1 for a in answers if a.status_code == code) for code in (503, 504)},
        others_answered=len(storm.seconds),
        slowest_s=f"{max(storm.seconds):.1f}",
        calm_s=f"{max(calm.seconds):.1f}",
        megabytes_more=round(grown),
    )


def test_a_flood_that_would_take_all_threads_leaves_some_to_others_and_ends_with_its_time(served, tell):
    asked = [
        (what, {**body, "filter": [{"variable": "class", "codes": [str(number)]}]})
        for number in range(6)
        for what, body in OF_MANY_CODES
    ]
    flood = Flood(served, asked)
    storm = Ordinary(served)
    time.sleep(1.0)
    storm.ask("bob", "drugdol ~ female", "MEAN:drugdol", SITES[:1])
    answers = flood.answers()
    ended = until(lambda: running(served) == 0, 30.0)
    assert Counter(answer.status_code for answer in answers)[504] >= 1
    assert memory(served) < 2000
    tell(
        "flood of questions on very many codes",
        len(answers),
        others_answered=len(storm.seconds),
        slowest_s=f"{max(storm.seconds):.1f}",
        threads_free_after_s=f"{ended:.1f}",
    )
