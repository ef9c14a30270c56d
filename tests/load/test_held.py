import csv
import os
import random
import threading

import pytest

from load.held import Allowance, Sample, growths, held, is_alive, megabytes, watching, write

HOUR = 3600
FIGURES = {"megabytes": Allowance(8, 8), "files": Allowance(6, 0)}


def grown(held_at, allowed=FIGURES, every=10):
    """Growth of a service that holds so many megabytes at each moment of an hour, and ten files."""
    times = range(0, HOUR + 1, every)
    return growths([Sample(at, "risk", held_at(at), 10, 4, 1.0) for at in times], {"risk": allowed})


def test_what_goes_up_and_down_is_flat():
    chance = random.Random(1)
    memory, files = grown(lambda at: 200 + chance.uniform(-5, 5))
    assert memory.flat
    assert abs(memory.grown) < 1
    assert (files.first, files.last, files.grown, files.flat) == (10, 10, 0, True)


def test_what_leaks_is_not():
    memory, _ = grown(lambda at: 200 + 30 * at / HOUR)
    assert memory.grown == pytest.approx(27)
    assert memory.allowed == pytest.approx(8 + 8 * 0.9)
    assert not memory.flat
    assert (memory.first, memory.last) == (pytest.approx(201.5, abs=0.1), pytest.approx(228.5, abs=0.1))


def test_what_fills_in_the_first_tenth_is_no_leak_and_neither_is_a_spike():
    memory, _ = grown(lambda at: (100 if at < 300 else 300) + (500 if at == 1800 else 0))
    assert (memory.grown, memory.flat) == (0, True)


def test_a_file_that_is_left_open_now_and_then_is_seen():
    samples = [Sample(at, "facility", 1, 10 + at // 400, 4, 1.0) for at in range(0, HOUR + 1, 10)]
    (files,) = growths(samples, {"facility": {"files": Allowance(6, 0)}})
    assert files.grown == pytest.approx(8.1, abs=0.5)
    assert not files.flat


def test_a_process_is_counted_with_its_files_and_threads(tmp_path):
    before = held(os.getpid())
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    with (tmp_path / "open").open("w"):
        after = held(os.getpid())
    done.set()
    thread.join()
    assert (after[1] - before[1], after[2] - before[2]) == (1, 1)
    assert after[0] > 10
    assert is_alive(os.getpid())


def test_samples_are_taken_from_the_beginning_on_and_written_as_a_table(tmp_path):
    (tmp_path / "ledger.sqlite").write_bytes(bytes(2**20))
    (tmp_path / "ledger.sqlite-wal").write_bytes(bytes(2**20))
    samples = []
    with watching({"risk": os.getpid(), "gone": 2**22}, tmp_path, samples, every=60):
        pass
    (sample,) = samples
    assert (sample.service, sample.ledger_megabytes) == ("risk", megabytes(tmp_path)) == ("risk", 2.0)
    write(samples, tmp_path / "build" / "soak.csv")
    with (tmp_path / "build" / "soak.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["service"], float(row["megabytes"])) == ("risk", sample.megabytes)
