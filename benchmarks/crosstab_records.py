"""Seeded records for timing tables: region, industry, sex, age_group, size_class, income, weight.

    python benchmarks/crosstab_records.py [--per-unit 3] FOLDER [RECORDS ...]

writes FOLDER/crosstab_<records>_<per unit>.parquet and the descriptor beside it. Categories are uneven, so
that some cells of region x industry x age_group are small. With one record per unit, columns and values are
those of every version of this generator (seed 20260101). With three, region, sex, age_group and weight are
those of the unit's first record; industry, size_class and income change from record to record.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

SEED = 20260101
CATEGORIES = {"region": ("R", 10), "industry": ("I", 20), "age_group": ("A", 12), "size_class": ("S", 5)}
CONSTANT = ("region", "sex", "age_group", "weight")
VARYING = ("industry", "size_class")
NUMBERS = ("hours", "rent", "savings", "distance")


def make(n: int, per_unit: int = 1, seed: int = SEED) -> pd.DataFrame:
    """n records; column `unit` numbers the units, each of `per_unit` records in a row."""
    rng = np.random.default_rng(seed)

    def category(prefix: str, k: int, alpha: float) -> np.ndarray:
        p = np.arange(1, k + 1, dtype=float) ** (-alpha)
        p /= p.sum()
        labels = np.array([f"{prefix}{i:02d}" for i in range(1, k + 1)])
        return labels[rng.choice(k, size=n, p=p)]

    frame = pd.DataFrame(
        {
            "region": category("R", 10, 0.8),
            "industry": category("I", 20, 1.2),
            "sex": np.array(["F", "M"])[rng.choice(2, size=n, p=[0.51, 0.49])],
            "age_group": category("A", 12, 0.3),
            "size_class": category("S", 5, 1.0),
        }
    )
    base = (
        10.0
        + 0.15 * (frame["sex"] == "M").to_numpy()
        + 0.05 * frame["age_group"].str[1:].astype(int).to_numpy()
        + 0.10 * frame["size_class"].str[1:].astype(int).to_numpy()
    )
    frame["income"] = np.round(rng.lognormal(base - 0.6, 0.9), 2)
    frame["weight"] = np.round(rng.uniform(1, 50, n), 3)
    unit = np.arange(n) // per_unit
    frame.insert(0, "unit", unit)
    for column in CONSTANT if per_unit > 1 else ():
        frame[column] = frame[column].to_numpy()[unit * per_unit]
    return frame


def with_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """The records with four measures more, which rise with income and each other."""
    rng = np.random.default_rng(SEED + 1)
    common = np.log(frame["income"].to_numpy() + 1) + rng.normal(size=len(frame))
    noise = 30 * rng.normal(size=(len(NUMBERS), len(frame)))
    drawn = {
        name: np.round(100 + 8 * common + one, 2).clip(0) for name, one in zip(NUMBERS, noise, strict=True)
    }
    return frame.assign(**drawn)


def descriptor(name: str, path: str, per_unit: int = 1, weighted: bool = True) -> dict[str, Any]:
    """The descriptor of a file of these records."""
    codes = {
        name: [f"{prefix}{i:02d}" for i in range(1, k + 1)] for name, (prefix, k) in CATEGORIES.items()
    } | {"sex": ["F", "M"]}
    declared: dict[str, Any] = {
        "name": name,
        "label": "Generated records",
        "data": {"path": path},
        "unit": {"column": "unit", "label": "unit"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.04},
        "variables": [
            {
                "name": variable,
                "identifying": "YES",
                "varies_within_unit": per_unit > 1 and variable in VARYING,
                "levels": [{"codes": [{"code": code} for code in listed]}],
            }
            for variable, listed in codes.items()
        ],
        "measures": [{"name": "income", "decimals": 2, "lower_bound": 0, "upper_bound": 1e9}],
    }
    if weighted:
        declared["weight"] = {"column": "weight", "decimals": 3}
    return declared


def main() -> None:
    """Writes the files that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("records", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--per-unit", type=int, default=1)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for n in chosen.records:
        name = f"crosstab_{n}_{chosen.per_unit}"
        make(n, chosen.per_unit).to_parquet(chosen.folder / f"{name}.parquet", index=False)
        declared = descriptor(name, f"{name}.parquet", chosen.per_unit)
        (chosen.folder / f"{name}.yaml").write_text(yaml.safe_dump(declared, sort_keys=False))
        print(chosen.folder / f"{name}.parquet")


if __name__ == "__main__":
    main()
