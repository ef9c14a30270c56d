"""Secondary suppression of generated tables: time, and cost beside the optimum that is known.

Tables of persons, drawn as lognormal frequencies with a tenth of small and a twentieth of empty cells; cells
of one to three are unsafe. Costs are frequencies of all withheld cells at width 1, where zeros are possible
behind a mark, as the optima assume (they were proved by cutting planes); times are CPU, of that and of what
a facility would ask: a width of ten, no zeros. Last come tables of the RAND file, a panel whose units do not
add up, through REST: each asked of a house that has answered nothing.
"""

import statistics
import tempfile
import time
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path

import numpy as np
import yaml

from run import Result, result, timed_ms
from sdcgate.cli.demo import DESCRIPTOR
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.methods.cells import TOTAL, Axis, Facts
from sdcgate.methods.tables.cheaper import ordinary_effort
from sdcgate.methods.tables.exact_suppression import protect_exactly
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.suppression import protect
from sdcgate.servers.settings import Settings
from sdcgate_client import Answer, Client

CPU = "ms of CPU"
COST = "withheld frequency"
TABLES: tuple[tuple[tuple[int, ...], int, int | None], ...] = (
    ((10, 10), 101, 89),
    ((20, 20), 102, 152),
    ((50, 50), 103, 503),
    ((8, 8, 8), 104, None),
)
"""Shape, seed, and the optimum where it is known."""
WITH_EFFORT: tuple[tuple[tuple[int, ...], int, int], ...] = (
    ((10, 10), 101, 204),
    ((20, 20), 102, 285),
    ((50, 50), 103, 977),
    ((8, 8, 8), 104, 1371),
)
"""Shape, seed, and the optimum or lower bound at a width of ten, where zeros are known not to be there."""
LARGE = ((15, 15, 10), 105, 3778, 30.0)
"""Shape, seed, the cost of the cheapest safe pattern of a peer, and seconds."""
EXACT = (
    ((20, 20), 102, 1, True, 10.0),
    ((20, 20), 102, 1, False, 10.0),
    ((20, 20), 102, 10, False, 10.0),
    ((50, 50), 103, 1, True, 5.0),
    ((50, 50), 103, 1, False, 5.0),
    ((50, 50), 103, 10, False, 20.0),
    ((8, 8, 8), 104, 1, True, 20.0),
    ((8, 8, 8), 104, 1, False, 20.0),
    ((15, 15, 10), 105, 1, True, 30.0),
)
"""Shape, seed, width, whether zeros are possible behind a mark, and seconds."""
PANEL = (("site", "plan", "female"), ("site", "plan", "year"))
PANEL_RUNS = 3
AIM = 300.0


def suppression() -> list[Result]:
    """Cost and time of each table, and time at a width of ten; times of tables of a panel."""
    tables = [found for shape, seed, optimum in TABLES for found in _table(shape, seed, optimum)]
    return [*tables, *_with_effort(), *_thorough(), *_exact(), *_panel()]


def _with_effort() -> list[Result]:
    """Patterns at a width of ten for the effort that `ProtectTable` takes where nothing is said."""
    results = []
    for shape, seed, least in WITH_EFFORT:
        problem, unsafe = _problem(_generated(shape, seed))
        prices = np.maximum(problem.facts.records, 1).astype(np.float64)
        known = np.zeros_like(problem.known)
        wide = replace(problem, count_width=10, zeros_withheld=False, known=known, costs=prices)
        first = int(problem.facts.records[protect(wide, unsafe, 30).withheld].sum())
        began = time.process_time()
        found = protect(wide, unsafe, 30, effort=ordinary_effort(len(unsafe)))
        took = time.process_time() - began
        cost = int(problem.facts.records[found.withheld].sum())
        name = f"suppression {'x'.join(map(str, shape))}, with effort: cost at width 10"
        note = f"optimum or lower bound; {first} without; {took:.1f} s of CPU; {found.proof.name}"
        results.append(result(name, len(unsafe), cost, least, note, COST))
    return results


def _exact() -> list[Result]:
    """Cheapest patterns, frequencies as costs, beside the lower bound of all patterns that can be proved."""
    results = []
    for shape, seed, width, zeros, seconds in EXACT:
        problem, unsafe = _problem(_generated(shape, seed))
        known = problem.known if zeros else np.zeros_like(problem.known)
        prices = np.maximum(problem.facts.records, 1).astype(np.float64)
        asked = replace(problem, count_width=width, zeros_withheld=zeros, known=known, costs=prices)
        began = time.perf_counter()
        found = protect_exactly(asked, unsafe, seconds)
        took = time.perf_counter() - began
        unsafe_cost = int(problem.facts.records[unsafe].sum())
        said = f"zeros {'possible' if zeros else 'known not to be there'}, width {width}"
        name = f"suppression {'x'.join(map(str, shape))}, exact: cost"
        note = f"lower bound; {said}; {took:.1f} of {seconds:g} s; {found.proof.name}"
        cost, least = unsafe_cost + found.price, unsafe_cost + found.least_price
        results.append(result(name, len(problem.facts), cost, least, note, COST))
    return results


def _thorough() -> list[Result]:
    """A large table in three dimensions for somebody who waits, beside a peer's cheapest safe pattern."""
    shape, seed, peer, seconds = LARGE
    problem, unsafe = _problem(_generated(shape, seed))
    found = protect(problem, unsafe, seconds, thorough=True)
    cost = int(problem.facts.records[found.withheld].sum())
    name, cells = f"suppression {'x'.join(map(str, shape))}, thorough", len(problem.facts)
    note = f"within {seconds:g} s; GaussSuppression's default in 31 s; {found.proof.name}"
    return [result(f"{name}: cost", cells, cost, peer, note, COST)]


def _panel() -> list[Result]:
    """Three-way tables of the RAND file, which is registered under several names, each without a history."""
    described = yaml.safe_load(DESCRIPTOR.read_text())
    results = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(state_dir=Path(folder) / "state", data_root=Path(folder))
        keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
        with (
            Supervisor(settings) as supervisor,
            Client(supervisor.url, keys["steward"]) as steward,
            Client(supervisor.url, keys["researcher"]) as researcher,
        ):
            for first, second, third in PANEL:
                answers: list[Answer] = []
                times = []
                for turn in range(PANEL_RUNS):
                    name = f"{first}-{second}-{third}-{turn}"
                    steward.register({**described, "name": name, "source": name})
                    asked = {"rows": [first], "columns": [second], "layers": [third]}
                    times.append(timed_ms(partial(_ask, researcher, name, asked, answers)))
                table = answers[0].table
                said = f"{table.withheld} of {len(table)} cells withheld" if table else answers[0].verdict
                results.append(
                    result(
                        f"{first} x {second} x {third}, RAND",
                        0,
                        statistics.median(times),
                        AIM,
                        f"aim 300 ms; {said}",
                    )
                )
    return results


def _table(shape: tuple[int, ...], seed: int, optimum: int | None) -> list[Result]:
    inner = _generated(shape, seed)
    problem, unsafe = _problem(inner)
    name = f"suppression {'x'.join(map(str, shape))}"
    found, milliseconds = _protected(problem, unsafe)
    cost = int(problem.facts.records[found.withheld].sum())
    wide = replace(problem, count_width=10, zeros_withheld=False, known=np.zeros_like(problem.known))
    wide_found, wide_milliseconds = _protected(wide, unsafe)
    cells = prod(size + 1 for size in shape)
    return [
        *(
            [result(f"{name}: cost", cells, cost, optimum, f"proved optimum; {found.proof.name}", COST)]
            if optimum
            else []
        ),
        result(f"{name}: time", cells, milliseconds, AIM, f"aim 300 ms; {found.proof.name}", CPU),
        result(
            f"{name}: time at width 10",
            cells,
            wide_milliseconds,
            AIM,
            f"aim 300 ms; {wide_found.proof.name}, {int(wide_found.withheld.sum())} of {cells} withheld",
            CPU,
        ),
    ]


def _ask(researcher: Client, name: str, asked: dict[str, list[str]], answers: list[Answer]) -> None:
    answers.append(researcher.table(name, **asked))


def _protected(problem: Problem, unsafe: np.ndarray) -> tuple[Protection, float]:
    began = time.process_time()
    found = protect(problem, unsafe, 30)
    milliseconds = (time.process_time() - began) * 1000
    if found.proof is not Proof.PROVED and found.withheld.all():
        raise RuntimeError("nothing was found")
    return found, milliseconds


def _generated(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Inner frequencies: a tenth of one to three, a twentieth of none."""
    rng = np.random.default_rng(seed)
    inner = np.floor(np.exp(rng.normal(3.5, 1.0, size=shape))).astype(np.int64) + 4
    drawn = rng.random(shape)
    inner[drawn < 0.10] = rng.integers(1, 4, size=(drawn < 0.10).sum())
    inner[(drawn >= 0.10) & (drawn < 0.15)] = 0
    return inner


def _problem(inner: np.ndarray) -> tuple[Problem, np.ndarray]:
    """The table with totals; cells of one to three are unsafe, empty ones are shown."""
    full = inner
    for place in range(inner.ndim):
        full = np.concatenate([full, full.sum(axis=place, keepdims=True)], axis=place)
    records = full.reshape(-1)
    axes = tuple(
        Axis(f"v{place}", f"v{place}", (*map(str, range(size)), TOTAL), (*[size] * size, -1))
        for place, size in enumerate(inner.shape)
    )
    small = np.zeros(full.shape, dtype=np.bool_)
    small[tuple(slice(size) for size in inner.shape)] = (inner > 0) & (inner <= 3)
    problem = Problem(
        axes=axes,
        facts=Facts(records, records),
        units_additive=True,
        count_width=1,
        sum_width=0.1,
        zeros_withheld=True,
        records_per_unit=1,
        known=records == 0,
        absent=np.zeros(len(records), dtype=np.bool_),
    )
    return problem, small.reshape(-1)
