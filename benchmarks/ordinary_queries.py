"""A stream of ordinary queries on a dataset, all different, the same for the same seed.

What people ask of a table builder: tables of one to three variables at coarse levels, counts or percentages
in most of them, a mean or a sum in some, all records in two thirds, else one group or a few.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

FEW_CODES, SOME_CODES = 8, 26
COUNTS = ("UNITS", "RECORDS", "ROW_PERCENT", "COLUMN_PERCENT", "TOTAL_PERCENT")


def ordinary_queries(dataset: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Bodies of table queries on a dataset as `GET /v1/datasets/{dataset}` describes it, for ever."""
    rng = np.random.default_rng(seed)
    levels = {
        variable["name"]: [(level["name"], level["codes"]) for level in variable["levels"]]
        for variable in dataset["variables"]
    }
    measures = [measure["name"] for measure in dataset.get("measures", ())]
    seen: set[str] = set()
    while True:
        body = _query(rng, levels, measures)
        spelt = json.dumps(body, sort_keys=True)
        if spelt not in seen:
            seen.add(spelt)
            yield body


def _query(rng: np.random.Generator, levels: dict[str, Any], measures: list[str]) -> dict[str, Any]:
    names = list(levels)
    count = min(len(names), int(rng.choice([1, 2, 3], p=[0.25, 0.5, 0.25])))
    chosen = [str(name) for name in rng.choice(names, count, replace=False)]
    groups: dict[str, list[dict[str, str]]] = {"rows": [], "columns": [], "layers": []}
    for name, group in zip(chosen, groups.values(), strict=False):
        group.append({"variable": name, "level": _level(rng, levels[name])[0]})
    filters = int(rng.choice([0, 1, 2], p=[0.65, 0.28, 0.07]))
    filtered = [str(name) for name in rng.choice(names, min(filters, len(names)), replace=False)]
    return {
        **groups,
        "figures": _figures(rng, count, measures),
        "filter": [_condition(rng, name, levels[name]) for name in filtered],
        "margins": bool(rng.random() < 0.8),
    }


def _level(rng: np.random.Generator, levels: list[tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    """A level, the coarse ones more often."""
    weights = np.array([1.0 if len(codes) <= FEW_CODES else 0.2 for _, codes in levels])
    weights[[len(codes) > SOME_CODES for _, codes in levels]] = 0.02
    return levels[int(rng.choice(len(levels), p=weights / weights.sum()))]


def _figures(rng: np.random.Generator, dimensions: int, measures: list[str]) -> list[dict[str, str]]:
    usual = [name for name in COUNTS if name != "ROW_PERCENT" or dimensions > 1]
    figures = [{"statistic": str(rng.choice(usual, p=_mostly_first(len(usual))))}]
    if measures and rng.random() < 0.35:
        statistic = str(rng.choice(["MEAN", "SUM"], p=[0.75, 0.25]))
        figures.append({"statistic": statistic, "measure": str(rng.choice(measures))})
    return figures


def _mostly_first(count: int) -> np.ndarray:
    """Six times in ten the first, else any of the others."""
    return np.array([0.6, *[0.4 / (count - 1)] * (count - 1)])


def _condition(rng: np.random.Generator, name: str, levels: list[tuple[str, list[Any]]]) -> dict[str, Any]:
    """One code of a coarse level, or a few."""
    level, codes = _level(rng, levels)
    valid = [code["code"] if isinstance(code, dict) else code for code in codes]
    valid = [code for code in valid if code != "_U"]
    size = 1 if rng.random() < 0.7 else min(len(valid), int(rng.integers(2, 4)))
    listed = sorted(str(code) for code in rng.choice(valid, size, replace=False))
    return {"variable": name, "level": level, "codes": listed}
