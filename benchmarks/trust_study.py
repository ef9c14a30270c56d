"""Which estimate of tau_2 to trust: a simulation study on populations whose F_k are known.

`python benchmarks/trust_study.py [SAMPLES] [held-out|former|development]` draws so many samples (200) of each
scenario of a set (held-out), estimates, compares with the sum of 1/F_k over the sample's own uniques, and
prints the table in Markdown for docs/methods/which-estimate.md. The seed of a scenario is 2026 with its place
in the set, so that each can be repeated alone. The sets are in `trust_populations`.
"""

import sys

import numpy as np

from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.recommendation import recommend
from trust_populations import SETS, Scenario

SEED = 2026
THRESHOLDS = (0.05, 0.4)
"""Above the first, at most 20 people share a key; above the second at most 2."""
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
    *(f"type I / II at {threshold:.0%}{whose}" for threshold in THRESHOLDS for whose in ("", ", design")),
)


def run(scenario: Scenario, samples: int, rng: np.random.Generator) -> np.ndarray:
    """For each sample: truth, recommended, low, high, the five candidates; then errors at the thresholds."""
    people = scenario.population()
    inclusion = scenario.inclusion(people)
    keys = group_keys(people)
    size = keys.counts[keys.group]
    rows = []
    for _ in range(samples):
        chosen = rng.random(len(people)) < inclusion
        found = recommend(people[chosen], 1.0 / inclusion[chosen])
        own = group_keys(people[chosen])
        population = size[chosen][own.first]
        sums = np.bincount(own.group, 1.0 / inclusion[chosen])
        design = individual_risk(own.counts, np.minimum(own.counts / sums, 1.0))
        rows.append(
            [
                (1.0 / population)[own.counts == 1].sum(),
                found.tau_2,
                *found.interval,
                *(candidate.tau_2 for candidate in found.candidates),
                *(
                    rate
                    for threshold in THRESHOLDS
                    for risks in (found.risks, design)
                    for rate in _errors(1.0 / population, risks, own.counts, threshold)
                ),
            ]
        )
    return np.array(rows)


def _errors(
    true: np.ndarray, estimated: np.ndarray, counts: np.ndarray, threshold: float
) -> tuple[float, float]:
    """Share of safe records that are called risky, and of risky ones that are called safe; NaN of none."""
    risky, called = true >= threshold, estimated >= threshold
    return _share(counts, ~risky, called), _share(counts, risky, ~called)


def _share(counts: np.ndarray, of: np.ndarray, wrong: np.ndarray) -> float:
    total = counts[of].sum()
    return float(counts[of & wrong].sum() / total) if total else np.nan


def main() -> None:
    """Print the table."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    name = sys.argv[2] if len(sys.argv) > 2 else "held-out"
    print(f"{samples} samples a scenario, {name} set; relative errors of tau_2\n")
    print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}")
    everything = []
    for place, scenario in enumerate(SETS[name]):
        rows = run(scenario, samples, np.random.default_rng([SEED, place]))
        everything.append(rows)
        print(_line(scenario.name, rows), flush=True)
    print(_line("all", np.concatenate(everything)))


def _line(name: str, rows: np.ndarray) -> str:
    true = rows[:, 0]
    error = rows[:, 1] / true - 1
    holds = np.mean((rows[:, 2] <= true) & (true <= rows[:, 3]))
    design, simple, pairs = (np.median(rows[:, place] / true - 1) for place in (4, 5, 6))
    middle, high = np.quantile(np.abs(error), [0.5, 0.9])
    rates = [_percent(column) for column in rows[:, 9:].T]
    pairs_of_rates = " | ".join(
        f"{first} / {second}" for first, second in zip(rates[::2], rates[1::2], strict=True)
    )
    return (
        f"| {name} | {true.mean():.0f} | {middle:.1%} | {high:.1%} "
        f"| {np.mean(error < -0.2):.0%} | {holds:.0%} | {design:+.0%} | {simple:+.0%} | {pairs:+.0%} "
        f"| {pairs_of_rates} |"
    )


def _percent(rates: np.ndarray) -> str:
    """Their mean over the samples that have such records; a dash where none has."""
    known = rates[~np.isnan(rates)]
    return f"{known.mean():.1%}" if len(known) else "-"


if __name__ == "__main__":
    main()
