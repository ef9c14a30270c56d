"""Populations whose F_k are known, and the scenarios in which `trust_study` samples them.

Three sets: `DEVELOPMENT` decided the present form of the recommended estimate. `FORMER` was held out from its
first form; its results were known when the form was changed, though it was changed by the development set
alone. `HELD_OUT` was made after that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels

from sdcgate.methods.risk.keys import group_keys


@dataclass(frozen=True)
class Scenario:
    """A population's key variables and how persons get into the sample."""

    name: str
    population: Callable[[], np.ndarray]
    inclusion: Callable[[np.ndarray], np.ndarray]


def equal(fraction: float) -> Callable[[np.ndarray], np.ndarray]:
    """Everybody with the same probability."""
    return lambda people: np.full(len(people), fraction)


def by_first_variable(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    """Small categories of the first variable (regions) are sampled more."""

    def inclusion(people: np.ndarray) -> np.ndarray:
        sizes = np.bincount(people[:, 0])
        shares = np.clip(low * sizes.max() / np.maximum(sizes, 1), low, high)
        return shares[people[:, 0]]

    return inclusion


def by_half(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    """The first half of the first variable's categories with one probability, the others with another."""
    return lambda people: np.where(people[:, 0] < (people[:, 0].max() + 1) // 2, low, high)


def classes(count: int, shape: tuple[int, ...], number: int, seed: int) -> np.ndarray:
    """Latent classes: people of a class have their values independently of each other."""
    rng = np.random.default_rng(seed)
    of_class = rng.choice(number, count, p=rng.dirichlet(np.full(number, 2.0)))
    people = np.empty((count, len(shape)), dtype=np.int64)
    for variable, categories in enumerate(shape):
        chances = rng.dirichlet(np.full(categories, 0.6), number).cumsum(axis=1)
        people[:, variable] = (
            (rng.random(count)[:, None] > chances[of_class]).sum(axis=1).clip(max=categories - 1)
        )
    return people


def chained(count: int, shape: tuple[int, ...], concentration: float, seed: int) -> np.ndarray:
    """Each variable depends on the two before it: interactions of three, which no two-way model has."""
    rng = np.random.default_rng(seed)
    people = np.zeros((count, len(shape)), dtype=np.int64)
    for variable, categories in enumerate(shape):
        before = people[:, max(0, variable - 2) : variable]
        groups = group_keys(before) if variable else None
        of_group = groups.group if groups is not None else np.zeros(count, dtype=np.int64)
        base = rng.dirichlet(np.full(categories, 1.5))
        chances = rng.dirichlet(base * concentration * categories + 0.02, int(of_group.max()) + 1).cumsum(
            axis=1
        )
        people[:, variable] = (
            (rng.random(count)[:, None] > chances[of_group]).sum(axis=1).clip(max=categories - 1)
        )
    return people


def household_survey(count: int, seed: int) -> np.ndarray:
    """In the shape of ISTAT's study: region, sex, age, marital status, education, household size."""
    rng = np.random.default_rng(seed)
    region = rng.choice(20, count, p=rng.dirichlet(np.full(20, 1.2)))
    sex = rng.integers(0, 2, count)
    age = np.clip(rng.normal(43 + 2 * sex, 23, count), 0, 94).astype(np.int64)
    married = 1 / (1 + np.exp(-(age - 27 - 2 * (1 - sex)) / 4))
    widowed = 1 / (1 + np.exp(-(age - 82 + 8 * sex) / 6))
    draw = rng.random(count)
    status = np.where(
        draw < widowed, 3, np.where(draw < widowed + 0.07 * married, 2, np.where(draw < married, 1, 0))
    )
    school = np.clip(rng.normal(3.4 - np.abs(age - 35) / 30, 1.1, count), 0, 5).astype(np.int64)
    household = np.clip(rng.poisson(1.2 + (status == 1) + (age < 20), count), 0, 5)
    return np.column_stack([region, sex, age // 5, status, school, household])


def health_insurance() -> np.ndarray:
    """The persons of the RAND Health Insurance Experiment as a population of 5,912."""
    frame = pd.read_csv(Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv")
    persons = frame.sort_values("year").drop_duplicates("zper")
    age = (persons.xage // 5).astype(int)
    columns = [persons.site, persons.female, age, persons.educdec.round(), persons.plan]
    return np.column_stack([pd.factorize(column, sort=True)[0] for column in columns])


def married_women() -> np.ndarray:
    """The women of Fair's survey of marriages as a population of 6,366: seven answers of each."""
    frame = pd.read_csv(Path(statsmodels.__file__).parent / "datasets/fair/fair.csv")
    names = ["age", "yrs_married", "children", "religious", "educ", "occupation", "occupation_husb"]
    return np.column_stack([pd.factorize(frame[name], sort=True)[0] for name in names])


def lumpy(count: int, shape: tuple[int, ...], spread: float, seed: int) -> np.ndarray:
    """Main effects times noise in each cell that no model of interactions can know."""
    rng = np.random.default_rng(seed)
    chances = np.exp(rng.normal(0.0, spread, shape))
    for axis, categories in enumerate(shape):
        effect = np.exp(rng.normal(0.0, 0.9, categories))
        chances = chances * effect.reshape([-1 if place == axis else 1 for place in range(len(shape))])
    cells = rng.choice(chances.size, count, p=(chances / chances.sum()).reshape(-1))
    return np.column_stack(np.unravel_index(cells, shape)).astype(np.int64)


def four_way(seed: int) -> np.ndarray:
    """The fourth variable depends on the three before it together, and on nothing less."""
    rng = np.random.default_rng(seed)
    people = np.column_stack([rng.integers(0, size, 300_000) for size in (10, 12, 15)])
    chances = rng.dirichlet(np.full(20, 0.05), 1800).cumsum(axis=1)
    cell = np.ravel_multi_index(tuple(people.T), (10, 12, 15))
    fourth = (rng.random(300_000)[:, None] > chances[cell]).sum(axis=1).clip(max=19)
    return np.column_stack([people, fourth])


DEVELOPMENT = (
    Scenario("classes, 6 keys, 1%", lambda: classes(400_000, (3, 4, 6, 9, 10, 6), 5, 306), equal(0.01)),
    Scenario("classes, 5 keys, 2%", lambda: classes(250_000, (3, 6, 9, 12, 20), 6, 101), equal(0.02)),
    Scenario("classes, 7 keys, 3%", lambda: classes(150_000, (2, 3, 4, 5, 7, 8, 10), 10, 103), equal(0.03)),
    Scenario("chain, 4 keys, 1%", lambda: chained(500_000, (10, 12, 15, 20), 1.0, 107), equal(0.01)),
    Scenario("chain, 6 keys, 2%", lambda: chained(250_000, (2, 5, 6, 6, 9, 9), 1.5, 303), equal(0.02)),
    Scenario("chain, 6 keys, 3%", lambda: chained(200_000, (2, 4, 6, 7, 8, 9), 1.2, 301), equal(0.03)),
    Scenario("tight chain, 6 keys, 3%", lambda: chained(150_000, (3, 4, 5, 6, 8, 10), 0.8, 302), equal(0.03)),
    Scenario("chain, 5 keys, 5%", lambda: chained(80_000, (4, 6, 9, 10, 12), 1.0, 304), equal(0.05)),
    Scenario("chain, 5 keys, 10%", lambda: chained(60_000, (5, 6, 9, 10, 9), 3.0, 305), equal(0.1)),
    Scenario("lumpy, 5 keys, 2%", lambda: lumpy(300_000, (3, 5, 8, 10, 12), 0.6, 307), equal(0.02)),
    Scenario("lumpy, 4 keys, 5%", lambda: lumpy(120_000, (8, 10, 12, 16), 1.0, 308), equal(0.05)),
    Scenario("four-way, 4 keys, 1%", lambda: four_way(316), equal(0.01)),
    Scenario("household survey, 1%", lambda: household_survey(600_000, 309), equal(0.01)),
    Scenario(
        "household survey, 1 to 10%", lambda: household_survey(250_000, 314), by_first_variable(0.01, 0.1)
    ),
    Scenario(
        "classes, 4 keys, 2 or 20%", lambda: classes(250_000, (8, 6, 5, 12), 6, 310), by_half(0.02, 0.2)
    ),
    Scenario(
        "classes, 5 keys, 1 or 5%", lambda: classes(250_000, (8, 5, 6, 8, 6), 8, 311), by_half(0.01, 0.05)
    ),
    Scenario(
        "classes, 5 keys, 2 to 20%",
        lambda: classes(120_000, (12, 5, 6, 8, 10), 7, 312),
        by_first_variable(0.02, 0.2),
    ),
    Scenario(
        "chain, 5 keys, 1 to 10%",
        lambda: chained(150_000, (10, 5, 7, 8, 8), 2.0, 313),
        by_first_variable(0.01, 0.1),
    ),
    Scenario(
        "lumpy, 4 keys, 1 to 10%",
        lambda: lumpy(150_000, (12, 8, 10, 12), 0.7, 315),
        by_first_variable(0.01, 0.1),
    ),
    Scenario("RAND persons, 10%", health_insurance, equal(0.1)),
    Scenario("RAND persons, 33%", health_insurance, equal(0.33)),
    Scenario("RAND persons, 66%", health_insurance, equal(0.66)),
)
"""Those that decided the present form of the estimate."""

FORMER = (
    Scenario("classes, 6 keys, 1%", lambda: classes(400_000, (2, 4, 7, 9, 11, 5), 4, 201), equal(0.01)),
    Scenario("classes, 6 keys, 5%", lambda: classes(120_000, (3, 5, 6, 8, 10, 6), 12, 202), equal(0.05)),
    Scenario("classes, 4 keys, 20%", lambda: classes(60_000, (6, 14, 20, 25), 5, 203), equal(0.2)),
    Scenario("chain, 5 keys, 1%", lambda: chained(600_000, (3, 8, 9, 11, 14), 2.0, 204), equal(0.01)),
    Scenario("chain, 6 keys, 3%", lambda: chained(200_000, (2, 4, 6, 7, 8, 9), 1.2, 205), equal(0.03)),
    Scenario("chain, 5 keys, 10%", lambda: chained(80_000, (4, 7, 9, 10, 8), 4.0, 206), equal(0.1)),
    Scenario("lumpy, 5 keys, 2%", lambda: lumpy(300_000, (3, 6, 8, 9, 12), 0.5, 207), equal(0.02)),
    Scenario("lumpy, 4 keys, 5%", lambda: lumpy(150_000, (8, 10, 14, 16), 1.0, 208), equal(0.05)),
    Scenario("household survey, 1%", lambda: household_survey(700_000, 209), equal(0.01)),
    Scenario("household survey, 5%", lambda: household_survey(150_000, 210), equal(0.05)),
    Scenario(
        "household survey, 0.7 to 8%", lambda: household_survey(250_000, 211), by_first_variable(0.007, 0.08)
    ),
    Scenario(
        "classes, 5 keys, 2 to 30%",
        lambda: classes(90_000, (10, 5, 6, 9, 12), 7, 212),
        by_first_variable(0.02, 0.3),
    ),
    Scenario("RAND persons, 20%", health_insurance, equal(0.2)),
    Scenario("RAND persons, 50%", health_insurance, equal(0.5)),
)
"""Held out from the first form of the estimate, and seen since."""

HELD_OUT = (
    Scenario("classes, 6 keys, 1%", lambda: classes(450_000, (2, 5, 6, 8, 12, 5), 5, 401), equal(0.01)),
    Scenario("classes, 5 keys, 5%", lambda: classes(100_000, (4, 7, 9, 10, 9), 9, 402), equal(0.05)),
    Scenario("classes, 4 keys, 20%", lambda: classes(50_000, (8, 12, 18, 24), 6, 403), equal(0.2)),
    Scenario("chain, 5 keys, 1%", lambda: chained(500_000, (4, 7, 9, 10, 13), 1.5, 404), equal(0.01)),
    Scenario("chain, 6 keys, 3%", lambda: chained(180_000, (2, 4, 5, 7, 9, 10), 1.0, 405), equal(0.03)),
    Scenario("chain, 5 keys, 10%", lambda: chained(70_000, (4, 6, 8, 10, 10), 3.0, 406), equal(0.1)),
    Scenario("lumpy, 5 keys, 2%", lambda: lumpy(250_000, (3, 6, 7, 10, 11), 0.5, 407), equal(0.02)),
    Scenario("lumpy, 4 keys, 5%", lambda: lumpy(140_000, (9, 10, 13, 15), 0.9, 408), equal(0.05)),
    Scenario("household survey, 1%", lambda: household_survey(650_000, 409), equal(0.01)),
    Scenario("household survey, 5%", lambda: household_survey(160_000, 410), equal(0.05)),
    Scenario(
        "household survey, 0.7 to 8%", lambda: household_survey(240_000, 411), by_first_variable(0.007, 0.08)
    ),
    Scenario(
        "classes, 5 keys, 2 to 30%",
        lambda: classes(100_000, (10, 5, 7, 8, 11), 8, 412),
        by_first_variable(0.02, 0.3),
    ),
    Scenario(
        "chain, 5 keys, 1 to 8%",
        lambda: chained(160_000, (9, 6, 6, 8, 9), 2.0, 413),
        by_first_variable(0.01, 0.08),
    ),
    Scenario("Fair's women, 20%", married_women, equal(0.2)),
    Scenario("Fair's women, 50%", married_women, equal(0.5)),
)
"""Populations that nobody had looked at before the estimate had its form."""

SETS = {"development": DEVELOPMENT, "former": FORMER, "held-out": HELD_OUT}
