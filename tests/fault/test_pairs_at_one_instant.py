"""Two replicas on one PostgreSQL, asked at the same instant: never both halves of a differencing pair."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any

import httpx
import pytest
import yaml

from differencing_pairs import Pair, found, of_people, of_randhie, people, people_descriptor
from house import COPY, RANDHIE
from postgresql_server import empty_database, running_server
from sdcgate.engine.descriptor import parse_descriptor
from served_house import ServedHouse, codes_of
from stories import Oracle, patiently
from trials import seed, trials
from truthful_house import SHOWN, TruthfulHouses, replayed

PAIRS = 300
SAME = {"rows": ["region"], "columns": ["band"]}, {"rows": ["plan"]}
"""What both are asked at once, of people and of the demonstration data; no half of a pair."""


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedHouse, ServedHouse]]:
    with running_server() as server:
        first = ServedHouse(
            tmp_path_factory.mktemp("two") / "replicas", {"ledger_url": empty_database(server)}
        )
        second = first.beside()
        yield first, second
        second.stop()
        first.stop()


@dataclass
class Trial:
    """A pair, and a dataset of its own to ask it of."""

    dataset: str
    descriptor: dict[str, Any] = field(repr=False)
    pair: Pair
    same: dict[str, Any]


def trials_of(number: int, house: ServedHouse, truthful: TruthfulHouses, rng: random.Random) -> list[Trial]:
    """Half of them on the demonstration data, half on people made up for each few."""
    oracle, randhie = Oracle(truthful), yaml.safe_load(RANDHIE.read_text())
    truthful.engine.register(parse_descriptor({**randhie, "name": "any", "source": "any", **COPY}))
    made = [
        Trial(
            name := f"randhie-{place}",
            {**randhie, "name": name, "source": name, **COPY},
            pair,
            SAME[1],
        )
        for place, pair in enumerate(found(oracle, "any", of_randhie(rng), number // 2, 40 * number))
    ]
    while len(made) < number:
        path, place = f"people-{len(made)}.csv", len(made)
        (house.settings.data_root / path).write_text(people(rng))
        truthful.engine.register(parse_descriptor(people_descriptor(f"any-{place}", path)))
        for pair in found(oracle, f"any-{place}", of_people(rng), min(3, number - len(made)), 12):
            name = f"people-{len(made)}"
            made.append(Trial(name, people_descriptor(name, path), pair, SAME[0]))
    return made


class Instant:
    """Asks two houses, each over a connection of its own, at the same instant."""

    def __init__(self, houses: tuple[ServedHouse, ServedHouse]) -> None:
        self._houses = houses
        self._barrier = Barrier(2)
        self.overlapping = 0
        self.number = 0

    def ask(self, dataset: str, *requests: dict[str, Any]) -> list[httpx.Response]:
        """The answers to the first request at the first house and the second at the second."""

        def one(house: ServedHouse, request: dict[str, Any]) -> tuple[float, float, httpx.Response]:
            self._barrier.wait(30)
            began = time.monotonic()
            try:
                response = patiently(lambda: house.ask(dataset, **request))
            except httpx.TransportError:
                # Nobody kills anything here: if a process ended, say which, and how.
                house.supervisor._check_alive()
                raise
            return began, time.monotonic(), response

        with ThreadPoolExecutor(2) as threads:
            asked = [threads.submit(one, *both) for both in zip(self._houses, requests, strict=True)]
            answers = [future.result(120) for future in asked]
        self.number += 1
        self.overlapping += max(began for began, _, _ in answers) < min(ended for _, ended, _ in answers)
        return [response for _, _, response in answers]


@pytest.mark.parametrize("number", [8, pytest.param(PAIRS, marks=pytest.mark.long)])
def test_two_facilities_asked_at_once_never_release_both_halves_of_a_pair(replicas, number, tmp_path, tell):
    number, rng = trials(number) if number == PAIRS else number, random.Random(seed(number))
    truthful = TruthfulHouses(tmp_path / "truth", replicas[0].settings.data_root)
    made, instant, won = trials_of(number, replicas[0], truthful, rng), Instant(replicas), [0, 0]
    datasets = []
    for place, trial in enumerate(made):
        name = f"{trial.dataset}-{number}"
        datasets.append(name)
        described = {**trial.descriptor, "name": name, "source": name, **COPY}
        patiently(lambda body=described, house=replicas[place % 2]: house.register(body))
        truthful.engine.register(parse_descriptor(described))
        halves = trial.pair[:: rng.choice((1, -1))]
        decisions = [response.json() for response in instant.ask(name, *halves)]
        shown = [decision["verdict"] in SHOWN for decision in decisions]
        assert sorted(shown) == [False, True], (name, halves, decisions)
        won[shown.index(True)] += 1
        loser = decisions[shown.index(False)]
        assert (loser["verdict"], codes_of(loser)) == ("REFUSED", ["DIFFERENCING"])
        first, second = instant.ask(name, trial.same, trial.same)
        assert first.content == second.content
        assert {first.status_code, second.status_code} in ({200, 201}, {202})
    with replicas[1].ledger() as ledger:
        report = ledger.verify()
        assert (report.faults, report.heads_behind) == ((), 0)
        summaries = [summary for summary in ledger.queries(None, (), 10**6) if summary.dataset in datasets]
        assert len(summaries) == 3 * number
        replays, differences = replayed(ledger, truthful.new(), datasets)
    truthful.engine.close()
    assert differences == []
    tell(
        "pairs to two facilities at one instant",
        number,
        both_released=0,
        won_by_first_and_second=f"{won[0]}:{won[1]}",
        identical_pairs_with_one_event_and_equal_answers=number,
        overlapping=f"{instant.overlapping} of {instant.number}",
        replayed_and_equal=replays,
    )
