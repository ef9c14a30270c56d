"""Small public files with the figures that other programs computed on them; see reference/data/README.md."""

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "reference" / "data"


def read_columns(name: str) -> dict[str, np.ndarray]:
    """The columns of reference/data/<name>.csv as numbers."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {column: np.array([float(row[column]) for row in rows]) for column in rows[0]}


def code_columns(columns: dict[str, np.ndarray], names: list[str]) -> np.ndarray:
    """The named columns as codes, shape (records, keys)."""
    coded = [np.unique(columns[name], return_inverse=True)[1] for name in names]
    return np.column_stack(coded).astype(np.int64)
