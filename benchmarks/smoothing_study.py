"""Should the risk be smoothed where keys are ordered? A simulation study on populations whose F_k are known.

`python benchmarks/smoothing_study.py [SAMPLES]` draws so many samples (40) of each scenario, and prints the
errors of tau_2 by the recommended estimate, by smoothing along the ordered keys, by the forward search and by
main effects as a table in Markdown for docs/methods/which-estimate.md. Smoothing got its form on others.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.risk.forward_search import forward_search
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.loglinear import fit, key_table, main_effects, risk
from sdcgate.methods.risk.recommendation import recommend
from sdcgate.methods.risk.smoothing import smooth, smoothed_risk
from trust_populations import health_insurance, household_survey

HEADER = (
    "scenario",
    "true tau_2",
    "recommended: median abs.",
    "90th pct.",
    "smoothed: median abs.",
    "90th pct.",
    "median",
    "below by > 20%",
    "tau_1: median",
    "forward search: median abs.",
    "90th pct.",
    "main effects: median",
)


@dataclass(frozen=True)
class Ordered:
    """A population, which of its key variables are ordered, and the sampling fraction."""

    name: str
    population: Callable[[], np.ndarray]
    ordinal: tuple[int, ...]
    fraction: float


def scattered(count: int, ordinal: tuple[int, ...], nominal: tuple[int, ...], seed: int) -> np.ndarray:
    """Six classes whose ordered values scatter about middles of their own; nominal ones by class."""
    rng = np.random.default_rng(seed)
    of_class = rng.choice(6, count, p=rng.dirichlet(np.full(6, 3.0)))
    columns = []
    for categories in ordinal:
        middle, spread = rng.uniform(0.1, 0.9, 6) * categories, rng.uniform(0.05, 0.2, 6) * categories
        columns.append(np.clip(np.rint(rng.normal(middle[of_class], spread[of_class])), 0, categories - 1))
    for categories in nominal:
        chances = rng.dirichlet(np.ones(categories), 6).cumsum(axis=1)
        columns.append((rng.random(count)[:, None] > chances[of_class]).sum(axis=1).clip(max=categories - 1))
    return np.column_stack(columns).astype(np.int64)


def correlated(count: int, shape: tuple[int, ...], correlation: float, seed: int) -> np.ndarray:
    """Normal variables with one correlation, cut into bands of unequal width: all keys are ordered."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=count)
    columns = []
    for categories in shape:
        value = np.sqrt(correlation) * hidden + np.sqrt(1 - correlation) * rng.normal(size=count)
        cuts = np.sort(rng.normal(0, 1.2, categories - 1))
        columns.append(np.searchsorted(cuts, value))
    return np.column_stack(columns)


SCENARIOS = (
    Ordered("scattered, 3 of 5 keys ordered, 2%",
            lambda: scattered(250_000, (18, 14, 9), (2, 5), 301), (0, 1, 2), 0.02),
    Ordered("scattered, 2 of 5, 1%",
            lambda: scattered(500_000, (70, 12), (2, 6, 7), 302), (0, 1), 0.01),
    Ordered("scattered, 4 of 4, 5%",
            lambda: scattered(120_000, (20, 15, 9, 8), (), 303), (0, 1, 2, 3), 0.05),
    Ordered("correlated, 4 of 4, 2%",
            lambda: correlated(250_000, (20, 12, 10, 8), 0.5, 304), (0, 1, 2, 3), 0.02),
    Ordered("correlated, 5 of 5, 10%",
            lambda: correlated(60_000, (10, 9, 8, 7, 6), 0.6, 305), (0, 1, 2, 3, 4), 0.1),
    Ordered("household survey, 3 of 6, 1%", lambda: household_survey(700_000, 209), (2, 4, 5), 0.01),
    Ordered("household survey, 3 of 6, 5%", lambda: household_survey(150_000, 210), (2, 4, 5), 0.05),
    Ordered("RAND persons, 2 of 5, 50%", health_insurance, (2, 3), 0.5),
)  # fmt: skip
"""Populations that were not looked at before smoothing had its form."""


def run(scenario: Ordered, samples: int, rng: np.random.Generator) -> np.ndarray:
    """For each sample: tau_2, then its estimates; tau_1 smoothed over the true one."""
    people = scenario.population()
    keys = group_keys(people)
    size = keys.counts[keys.group]
    rows = []
    for _ in range(samples):
        chosen = rng.random(len(people)) < scenario.fraction
        table = key_table(people[chosen], fraction=scenario.fraction)
        sizes = size[chosen][table.keys.first][table.keys.counts == 1]
        smoothed = smoothed_risk(smooth(people[chosen], scenario.ordinal, fraction=scenario.fraction))
        simple = fit(table, main_effects(len(table.shape)))
        rows.append(
            [
                (1 / sizes).sum(),
                recommend(people[chosen], fraction=scenario.fraction).tau_2,
                smoothed.tau_2,
                risk(table, forward_search(table, start=simple).model).tau_2,
                risk(table, simple).tau_2,
                smoothed.tau_1 / max(1, (sizes == 1).sum()),
            ]
        )
    return np.array(rows)


def main() -> None:
    """Print the table."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    rng = np.random.default_rng(2027)
    print(f"{samples} samples a scenario; relative errors of tau_2\n")
    print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}")
    everything = []
    for scenario in SCENARIOS:
        everything.append(run(scenario, samples, rng))
        print(_line(scenario.name, everything[-1]), flush=True)
    print(_line("all", np.concatenate(everything)))


def _line(name: str, rows: np.ndarray) -> str:
    true = rows[:, 0]
    recommended, smoothed, searched, simple = (rows[:, place] / true - 1 for place in range(1, 5))

    def sizes(error: np.ndarray) -> str:
        middle, high = np.quantile(np.abs(error), [0.5, 0.9])
        return f"{middle:.1%} | {high:.1%}"

    return (
        f"| {name} | {true.mean():.0f} | {sizes(recommended)} | {sizes(smoothed)} "
        f"| {np.median(smoothed):+.1%} | {np.mean(smoothed < -0.2):.0%} "
        f"| {np.median(rows[:, 5]) - 1:+.0%} | {sizes(searched)} "
        f"| {np.median(simple):+.0%} |"
    )


if __name__ == "__main__":
    main()
