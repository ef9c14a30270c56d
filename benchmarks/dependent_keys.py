"""Models of keys that hang together: all two-way interactions of 20 million possible keys, and smoothing.

Other seconds or megabytes than a minute and 2 GiB are the figures to reach; smoothing is to take seconds.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from run import Result, median_ms, result
from sdcgate.methods.risk.loglinear import all_two_way, criteria, fit, key_table, main_effects, risk
from sdcgate.methods.risk.smoothing import smooth, smoothed_risk

WIDE = (6, 8, 10, 4, 12, 5, 20, 9)
MILLION = 1_000_000
ORDERED = (60, 16, 12, 10)
NOMINAL = (2, 8)
PERSONS = 100_000


def dependent_keys() -> list[Result]:
    """20,736,000 possible keys, 0.7 million of which occur; 6 keys of which four are ordered."""
    codes, ordered = by_class(WIDE), scattered()
    said = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    wide = median_ms(lambda: two_way(codes), runs=3)
    near = median_ms(lambda: smoothed_risk(smooth(ordered, (0, 1, 2, 3), fraction=0.05)), runs=3)
    name = "all two-way of 20.7 million possible keys"
    return [
        result(f"{name}, with risk and criteria", MILLION, wide, 60_000, "theirs: one minute, to reach"),
        result(f"memory of the process, {name}", MILLION, float(said.stdout), 2048, "theirs: 2 GiB", "MB"),
        result("smoothing along 4 of 6 keys", PERSONS, near, 10_000, "theirs: ten seconds, to reach"),
    ]


def by_class(shape: tuple[int, ...]) -> np.ndarray:
    """Keys of a million records in six classes, within which they are independent of each other."""
    rng = np.random.default_rng(1)
    of_class = rng.integers(0, 6, MILLION)
    codes = np.empty((MILLION, len(shape)), dtype=np.int64)
    for variable, categories in enumerate(shape):
        chances = rng.dirichlet(np.full(categories, 0.6), 6).cumsum(axis=1)
        drawn = (rng.random(MILLION)[:, None] > chances[of_class]).sum(axis=1)
        codes[:, variable] = drawn.clip(max=categories - 1)
    return codes


def scattered() -> np.ndarray:
    """Four ordered keys that scatter about the middles of four classes, and two nominal ones."""
    rng = np.random.default_rng(5)
    of_class = rng.choice(4, PERSONS, p=[0.4, 0.3, 0.2, 0.1])
    columns = []
    for categories in ORDERED:
        middle, spread = rng.uniform(0.15, 0.85, 4) * categories, rng.uniform(0.06, 0.15, 4) * categories
        columns.append(np.clip(np.rint(rng.normal(middle[of_class], spread[of_class])), 0, categories - 1))
    for categories in NOMINAL:
        chances = rng.dirichlet(np.ones(categories), 4).cumsum(axis=1)
        columns.append(
            (rng.random(PERSONS)[:, None] > chances[of_class]).sum(axis=1).clip(max=categories - 1)
        )
    return np.column_stack(columns).astype(np.int64)


def two_way(codes: np.ndarray) -> float:
    """tau_2 with its criteria under all two-way interactions."""
    table = key_table(codes, fraction=0.05)
    simple = fit(table, main_effects(codes.shape[1]))
    model = fit(table, all_two_way(codes.shape[1]), start=simple)
    if not model.converged:
        raise RuntimeError("the margins are not met")
    criteria(table, model)
    return risk(table, model).tau_2


if __name__ == "__main__":
    two_way(by_class(WIDE))
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
