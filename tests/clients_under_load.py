"""Clients that ask a house one query after another, never give up, and keep everything that came back."""

import itertools
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from served_house import KEYS, ServedHouse, table_body

RESEARCHERS = [name for name, (role, _) in KEYS.items() if role == "researcher"]
NOT_NOW = frozenset({429, 503, 504})
"""Answers after which a client asks again."""
REPEATED = 0.35
"""Share of questions that were asked before."""
VARIABLES = ("site", "plan", "coins", "year", "child", "female", "age:broad", "household_size:groups", "idp")
FIGURES = (["UNITS"], ["UNITS"], ["RECORDS"], ["UNITS", "MEAN:meddol"], ["SUM:mdvis"])
YEARS_BUT_ONE = ["1", "2", "3", "5"]
SCHOOLED = [str(years) for years in range(26)]


@dataclass(frozen=True)
class Question:
    """A query; `key` is the same for those that mean the same."""

    dataset: str
    key: tuple[Any, ...]
    request: dict[str, Any] = field(hash=False)


@dataclass
class Asked:
    """One try: what came back, or what broke."""

    question: Question
    began: float
    ended: float
    response: httpx.Response | None = None
    error: str = ""

    @property
    def status(self) -> int:
        """Status of the response; 0 where there is none."""
        return self.response.status_code if self.response is not None else 0

    @property
    def is_answer(self) -> bool:
        """Whether it was decided."""
        return 0 < self.status < 300

    @property
    def decision(self) -> dict[str, Any] | None:
        """The decision, where there is one."""
        return self.response.json() if self.response is not None and self.is_answer else None


def tables(rng: random.Random, number: int) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Queries of every kind: safe ones, some to be protected, differencing pairs, one against the policy."""
    pairs = list(itertools.permutations(VARIABLES, 2))
    found: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for row, column in rng.sample(pairs, number):
        figures = rng.choice(FIGURES)
        asked = {"rows": [row], "columns": [column], "figures": figures}
        found.append(((row, column, *figures), asked))
        if rng.random() < 0.3 and "year" not in (row, column):
            found.append(((row, column, *figures, "years"), {**asked, "year": YEARS_BUT_ONE}))
        if rng.random() < 0.2:
            found.append(((row, column, *figures, "schooled"), {**asked, "education": SCHOOLED}))
        if row == "site":
            # The same in other words.
            found.append(((row, column, *figures), {**asked, "rows": ["site:site"]}))
    found.append((("four",), {"rows": ["site", "year"], "columns": ["female"], "layers": ["child"]}))
    rng.shuffle(found)
    return found


class Questions:
    """What clients ask: ever new tables of ever new datasets, and old ones again. Threads may share it."""

    def __init__(self, register: Callable[[str], None], seed: int, tables_each: int = 14) -> None:
        self._register = register
        self._rng = random.Random(seed)
        self._tables_each = tables_each
        self._lock = threading.Lock()
        self._old: list[Question] = []
        self._new: list[Question] = []
        self.datasets: list[str] = []

    def add_dataset(self) -> None:
        """Register one more dataset and ask about it."""
        with self._lock:
            name = f"load-{len(self.datasets)}"
            self.datasets.append(name)
        self._register(name)
        with self._lock:
            asked = tables(self._rng, self._tables_each)
            self._new += [Question(name, (name, *key), request) for key, request in asked]

    def next(self) -> Question:
        """One more question; sometimes an old one."""
        with self._lock:
            if self._old and (not self._new or self._rng.random() < REPEATED):
                return self._rng.choice(self._old[-60:])
            question = self._new.pop()
            self._old.append(question)
            few = len(self._new) == 4
        if few:
            self.add_dataset()
        return question


class Clients:
    """Some people at once, each with a connection and a key of his own."""

    def __init__(self, house: ServedHouse, seed: int, people: int = 4) -> None:
        self._house = house
        self._stop = threading.Event()
        self._under_way = 0
        self._lock = threading.Lock()
        self._http = [httpx.Client(base_url=house.supervisor.url, timeout=60) for _ in range(people)]
        self._threads = [threading.Thread(target=self._ask, args=(http,)) for http in self._http]
        self.questions = Questions(self._register, seed)
        self.asked: list[Asked] = []

    def __enter__(self) -> "Clients":
        self.questions.add_dataset()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
        for http in self._http:
            http.close()

    @property
    def under_way(self) -> int:
        """Requests that were sent and have no answer yet."""
        return self._under_way

    def answers(self) -> Iterator[tuple[Asked, dict[str, Any]]]:
        """All that was answered, with the decisions."""
        for asked in self.asked:
            decision = asked.decision
            if decision is not None:
                yield asked, decision

    def by_meaning(self) -> dict[tuple[Any, ...], set[bytes]]:
        """The different answers to each query, whoever asked it in whatever words."""
        found: dict[tuple[Any, ...], set[bytes]] = defaultdict(set)
        for asked, _ in self.answers():
            assert asked.response is not None
            found[asked.question.key].add(asked.response.content)
        return found

    def wait_for_answers(self, number: int, seconds: float = 60) -> float:
        """Seconds until so many more answers have come, or AssertionError."""
        return self.wait_for(lambda asked: asked.is_answer, number, seconds)

    def wait_for(self, wanted: Callable[[Asked], bool], number: int, seconds: float = 60) -> float:
        """Seconds until so many more tries have ended as wanted, or AssertionError."""
        began, seen, found = time.monotonic(), len(self.asked), 0
        while time.monotonic() - began < seconds:
            found = sum(wanted(asked) for asked in self.asked[seen:])
            if found >= number:
                return time.monotonic() - began
            time.sleep(0.01)
        raise AssertionError(f"{found} of {number} in {seconds:g} s")

    def _ask(self, http: httpx.Client) -> None:
        person = self._http.index(http) % len(RESEARCHERS)
        headers = {"Authorization": f"Bearer {self._house.keys[RESEARCHERS[person]]}"}
        while not self._stop.is_set():
            question = self.questions.next()
            path, body = f"/v1/datasets/{question.dataset}/tables", table_body(**question.request)
            while not self._stop.is_set():
                asked = self._try(http, question, path, body, headers)
                if asked.response is not None and asked.status not in NOT_NOW:
                    break
                self._stop.wait(0.1)

    def _try(
        self, http: httpx.Client, question: Question, path: str, body: Any, headers: dict[str, str]
    ) -> Asked:
        with self._lock:
            self._under_way += 1
        asked = Asked(question, time.monotonic(), 0.0)
        try:
            asked.response = http.post(path, json=body, headers=headers)
        except httpx.TransportError as error:
            asked.error = type(error).__name__
        asked.ended = time.monotonic()
        with self._lock:
            self._under_way -= 1
            self.asked.append(asked)
        return asked

    def _register(self, name: str) -> None:
        """As a steward who tries again until it is there."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                response = self._house.register_randhie(name)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if response.status_code in (200, 201):
                return
            assert response.status_code in NOT_NOW, response.text
            time.sleep(0.05)
        raise AssertionError(f"{name} could not be registered")
