"""The first model of a population beside ACRO's olsr on the same records, in processor time of all processes.

What an answer needs to know of a population is counted for its first model and remembered. Each time it is a
dataset of its own, with other people, so that nothing has been counted; services and ACRO take turns.
"""

import statistics
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil

from against_acro import acro_process
from crosstab_records import NUMBERS, descriptor, make, with_numbers
from peers import NoPeer, python_with
from run import Result, result
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.servers.settings import Settings
from sdcgate_client import Client

RECORDS = 1_000_000
RUNS = 3
BOUNDS = {"numbers from 0": 0.0, "numbers that may be negative": -1e6}
"""Of differences of sums that may be negative none is safe without being counted."""


def first_models() -> list[Result]:
    """Seventeen parameters, four of them of numbers: the first of a population, and the third."""
    try:
        python = python_with("acro", "acro==1.0.2")
    except NoPeer as error:
        return [result("first models beside ACRO", 0, 0, 0, str(error))]
    with tempfile.TemporaryDirectory() as folder, acro_process(python, RECORDS) as theirs:
        root = Path(folder)
        settings = Settings(state_dir=root / "state", data_root=root)
        keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
        records = with_numbers(make(RECORDS))
        with (
            Supervisor(settings) as supervisor,
            Client(supervisor.url, keys["steward"], timeout=300) as steward,
            Client(supervisor.url, keys["researcher"], timeout=300) as researcher,
        ):
            # What a service does once is not what a population costs.
            _register(steward, root, records, "warm", 0.0, 0)
            spent_ms(lambda: _fit(researcher, "warm", 1))
            return [
                found
                for place, (kind, bound) in enumerate(BOUNDS.items())
                for found in _compared(root, records, kind, bound, place, steward, researcher, theirs)
            ]


def _compared(
    root: Path,
    records: pd.DataFrame,
    kind: str,
    bound: float,
    place: int,
    steward: Client,
    researcher: Client,
    theirs: Callable[[str], float],
) -> list[Result]:
    first, third, acro = [], [], []
    for run in range(RUNS):
        name = f"records{place}{run}"
        _register(steward, root, records, name, bound, 1 + place * RUNS + run)
        acro.append(spent_ms(lambda: theirs("numbers")))
        first.append(spent_ms(lambda name=name: _fit(researcher, name, 1)))
        _fit(researcher, name, 2)
        third.append(spent_ms(lambda name=name: _fit(researcher, name, 3)))
    note = "ACRO 1.0.2's olsr in memory; aim 5x; processor time of all processes"
    peer = statistics.median(acro)
    return [
        result(f"{which} model of a population, {kind}", RECORDS, statistics.median(own), peer, note)
        for which, own in (("first", first), ("third", third))
    ]


def _register(
    steward: Client, root: Path, records: pd.DataFrame, name: str, bound: float, place: int
) -> None:
    """The same records of other people."""
    file = root / f"{name}.parquet"
    records.assign(unit=records["unit"] + place * 10 * len(records)).to_parquet(file)
    declared = descriptor(name, file.name)
    measure = {"decimals": 2, "lower_bound": bound, "upper_bound": 1e6}
    declared["measures"] += [{"name": number, **measure} for number in NUMBERS]
    steward.register(declared)
    file.unlink()


def _fit(researcher: Client, name: str, reference: int) -> None:
    formula = f'income ~ sex + C(age_group, reference="A{reference:02d}") + {" + ".join(NUMBERS)}'
    answer = researcher.model(name, "linear", formula)
    if answer.verdict != "RELEASED":
        raise RuntimeError(f"{formula}: {answer.verdict} {[reason.code for reason in answer.reasons]}")


def spent_ms(call: Callable[[], object]) -> float:
    """Milliseconds of processor time of this process and all that it has started, while a call runs."""
    began = _spent()
    call()
    return (_spent() - began) * 1000


def _spent() -> float:
    own, total = psutil.Process(), 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total
