"""Two engines with the same data, asked the same: made-up files, random questions, all figures compared."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from sdcgate.engine import CellQuery, Condition, Dataset, Engine, Region, parse_descriptor
from sdcgate.engine.queries import RecordsQuery
from sdcgate.methods.rules import Contributions, NegativeValues

REGIONS, AGES, JOBS = ("north", "south", "west"), 12, ("a", "b")
LEVELS = (("region", ""), ("sex", ""), ("age", "years"), ("age", "bands"), ("job", ""))
MEASURES = ("x", "y")
LARGEST = {"x": 1e12, "w": 1e5}
"""Products of these, with their decimals, do not fit in 64 bits."""


def same(one: Any, other: Any, where: str = "") -> None:
    """Every figure of two answers is the same, to the last bit."""
    assert type(one) is type(other), where
    if is_dataclass(one):
        for field in fields(one):
            same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            same(mine, theirs, f"{where}[{place}]")
    elif isinstance(one, Mapping):
        assert one.keys() == other.keys(), where
        for name in one:
            same(one[name], other[name], f"{where}[{name!r}]")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where, strict=True)
    else:
        assert one == other, where


@st.composite
def files(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Records of a few persons and their descriptor, of all kinds that an engine treats in its own way."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    units, most = draw(st.integers(1, 40)), draw(st.sampled_from([1, 3]))
    magnitude = {name: draw(st.sampled_from([100.0, bound])) for name, bound in LARGEST.items()}
    rows = [
        {**person, **_record(rng, magnitude["x"])}
        for person in (_person(rng, unit, magnitude["w"]) for unit in range(units))
        for _ in range(rng.integers(1, most + 1))
    ]
    declared = _declared(signed=draw(st.booleans()))
    if not draw(st.booleans()):
        del declared["weight"]
    declared["household"] = draw(st.sampled_from([None, {"column": "h"}, {"size_column": "size"}]))
    if draw(st.booleans()):
        declared["holding"] = {"column": "company"}
    if draw(st.booleans()):
        declared["waiver"] = {"column": "agreed", "codes": ["yes"]}
    frame = pd.DataFrame(rows)
    if declared["measures"][0].get("lower_bound") == 0:
        frame["x"] = frame["x"].abs()
    return frame, declared


def _person(rng: np.random.Generator, unit: int, heaviest: float) -> dict[str, Any]:
    return {
        "id": f"p{unit}",
        "region": rng.choice([*REGIONS, None]),
        "sex": rng.choice(["f", "m"]),
        "w": round(float(rng.uniform(0.001, heaviest)), 3),
        "size": rng.choice([0, 1, 2, 3, 7]) if unit else 2,
        "company": rng.choice(["c1", "c2", "c3", None]),
    }


def _record(rng: np.random.Generator, largest: float) -> dict[str, Any]:
    return {
        "age": rng.choice([*range(AGES), None]),
        "job": rng.choice([*JOBS, None]),
        "h": rng.choice(["1", "2", "3", None]),
        "agreed": rng.choice(["yes", None]),
        "x": np.nan if rng.random() < 0.2 else round(float(rng.normal(0, largest / 4)), 2),
        "y": int(rng.integers(0, 9)),
    }


def _declared(signed: bool) -> dict[str, Any]:
    def listed(*codes: str) -> list[dict[str, str]]:
        return [{"code": code} for code in codes]

    ages = [{"name": "years", "integers": {"first": 0, "last": AGES - 1}}, {"name": "bands", "band_width": 5}]
    varies = {"identifying": "YES", "varies_within_unit": True}
    return {
        "name": "people",
        "source": "people",
        "data": {"path": "people.csv"},
        "unit": {"column": "id"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.25},
        "weight": {"column": "w", "decimals": 3},
        "variables": [
            {"name": "region", "identifying": "YES", "levels": [{"codes": listed(*REGIONS)}]},
            {"name": "sex", "identifying": "YES", "levels": [{"codes": listed("f", "m")}]},
            {"name": "age", "floor": True, "levels": ages, **varies},
            {"name": "job", "levels": [{"codes": listed(*JOBS)}], **varies},
        ],
        "measures": [
            {"name": "x", "decimals": 2, "lower_bound": -LARGEST["x"] * 2 if signed else 0},
            {"name": "y"},
        ],
    }


class TwoEngines:
    """Engines that read the same files."""

    def __init__(self, folder: Path, one: Engine, other: Engine) -> None:
        self._file = folder / "people.csv"
        self.engines = one, other

    def register(self, frame: pd.DataFrame, declared: dict[str, Any]) -> tuple[Dataset, Dataset]:
        frame.to_csv(self._file, index=False)
        one, other = (engine.register(parse_descriptor(declared)).dataset for engine in self.engines)
        assert one.content_hash == other.content_hash
        return one, other

    def agree(self, datasets: tuple[Dataset, Dataset], method: str, *asked: Any) -> None:
        """Both answer a question about their dataset the same."""
        answers = [
            getattr(engine, method)(dataset, *asked)
            for engine, dataset in zip(self.engines, datasets, strict=True)
        ]
        same(*answers, method)

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


def measures() -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(MEASURES), unique=True).map(tuple)


def conditions() -> st.SearchStrategy[tuple[Condition, ...]]:
    codes = {
        ("region", ""): (*REGIONS, "_U"),
        ("age", "years"): (*map(str, range(AGES)), "_U"),
        ("age", "bands"): ("0-4", "5-9", "10-11", "_U"),
        ("job", ""): (*JOBS, "_U"),
    }
    one = st.sampled_from(sorted(codes)).flatmap(
        lambda level: st.lists(st.sampled_from(codes[level]), min_size=1, unique=True).map(
            lambda chosen: Condition(*level, tuple(chosen))
        )
    )
    return st.lists(one, max_size=2).map(tuple)


def tables() -> st.SearchStrategy[CellQuery]:
    """Questions for a table."""
    dimensions = st.lists(st.sampled_from(LEVELS), max_size=3, unique_by=lambda level: level[0]).map(tuple)
    return st.builds(
        CellQuery,
        dimensions=dimensions,
        filters=conditions(),
        measures=measures(),
        ranks=st.integers(1, 3),
        contributions=st.builds(Contributions, st.sampled_from(list(NegativeValues)), st.booleans()),
        valid=st.sampled_from([(), ("x",)]),
        keyed=st.booleans(),
    )


def regions() -> st.SearchStrategy[list[Region]]:
    """Regions of records: unions of boxes without others."""
    sizes = {"region": len(REGIONS) + 1, "sex": 3, "age": AGES + 1, "job": len(JOBS) + 1, "measure:x": 2}
    restriction = st.sampled_from(sorted(sizes)).flatmap(
        lambda name: st.tuples(st.just(name), st.integers(1, 2 ** sizes[name] - 1))
    )
    box = st.lists(restriction, max_size=2, unique_by=lambda one: one[0]).map(lambda one: tuple(sorted(one)))
    boxes = st.lists(box, max_size=2).map(tuple)
    return st.lists(st.builds(Region, boxes, boxes), min_size=1, max_size=4)


def records() -> st.SearchStrategy[RecordsQuery]:
    """Questions for records, as models ask them."""
    levels = st.lists(st.sampled_from(LEVELS), unique=True).map(tuple)
    return st.builds(RecordsQuery, levels=levels, measures=measures(), filters=conditions())
