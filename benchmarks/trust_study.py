"""Which estimate of tau_2 to trust: a simulation study on populations whose F_k are known.

`python benchmarks/trust_study.py [SAMPLES]` draws so many samples (200) of each held-out scenario, estimates,
compares with the sum of 1/F_k over the sample's own uniques, and prints the table in Markdown for
docs/methods/which-estimate.md. The estimate got its form on other populations (`development`).
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels

from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.recommendation import recommend

THRESHOLD = 0.05
HEADER = (
    "scenario",
    "true tau_2",
    "recommended: median abs.",
    "90th pct.",
    "below by > 20%",
    "interval holds",
    "design-based: median",
    "main effects",
    "all two-way",
    "type I / II",
    "type I / II, design",
)


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


def lumpy(count: int, shape: tuple[int, ...], spread: float, seed: int) -> np.ndarray:
    """Main effects times noise in each cell that no model of interactions can know."""
    rng = np.random.default_rng(seed)
    chances = np.exp(rng.normal(0.0, spread, shape))
    for axis, categories in enumerate(shape):
        effect = np.exp(rng.normal(0.0, 0.9, categories))
        chances = chances * effect.reshape([-1 if place == axis else 1 for place in range(len(shape))])
    cells = rng.choice(chances.size, count, p=(chances / chances.sum()).reshape(-1))
    return np.column_stack(np.unravel_index(cells, shape)).astype(np.int64)


DEVELOPMENT = (
    Scenario("classes, 5 keys, 2%", lambda: classes(250_000, (3, 6, 9, 12, 20), 6, 101), equal(0.02)),
    Scenario("classes, 7 keys, 3%", lambda: classes(150_000, (2, 3, 4, 5, 7, 8, 10), 10, 103), equal(0.03)),
    Scenario("chain, 4 keys, 1%", lambda: chained(500_000, (10, 12, 15, 20), 1.0, 107), equal(0.01)),
    Scenario("RAND persons, 10%", health_insurance, equal(0.1)),
)
"""Some of those that decided the form of the estimate: `trust_study.py SAMPLES development` runs them."""

HELD_OUT = (
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
"""Populations that were not looked at before the estimate had its form."""


def run(scenario: Scenario, samples: int, rng: np.random.Generator) -> np.ndarray:
    """For each sample: truth, recommended, low, high, the five candidates; then errors at the threshold."""
    people = scenario.population()
    inclusion = scenario.inclusion(people)
    keys = group_keys(people)
    size = keys.counts[keys.group]
    rows = []
    for _ in range(samples):
        chosen = rng.random(len(people)) < inclusion
        found = recommend(people[chosen], 1.0 / inclusion[chosen])
        own = group_keys(people[chosen])
        true = 1.0 / size[chosen][own.first]
        single = own.counts == 1
        sums = np.bincount(own.group, 1.0 / inclusion[chosen])
        design = individual_risk(own.counts, np.minimum(own.counts / sums, 1.0))
        rows.append(
            [
                true[single].sum(),
                found.tau_2,
                *found.interval,
                *(candidate.tau_2 for candidate in found.candidates),
                *_errors(true, found.risks, own.counts),
                *_errors(true, design, own.counts),
            ]
        )
    return np.array(rows)


def _errors(true: np.ndarray, estimated: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """Share of safe records that are called risky, and of risky ones that are called safe."""
    risky, called = true >= THRESHOLD, estimated >= THRESHOLD
    first = counts[~risky & called].sum() / max(1, counts[~risky].sum())
    second = counts[risky & ~called].sum() / max(1, counts[risky].sum())
    return float(first), float(second)


def main() -> None:
    """Print both tables."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    scenarios = DEVELOPMENT if "development" in sys.argv else HELD_OUT
    rng = np.random.default_rng(2026)
    print(f"{samples} samples a scenario; relative errors of tau_2\n")
    print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}")
    everything = []
    for scenario in scenarios:
        rows = run(scenario, samples, rng)
        everything.append(rows)
        print(_line(scenario.name, rows), flush=True)
    print(_line("all", np.concatenate(everything)))


def _line(name: str, rows: np.ndarray) -> str:
    true = rows[:, 0]
    error = rows[:, 1] / true - 1
    holds = np.mean((rows[:, 2] <= true) & (true <= rows[:, 3]))
    design, simple, pairs = (np.median(rows[:, place] / true - 1) for place in (4, 5, 6))
    rates = rows[:, 9:].mean(axis=0)
    middle, high = np.quantile(np.abs(error), [0.5, 0.9])
    return (
        f"| {name} | {true.mean():.0f} | {middle:.1%} | {high:.1%} "
        f"| {np.mean(error < -0.2):.0%} | {holds:.0%} | {design:+.0%} | {simple:+.0%} | {pairs:+.0%} "
        f"| {rates[0]:.1%} / {rates[1]:.1%} | {rates[2]:.1%} / {rates[3]:.1%} |"
    )


if __name__ == "__main__":
    main()
