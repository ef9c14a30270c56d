"""Seeded people with keys, households and weights: the file on which sdcMicro 5.8.1 was timed.

hid and hsize (households of 1 to 6), k1 to k8 (2, 5, 8, 9, 15, 4, 20 and 90 categories, skewed; k7 is the
household's region, k8 an age) and w (a weight that depends on k1). Seed and order of the draws decide the
peer's check sums.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CATEGORIES = (2, 5, 8, 9, 15, 4, 20, 90)
SEED = 20260101


def make(n: int) -> dict[str, np.ndarray]:
    """Columns of n people."""
    rng = np.random.default_rng(SEED)
    sizes = rng.choice([1, 2, 3, 4, 5, 6], size=n, p=[0.35, 0.31, 0.14, 0.13, 0.05, 0.02])
    hid = np.repeat(np.arange(1, n + 1), sizes)[:n]
    household = np.cumsum(np.r_[True, hid[1:] != hid[:-1]]) - 1
    columns = {"hid": hid, "hsize": np.bincount(household)[household]}
    for number, categories in enumerate(CATEGORIES, start=1):
        shares = 1.0 / np.arange(1, categories + 1) ** (1.0 if categories > 2 else 0.1)
        shares /= shares.sum()
        if number == 7:
            values = (rng.choice(categories, size=household[-1] + 1, p=shares) + 1)[household]
        elif number == 8:
            values = np.clip(rng.normal(42, 22, n).astype(int), 0, 89) + 1
        else:
            values = rng.choice(categories, size=n, p=shares) + 1
        columns[f"k{number}"] = values
    columns["w"] = np.round(rng.gamma(4.0, 25.0 / 4, n) * (1 + 0.5 * (columns["k1"] == 2)) + 1.0, 3)
    return columns


def key_codes(columns: dict[str, np.ndarray], keys: int) -> np.ndarray:
    """Codes of k1 to k<keys>, shape (n, keys)."""
    return np.column_stack([columns[f"k{number}"] - 1 for number in range(1, keys + 1)])


def write(n: int, path: Path) -> None:
    """The people as a Parquet file."""
    pq.write_table(pa.table(make(n)), path)
