"""Our tables and models through REST beside ACRO's crosstab and olsr on the same records in memory.

ACRO 1.0.2 needs another pandas than ours, so it runs in an environment of its own (made on first use, under
build/) and in a process of its own, which does nothing while ours is timed. Every query is new to the ledger.
"""

import itertools
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from crosstab_records import NUMBERS, descriptor, make, with_numbers
from peers import NoPeer, python_with
from run import Result, medians_ms, result, timed_ms
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.servers.settings import Settings
from sdcgate_client import Client

AIMS = {100_000: 5, 1_000_000: 20}
RUNS = 5
COUNTS = ("units", "records", "row_percent", "column_percent", "total_percent")
TABLES = {
    "count": ("count by region, industry", {"rows": ["region"], "columns": ["industry"]}, []),
    "mean": ("mean by region, industry", {"rows": ["region"], "columns": ["industry"]}, ["mean:income"]),
    "three_way_mean": (
        "mean by region, sex, industry",
        {"rows": ["region", "sex"], "columns": ["industry"]},
        ["mean:income"],
    ),
}


TERMS = {"factors": "size_class", "numbers": " + ".join(NUMBERS)}
"""Beside a constant, twelve age groups and two sexes."""
NAMES = {"factors": "all of factors", "numbers": "four of them of numbers"}


def against_acro() -> list[Result]:
    """Counts, means and three-way means of 100,000 and 1,000,000 records."""
    try:
        python = python_with("acro", "acro==1.0.2")
    except NoPeer as error:
        return [result("crosstab beside ACRO", 0, 0, 0, str(error))]
    return [found for records in AIMS for found in _records(records, python)]


def _records(records: int, python: Path) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder, acro_process(python, records) as theirs:
        root = Path(folder)
        with_numbers(make(records)).to_parquet(root / "records.parquet")
        settings = Settings(state_dir=root / "state", data_root=root)
        keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
        with Supervisor(settings) as supervisor:
            with Client(supervisor.url, keys["steward"], timeout=300) as steward:
                declared = descriptor("records", "records.parquet")
                measure = {"decimals": 2, "lower_bound": 0, "upper_bound": 1e6}
                declared["measures"] += [{"name": name, **measure} for name in NUMBERS]
                steward.register(declared)
            with Client(supervisor.url, keys["researcher"], timeout=60) as researcher:
                found = [_compared(records, name, researcher, theirs) for name in TABLES]
                return [*found, *(_least_squares(records, one, researcher, theirs) for one in TERMS)]


def _compared(records: int, name: str, researcher: Client, theirs: Callable[[str], float]) -> Result:
    title, dimensions, figures = TABLES[name]
    asked = _figures(figures)

    def ours() -> float:
        return timed_ms(lambda: _ask(researcher, dimensions, next(asked)))

    mine, acro = medians_ms(ours, lambda: theirs(name), runs=RUNS)
    note = f"ACRO 1.0.2 in memory; aim {AIMS[records]}x; ours through REST, proved and recorded"
    return result(title, records, mine, acro, note)


def _least_squares(records: int, terms: str, researcher: Client, theirs: Callable[[str], float]) -> Result:
    """Seventeen parameters, with every check; each time another reference, so that none is asked twice."""
    references = iter(range(1, 13))

    def ours() -> float:
        reference = f'C(age_group, reference="A{next(references):02d}")'
        formula = f"income ~ sex + {reference} + {TERMS[terms]}"
        return timed_ms(lambda: _fit(researcher, formula))

    mine, acro = medians_ms(ours, lambda: theirs(terms), runs=RUNS)
    note = "ACRO 1.0.2 in memory; aim 5x at 1,000,000; ours through REST, judged, checked and recorded"
    return result(f"least squares, 17 parameters, {NAMES[terms]}", records, mine, acro, note)


def _fit(researcher: Client, formula: str) -> None:
    answer = researcher.model("records", "linear", formula)
    if answer.verdict != "RELEASED":
        raise RuntimeError(f"{formula}: {answer.verdict} {[reason.code for reason in answer.reasons]}")


@contextmanager
def acro_process(python: Path, records: int) -> Iterator[Callable[[str], float]]:
    """A process of ACRO's with the records in memory; called, it times one crosstab in milliseconds."""
    command = [str(python), str(Path(__file__).with_name("acro_side.py")), str(records)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError("ACRO did not start")

            def crosstab(name: str) -> float:
                print(name, file=process.stdin, flush=True)
                return float(process.stdout.readline())

            yield crosstab
        finally:
            process.kill()


def _figures(beside: list[str]) -> Iterator[list[str]]:
    """Sets of figures, so that no query was asked before."""
    for size in range(1, len(COUNTS) + 1):
        for chosen in itertools.combinations(COUNTS, size):
            yield [*chosen, *beside]


def _ask(researcher: Client, dimensions: dict[str, list[str]], figures: list[str]) -> None:
    answer = researcher.table("records", **dimensions, figures=figures)
    if answer.verdict != "RELEASED":
        raise RuntimeError(f"{figures}: {answer.verdict} {[reason.code for reason in answer.reasons]}")
