"""kill -9 at any instant, of any process, under load: no answer without its event, and nobody is needed."""

import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import sniper
from after_a_storm import whole
from clients_under_load import Clients
from ledger_autopsy import Autopsy, look_at
from postgresql_server import commits_to, empty_database, running_server
from sdcgate.cli.supervisor import SERVICES, _takes_calls
from served_house import ServedHouse
from trials import seed, trials
from truthful_house import TruthfulHouses

ALL = "all four at once"
VICTIMS = ("facility", "facility", "facility", "risk", "protection", "gateway", ALL)
READY_WITHIN = 120.0
"""Seconds; three as a rule, but thirty were seen where six others used the same two cores."""
KILLS = 400
KILLS_A_HOUSE = 100


class InitSystem:
    """Starts again what ended, as systemd's Restart=always; never has a hand in the state folder."""

    def __init__(self, house: ServedHouse) -> None:
        self._house = house
        self._metrics = {name: house.metrics_address(name).removeprefix("http://") for name in SERVICES}
        self.failed_starts = 0

    def start_again(self, services: tuple[str, ...]) -> float:
        """Seconds until all of them take calls; a start that fails is followed by another."""
        began, supervisor = time.monotonic(), self._house.supervisor
        for name in services:
            supervisor._processes[name] = supervisor._spawn(name)
        waiting = set(services)
        while waiting and time.monotonic() - began < READY_WITHIN:
            for name in sorted(waiting):
                if supervisor._processes[name].poll() is not None:
                    self.failed_starts += 1
                    supervisor._processes[name] = supervisor._spawn(name)
                elif _takes_calls(self._metrics[name]):
                    waiting.remove(name)
            time.sleep(0.02)
        assert not waiting, f"{waiting} not ready within {READY_WITHIN} s"
        return time.monotonic() - began


@dataclass
class Tally:
    """What the kills hit, and how long it took to be whole again."""

    victims: Counter[str] = field(default_factory=Counter)
    inside_requests: int = 0
    timed: int = 0
    cut: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    failed_starts: int = 0
    checked: Counter[str] = field(default_factory=Counter)

    def found(self, autopsy: Autopsy) -> None:
        """Note how far the last commit had come."""
        self.cut["uncommitted pages"] += autopsy.cut_frames > 0
        self.cut["committed without head"] += autopsy.events > autopsy.heads
        self.cut["half a head"] += autopsy.cut_head
        self.cut["all"] += autopsy.cut_in_half

    def told(self) -> dict[str, object]:
        """As a line of the table."""
        return {
            "by_victim": " ".join(f"{name}:{number}" for name, number in sorted(self.victims.items())),
            "inside_requests": self.inside_requests,
            "timed_by_the_ledger's_files": self.timed,
            "commits_cut_in_half": " ".join(f"{name}:{number}" for name, number in self.cut.items()),
            "ready_again_after_median_s": f"{statistics.median(self.seconds):.1f}",
            "at_most_s": f"{max(self.seconds):.1f}",
            "failed_starts": self.failed_starts,
            **self.checked,
        }


class Storm:
    """Kills processes of one house while people ask."""

    def __init__(
        self, house: ServedHouse, clients: Clients, chance: int, scratch: Path, tally: Tally
    ) -> None:
        self.house, self.clients, self.scratch, self.tally = house, clients, scratch, tally
        self.rng = random.Random(chance)
        self.init = InitSystem(house)
        self._next: list[str] = []

    def strike(self) -> None:
        """Kill something while requests are under way, look at what is left, have it started again."""
        self._next = self._next or self.rng.sample(VICTIMS, len(VICTIMS))
        victim = self._next.pop()
        services = SERVICES if victim == ALL else (victim,)
        self.clients.wait_for_answers(1)
        if victim == "facility" and self.rng.random() < 0.6:
            self._kill_as_the_ledger_is_written()
        else:
            time.sleep(self.rng.uniform(0, 0.2))
            self.tally.inside_requests += self.clients.under_way > 0
            for name in services:
                self.house.kill(name)
        self.tally.victims[victim] += 1
        if "facility" in services:
            self.tally.found(self.autopsy())
        self.tally.seconds.append(self.init.start_again(services))

    def _kill_as_the_ledger_is_written(self) -> None:
        """A commit writes the log of the database, then the second place, within some milliseconds."""
        state, ledger = self.house.settings.state_dir, self.house.settings.ledger_url
        log = commits_to(ledger) if ledger else state / "ledger.sqlite-wal"
        heads = state / "heads" / "heads.jsonl"
        file, delays = (log, 6000) if log.exists() and self.rng.random() < 0.7 else (heads, 1500)
        process = self.house.supervisor._processes["facility"]
        delay = self.rng.choice((0, self.rng.randrange(400), self.rng.randrange(delays)))
        arguments = [sys.executable, "-S", "-E", sniper.__file__, str(process.pid), str(file), str(delay)]
        shot = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()[-1]
        self.tally.inside_requests += self.clients.under_way > 0
        self.tally.timed += shot == "shot"
        self.house.kill("facility")

    def autopsy(self) -> Autopsy:
        """What the facility left."""
        state = self.house.settings.state_dir
        if not self.house.settings.ledger_url:
            return look_at(state, self.scratch / "autopsy")
        address = self.house.settings.ledger_url.replace("postgresql://", "postgresql+psycopg://")
        engine = sqlalchemy.create_engine(address)
        with engine.connect() as connection:
            events = connection.scalar(sqlalchemy.text("SELECT count(*) FROM events"))
        engine.dispose()
        heads = (state / "heads" / "heads.jsonl").read_bytes()
        return Autopsy(events, heads.count(b"\n"), not heads.endswith(b"\n"), 0)


@contextmanager
def house_on(ledger: str, folder: Path) -> Iterator[ServedHouse]:
    """A house with its ledger on either database."""
    if ledger == "sqlite":
        made = ServedHouse(folder)
        try:
            yield made
        finally:
            made.stop()
        return
    with running_server() as server:
        made = ServedHouse(folder, {"ledger_url": empty_database(server)})
        try:
            yield made
        finally:
            made.stop()


def storm(ledger: str, kills: int, chance: int, folder: Path, tally: Tally) -> None:
    """A new house, so many kills, and all checks."""
    folder.mkdir()
    truthful = TruthfulHouses(folder / "truth")
    with house_on(ledger, folder / "our house") as house:
        with Clients(house, chance) as clients:
            struck = Storm(house, clients, chance, folder, tally)
            for _ in range(kills):
                struck.strike()
            tally.failed_starts += struck.init.failed_starts
            tally.seconds.append(clients.wait_for_answers(3, READY_WITHIN))
        tally.checked.update(whole(house, clients, truthful))
    truthful.engine.close()


def long(number: int) -> Any:
    return pytest.param(number, marks=pytest.mark.long)


@pytest.mark.parametrize("kills", [len(VICTIMS), long(KILLS)])
def test_a_kill_at_any_instant_loses_no_answer_and_makes_none_up(kills, tmp_path, tell):
    tally = Tally()
    wanted = trials(kills) if kills == KILLS else kills
    for number, done in enumerate(range(0, wanted, KILLS_A_HOUSE)):
        storm("sqlite", min(KILLS_A_HOUSE, wanted - done), seed(number), tmp_path / str(number), tally)
    assert sum(tally.victims.values()) == wanted
    tell("kill -9 under load, ledger on SQLite", wanted, **tally.told())


@pytest.mark.long
def test_a_kill_at_any_instant_with_the_ledger_on_postgresql(tmp_path, tell):
    tally = Tally()
    wanted = trials(KILLS_A_HOUSE)
    storm("postgresql", wanted, seed(17), tmp_path / "house", tally)
    tell("kill -9 under load, ledger on PostgreSQL", wanted, **tally.told())
