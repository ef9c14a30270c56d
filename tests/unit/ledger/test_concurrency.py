"""Whoever comes second learns it: two writers at the same expected sequence, in threads and in processes."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from sdcgate.ledger.ledger import AlreadyAnswered, HeadMoved, Recorded

WRITERS = 4

PROCESS = """
import sys, pathlib
from sdcgate.ledger.events import DecisionEvent
from sdcgate.ledger.ledger import HeadMoved, Ledger
from sdcgate.ledger.signing import KeyRing

url, keys, heads, name = sys.argv[1:]
ledger = Ledger.open(url, KeyRing.open(pathlib.Path(keys)), pathlib.Path(heads))
print("ready", flush=True)
sys.stdin.readline()
won = 0
for number in range(12):
    decision = DecisionEvent(
        query_id=f"q-{name}-{number}", canonical=f"{name} {number}".encode(), source="households",
        dataset="survey", version=1, policy_name="p", policy_hash="h", scope="all", researcher="anna",
        project="", verdict="RELEASED", request=b"", answer=b"a", confidential=b"c", release=b"r",
        author="k")
    try:
        ledger.append_decision(decision, number)
        won += 1
    except HeadMoved:
        while ledger.source_sequence("households") <= number:
            pass
print(won, flush=True)
"""


def outcomes(ledgers, decisions, expected):
    together = Barrier(len(ledgers))

    def write(pair):
        ledger, decision = pair
        together.wait()
        try:
            return ledger.append_decision(decision, expected)
        except (HeadMoved, AlreadyAnswered) as lost:
            return lost

    with ThreadPoolExecutor(len(ledgers)) as pool:
        return list(pool.map(write, zip(ledgers, decisions, strict=True)))


@pytest.mark.parametrize("shared", [True, False], ids=["one ledger", "a ledger each"])
def test_exactly_one_of_several_threads_wins_each_head(open_ledger, make_decision, shared):
    ledgers = [open_ledger()] * WRITERS if shared else [open_ledger() for _ in range(WRITERS)]
    for expected in range(8):
        found = outcomes(ledgers, [make_decision() for _ in range(WRITERS)], expected)
        assert sum(isinstance(each, Recorded) for each in found) == 1
        losers = [each for each in found if isinstance(each, HeadMoved)]
        assert [loser.current for loser in losers] == [expected + 1] * (WRITERS - 1)
    report = ledgers[0].verify()
    assert (report.ok, report.events, report.heads_behind) == (True, 8, 0)


def test_the_losers_of_a_tie_on_one_query_learn_the_winners_id(open_ledger, make_decision):
    ledgers = [open_ledger() for _ in range(WRITERS)]
    found = outcomes(ledgers, [make_decision(canonical=b"same") for _ in range(WRITERS)], 0)
    (winner,) = [each for each in found if isinstance(each, Recorded)]
    losers = [each for each in found if isinstance(each, AlreadyAnswered)]
    assert [loser.query_id for loser in losers] == [winner.query_id] * (WRITERS - 1)


def test_processes_share_a_ledger_and_each_head_is_won_once(open_ledger, url, tmp_path, key_ring, heads_path):
    ledger = open_ledger()
    shared = [url, str(tmp_path / "keys"), str(heads_path)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, *shared, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    won = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(won) == 12
    assert [each.sequence for each in ledger.releases("households")] == list(range(1, 13))
    report = ledger.verify()
    assert (report.ok, report.events, report.heads_behind) == (True, 12, 0)


def test_readers_do_not_wait_for_a_writer(open_ledger, make_decision):
    from sdcgate.ledger import database

    writer, reader = open_ledger(), open_ledger()
    writer.append_decision(make_decision(), 0)
    with database.writing(writer._engine):
        assert reader.query("q-0001") is not None
        assert reader.source_sequence("households") == 1
