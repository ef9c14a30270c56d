"""Random small populations, and random tables and statistics of them that nobody thought of together."""

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from attack.world import MISSING, Variable, World

MEASURE = "x"
MOST = 20
REGION = Variable(
    "region", ("r1", "r2", "r3", "r4"), {"halves": {"north": ("r1", "r2"), "south": ("r3", "r4")}}
)
OTHERS = (Variable("age", ("y", "m", "o")), Variable("sex", ("f", "m")))
JOB = Variable("job", ("j1", "j2"))
WAVE = Variable("wave", ("w1", "w2"), varies=True)
KINDS = ("MEAN", "TOTAL", "PROPORTION")
EVERYTHING, RATIOS = (0.4, 0.3, 0.2, 0.1), (0.25, 0.15, 0.3, 0.3)
"""How often a table has nothing beside counts, sums, means, and percentages."""


@dataclass(frozen=True)
class Asked:
    """A request: a table, or a statistic of groups where there is a kind."""

    dimensions: tuple[str, ...]
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    figures: tuple[str, ...] = ("UNITS", "RECORDS")
    kind: str = ""
    having: tuple[str, tuple[str, ...]] | None = None
    """Of a proportion: a variable and some of its codes."""
    margins: bool = True


def census(seed: int) -> World:
    """Forty to 119 people, each of one record: some combinations have many of them, others few."""
    rng = np.random.default_rng(seed)
    variables = (REGION, *OTHERS, JOB)
    people = int(rng.integers(40, 120))
    records = pd.DataFrame({variable.name: _codes(rng, variable, people) for variable in variables})
    return _world(rng, records.assign(id=np.arange(people)), variables)


def panel(seed: int) -> World:
    """As many people in two waves, of whom some are in one wave only."""
    rng = np.random.default_rng(seed)
    people = int(rng.integers(40, 120))
    fixed = pd.DataFrame({one.name: _codes(rng, one, people) for one in (REGION, *OTHERS)})
    fixed["id"] = np.arange(people)
    waves = [fixed.assign(wave=code)[rng.random(people) < 0.85] for code in WAVE.codes]
    return _world(rng, pd.concat(waves, ignore_index=True), (REGION, *OTHERS, WAVE))


def requests(world: World, seed: int, mostly_ratios: bool = False) -> Iterator[Asked]:
    """Requests without end: one to three variables, up to two filters, counts, sums, means and shares.

    Three in four tables are asked with totals, and as many with both counts; one in three with both where
    most are to be means and percentages.
    """
    with_both, kinds = (0.35, RATIOS) if mostly_ratios else (0.75, EVERYTHING)
    draw = random.Random(seed)
    while True:
        chosen = draw.sample(world.variables, draw.choice([1, 1, 2, 2, 2, 3]))
        dimensions = tuple(_level(draw, variable)[0] for variable in chosen)
        others = [variable for variable in world.variables if variable not in chosen and draw.random() < 0.35]
        conditions = dict(_some(draw, variable) for variable in others[:2])
        if draw.random() < 0.2:
            kind, having = draw.choice(KINDS), None
            if kind == "PROPORTION":
                having = _some(draw, draw.choice([one for one in world.variables if one not in chosen]))
            yield Asked(dimensions, conditions, kind=kind, having=having)
        else:
            figures = _figures(draw, with_both, kinds)
            yield Asked(dimensions, conditions, figures, margins=draw.random() < 0.75)


def _world(rng: np.random.Generator, records: pd.DataFrame, variables: tuple[Variable, ...]) -> World:
    values = rng.integers(0, MOST + 1, len(records))
    if rng.random() < 0.5:
        # Near the least or the greatest value by sex: then sums tell most of counts.
        near = (records["sex"] == "f").to_numpy()
        values = np.where(near, MOST - values // 8, values // 8)
    return World(records.assign(**{MEASURE: values}), variables, (MEASURE,), least=0.0, most=float(MOST))


def _codes(rng: np.random.Generator, variable: Variable, people: int) -> np.ndarray:
    """Codes that are drawn unevenly, a missing one now and then."""
    likely = rng.dirichlet([*itertools.repeat(1.0, len(variable.codes)), 0.15])
    return rng.choice([*variable.codes, MISSING], people, p=likely)


def _level(draw: random.Random, variable: Variable) -> tuple[str, tuple[str, ...]]:
    """One of its levels, as it is asked for, with its codes."""
    level = draw.choice(["", *variable.levels])
    codes = tuple(variable.levels[level]) if level else variable.codes
    return f"{variable.name}:{level}" if level else variable.name, codes


def _some(draw: random.Random, variable: Variable) -> tuple[str, tuple[str, ...]]:
    """Some codes of a level, not all of them."""
    name, codes = _level(draw, variable)
    return name, tuple(draw.sample(codes, draw.randint(1, len(codes) - 1)))


def _figures(draw: random.Random, with_both: float, weights: tuple[float, ...]) -> tuple[str, ...]:
    kinds = ["", f"SUM:{MEASURE}", f"MEAN:{MEASURE}", "TOTAL_PERCENT"]
    (more,) = draw.choices(kinds, weights)
    both = ("UNITS", "RECORDS")
    counts = both if draw.random() < with_both else draw.choice([both[:1], both[1:], () if more else both])
    return (*counts, *([more] if more else []))
