"""The ledger's database stopped, frozen, locked, or on a full disk: errors in time and nothing lost."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from after_a_storm import whole
from clients_under_load import Clients
from postgresql_server import empty_database, running_server, start, stop
from served_house import ServedHouse
from stories import (
    DEADLINE,
    DEADLINES,
    FOUR_DIMENSIONS,
    INCOMES,
    PATIENCE,
    PLANS,
    Oracle,
    Told,
    normal_again,
    patiently,
)
from trials import seed, trials
from truthful_house import TruthfulHouses

LOCKER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
sys.stdout.write("locked\\n")
sys.stdout.flush()
sys.stdin.read()
"""
STORY = [PLANS, INCOMES, FOUR_DIMENSIONS]
NO_LIMIT = resource.RLIM_INFINITY
SHORTER_THAN_A_HEAD = 200


def nothing_meanwhile_and_all_of_it_afterwards(
    house: ServedHouse, oracle: Oracle, fault: AbstractContextManager[None], story: list[dict[str, Any]]
) -> tuple[Told, float]:
    """Ask during a fault and get errors only; ask again after it and get the truth, from the same process."""
    told, processes = Told(house, oracle), dict(house.supervisor.processes)
    dataset = told.new_dataset()
    earlier = patiently(lambda: house.ask(dataset, rows=["female"]))
    with fault:
        told.ask("the ledger out of reach", dataset, story)
        # What was answered before needs only to be read.
        assert house.ask(dataset, rows=["female"]).content == earlier.content
        assert set(told.outcomes) <= {"503", "504"}
        assert httpx.get(f"{house.metrics_address('facility')}/healthz", timeout=30).status_code == 200
    seconds = normal_again(house, oracle)
    told.patient(dataset, story, left=[{"rows": ["female"]}])
    assert dict(house.supervisor.processes) == processes
    with house.ledger() as ledger:
        report = ledger.verify()
    assert (report.faults, report.heads_behind) == ((), 0)
    return told, seconds


@contextmanager
def locked(house: ServedHouse) -> Iterator[None]:
    """Another process holds the database exclusively."""
    file = house.settings.state_dir / "ledger.sqlite"
    arguments = [sys.executable, "-c", LOCKER, str(file)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        assert httpx.get(f"{house.metrics_address('facility')}/readyz", timeout=30).status_code == 503
        yield
        process.kill()


@pytest.mark.parametrize("queries", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_database_that_somebody_else_has_locked_costs_errors_in_time(house, oracle, queries, tell):
    story = STORY[:queries]
    told, seconds = nothing_meanwhile_and_all_of_it_afterwards(house, oracle, locked(house), story)
    tell("SQLite locked by another process", len(story), **told.told(), normal_after_s=f"{seconds:.1f}")


@contextmanager
def no_file_beyond(house: ServedHouse, size: int) -> Iterator[None]:
    """No file of the facility can grow beyond so many bytes; EFBIG stands for ENOSPC."""
    process = house.supervisor.processes["facility"]
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, NO_LIMIT))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))


def no_room(house: ServedHouse, more: int) -> AbstractContextManager[None]:
    """No file of the facility can grow, but for so many bytes of the largest."""
    state = house.settings.state_dir
    files = [state / "ledger.sqlite", state / "ledger.sqlite-wal", state / "ledger.sqlite-shm"]
    largest = max(file.stat().st_size for file in files if file.exists()) if more else 0
    return no_file_beyond(house, largest + more)


def test_a_disk_without_room_costs_errors_in_time(house, oracle, tell):
    told, seconds = nothing_meanwhile_and_all_of_it_afterwards(house, oracle, no_room(house, 0), STORY)
    name = "disk full: no file can be written (RLIMIT_FSIZE)"
    tell(name, len(STORY), **told.told(), normal_after_s=f"{seconds:.1f}")


@pytest.mark.long
def test_a_disk_that_fills_up_in_the_middle_of_a_commit_loses_nothing(house, oracle, tell):
    told, number = Told(house, oracle), trials(40)
    for trial in range(number):
        dataset = told.new_dataset()
        with no_room(house, 1 + 1500 * trial):
            told.ask("disk fills up", dataset, [PLANS])
        told.patient(dataset, [PLANS])
    with house.ledger() as ledger:
        report = ledger.verify()
    assert (report.faults, report.heads_behind) == ((), 0)
    tell("disk fills up within a commit (RLIMIT_FSIZE)", number, **told.told())


@pytest.mark.long
def test_a_second_place_that_fills_up_in_the_middle_of_a_line_loses_nothing(tmp_path, oracle, tell):
    number = trials(20)
    with running_server() as server:
        address = {"ledger_url": empty_database(server)}
        house = ServedHouse(tmp_path / "on postgresql", address, **DEADLINES)
        heads, told = house.settings.state_dir / "heads" / "heads.jsonl", Told(house, oracle)
        try:
            told.patient(told.new_dataset(), [PLANS])
            for trial in range(number):
                dataset = told.new_dataset()
                with no_file_beyond(house, heads.stat().st_size + 1 + 13 * trial % SHORTER_THAN_A_HEAD):
                    # Recorded at the first time; without its head it is not told at the second either.
                    told.ask("heads fill up", dataset, [PLANS, PLANS])
                    assert not heads.read_bytes().endswith(b"\n")
                told.patient(dataset, [PLANS])
            assert set(told.outcomes) == {"503"}
            with house.ledger() as ledger:
                report = ledger.verify()
            assert (report.faults, report.heads_behind) == ((), 0)
            assert heads.read_bytes().count(b"\n") == report.events
        finally:
            house.stop()
    tell("disk of the heads fills up within a line", number, **told.told())


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A disk of 64 MiB, where we may mount one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "sdcgate-test", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """The disk of a folder is filled to the last byte meanwhile."""
    file = folder / "filling"
    with file.open("wb", buffering=0) as filling, suppress(OSError):
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while filling.write(bytes(size)):
                    pass
    try:
        yield
    finally:
        file.unlink()


@pytest.mark.long
def test_a_disk_that_is_really_full_costs_errors_in_time(tmp_path, oracle, tell):
    disk = tmp_path / "disk"
    with small_disk(disk):
        house = ServedHouse(disk / "house", **DEADLINES)
        try:
            told, seconds = nothing_meanwhile_and_all_of_it_afterwards(house, oracle, full(disk), STORY)
        finally:
            house.stop()
    name = "disk full: a small one, filled (ENOSPC)"
    tell(name, len(STORY), **told.told(), normal_after_s=f"{seconds:.1f}")


@pytest.mark.long
@pytest.mark.parametrize("how", ["fast", "immediate", "frozen"])
def test_postgresql_stopped_under_load_costs_errors_in_time(tmp_path, how, tell):
    number = trials(10)
    with running_server() as server:
        address = {"ledger_url": empty_database(server)}
        house = ServedHouse(tmp_path / "on postgresql", address, **DEADLINES)
        truthful = TruthfulHouses(tmp_path / "truth")
        processes, recovery = dict(house.supervisor.processes), []
        try:
            with Clients(house, seed(number)) as clients:
                for _ in range(number):
                    clients.wait_for_answers(3)
                    stop(server, how)
                    try:
                        assert httpx.get(f"{house.metrics_address('facility')}/healthz").status_code == 200
                        clients.wait_for(lambda asked: asked.status in (503, 504), 1)
                    finally:
                        start(server)
                    recovery.append(clients.wait_for_answers(3))
            slowest = max(asked.ended - asked.began for asked in clients.asked)
            assert slowest < DEADLINE + PATIENCE
            assert dict(house.supervisor.processes) == processes
            checked = whole(house, clients, truthful)
        finally:
            house.stop()
            truthful.engine.close()
    checked |= {"slowest s": round(slowest, 1), "normal after at most s": round(max(recovery), 1)}
    tell(f"PostgreSQL stopped ({how}) under load", number, **checked)
