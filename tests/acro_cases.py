"""What two versions of ACRO say of 46 outputs, and files on which sdcgate can be asked the same.

Nobody may have the charities' records from here. Each of their cells has records that are made to have the
same number, sum, two largest values, least value and, of grants, variance: all that the rules look at.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

DATA = Path(__file__).parent / "reference" / "data"
MEASURES = ("inc_grants", "inc_total", "inc_activity", "grants_given", "assets")
YEARS = range(2010, 2016)
USUAL = {"units": 10, "largest": 2, "share": 0.9, "p": 0.1}
"""ACRO's default risk appetite."""
POLICY = """
name: acro{suffix}
version: "1"
description: ACRO's default risk appetite, on units.
defaults:
  rules:
    minimum_units: {{units: {units}, consequence: protect}}
    dominance:
      - {{largest: {largest}, share: {share}, consequence: protect}}
    p_percent: {{share: {p}, consequence: protect}}
    # ACRO's p% check flags a cell of zeros only.
    equal_values: {{tolerance: 0, consequence: protect}}
  dimensions: {{maximum: 3, maximum_filters: 3, filters_count: false, consequence: refer}}
  protection: {{method: suppression, sum_width: 0.1, time_limit_ms: 15000, unproved: refer}}
  output: {{digits: 2, maximum_cells: 100000}}
  differencing: {{consequence: refuse}}
  statistics:
    kinds: [VARIANCE, STANDARD_DEVIATION, PERCENTILES, MAXIMUM]
    significant_digits: 6
access_levels:
  remote: {{}}
"""
EDGE = {  # values of each group in column x; None is a missing one
    "n09": range(10, 19),
    "n10": range(10, 20),
    "n11": range(10, 21),
    "nk_eq90": [45, 45] + [1] * 10,
    "nk_below": [44, 44] + [1.2] * 10,
    "nk_above": [46, 46] + [0.8] * 10,
    "p_eq10": [100, 50] + [1] * 10,
    "p_below": [100, 50] + [0.9] * 10,
    "p_above": [100, 50] + [1.1] * 10,
    "one_dominates": [1000] + [1] * 19,
    "all_same": [7] * 12,
    "all_zero": [0] * 12,
    "mostly_missing": [5, 6, 7, 8, 9] + [None] * 15,
    "some_missing": [*range(5, 20), None, None],
}
"""The file that was made for the boundaries of rules; column y is harmless: 3 to 9 again and again."""
NURSERY = {  # recommendation of applications by the parents' occupation: great_pret, pretentious, usual
    "not_recom": (1440, 1440, 1440),
    "priority": (858, 1484, 1924),
    "recommend": (0, 0, 2),
    "spec_prior": (2022, 1264, 758),
    "very_recom": (0, 132, 196),
}
PARENTS = ("great_pret", "pretentious", "usual")


@dataclass(frozen=True)
class Case:
    """An output that was asked of both versions, and what they said."""

    name: str
    data: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: str
    how: tuple[str, ...]
    said: tuple[str, str]
    """Verdicts of 0.4.12 and 1.0.2; `error` where they cannot do it, `none` where they have no such thing."""
    flags: Mapping[str, tuple[str | None, str | None]]
    """Rules that cells break by either version, by their codes; None where it says nothing of cells."""
    filter: Mapping[str, list[str]] = field(default_factory=dict)
    margins: bool = False
    normalize: str = ""
    session: str = ""
    rules: Mapping[str, float] = field(default_factory=dict)

    @property
    def policy(self) -> str:
        """The policy with the thresholds of the case."""
        return "acro" + "".join(f"-{name}-{value}".replace(".", "") for name, value in self.rules.items())

    def flagged(self, cell: tuple[str, ...]) -> tuple[str | None, str | None]:
        """Rules that a cell breaks by 0.4.12 and by 1.0.2; empty where none."""
        return self.flags.get("*") or self.flags.get(",".join(cell), ("", ""))


@cache
def cases() -> dict[str, Case]:
    """All cases by their names."""
    told = json.loads((DATA / "acro_verdicts.json").read_text())
    found = {}
    for name, one in told.items():
        for listed in ("rows", "columns", "how", "said"):
            one[listed] = tuple(one[listed])
        one["flags"] = {cell: tuple(said) for cell, said in one["flags"].items()}
        found[name] = Case(name, **one)
    return found


def policies() -> dict[str, str]:
    """A policy for each risk appetite of the cases, by its name."""
    return {
        case.policy: POLICY.format(suffix=case.policy.removeprefix("acro"), **{**USUAL, **case.rules})
        for case in cases().values()
    }


def values_like(n: int, total: int, first: int, second: int, least: int, variance: float = 0.0) -> list[int]:
    """So many whole numbers with that sum, two largest, least, and as near to a variance as can be."""
    ends = [first, second, least][:n] if n < 3 else [first, second, least]
    inner = n - len(ends)
    left = total - sum(ends)
    if inner <= 0:
        return sorted([*ends[:-1], ends[-1] + left] if n else [], reverse=True)
    mean = left / inner
    squares = variance * (n - 1) + total**2 / n - sum(value**2 for value in ends)
    spread = math.sqrt(max(squares / inner - mean**2, 0.0))
    high, many = mean, inner
    for count in range(1, inner):
        above = mean + spread * math.sqrt((inner - count) / count)
        below = mean - spread * math.sqrt(count / (inner - count))
        if above <= second and below >= least:
            high, many = above, count
            break
    made = [round(high)] * many
    rest = left - sum(made)
    others = inner - many
    if others:
        low, more = divmod(rest, others)
        made += [low + 1] * more + [low] * (others - more)
    else:
        step = 1 if rest > 0 else -1
        made = [value + step * (place < abs(rest)) for place, value in enumerate(made)]
    return sorted([*ends, *made], reverse=True)


def charities() -> pd.DataFrame:
    """A record a charity and year: of a cell the first has the largest value, and the last lack it."""
    facts = pd.read_csv(DATA / "acro_charity_cells.csv")
    first = 0
    starts = {}
    for (kind, survivor), group in facts.groupby(["grant_type", "survivor"]):
        starts[kind, survivor] = first
        first += int(group["charities"].iloc[0])
    made = []
    for cell in facts.to_dict("records"):
        start = starts[cell["grant_type"], cell["survivor"]]
        columns = {
            measure: values_like(
                *(cell[f"{measure}_{what}"] for what in ("records", "sum", "largest", "second", "least")),
                cell.get(f"{measure}_variance", 0.0),
            )
            for measure in MEASURES
        }
        for place in range(cell["charities"]):
            own = {name: values[place] if place < len(values) else None for name, values in columns.items()}
            known = "1" if own["assets"] is not None else None
            keys = {name: cell[name] for name in ("year", "grant_type", "survivor")}
            made.append({"charity": f"c{start + place:03}", **keys, **own, "assets_known": known})
    return pd.DataFrame(made)


def edge(negative: bool = False) -> pd.DataFrame:
    """The boundaries; with a negative value in a cell that is harmless without."""
    made = []
    for group, values in EDGE.items():
        if not (negative and None in values):
            made += [{"g": group, "h": "x", "v": value} for value in values]
    turn = 0
    for group, values in EDGE.items():
        for _ in values:
            if not (negative and None in values):
                made.append({"g": group, "h": "y", "v": 3 + turn % 7})
            turn += 1
    found = pd.DataFrame(made)
    if negative:
        found.loc[found.index[(found["g"] == "n11") & (found["h"] == "y")][0], "v"] = -3
    return found


def nursery() -> pd.DataFrame:
    """Applications by four of their features: each form, health and occupation equally often."""
    made = []
    for place, parents in enumerate(PARENTS):
        others = [name for name in NURSERY if name != "not_recom"]
        # The least first, so that the two recommended ones are of one cell.
        fit = [
            name
            for name in sorted(others, key=lambda n: NURSERY[n][place])
            for _ in range(NURSERY[name][place])
        ]
        for health in ("recommended", "priority"):
            made += [(parents, health, fit.pop(0)) for _ in range(1440)]
        made += [(parents, "not_recom", "not_recom")] * 1440
    found = pd.DataFrame(made, columns=["parents", "health", "recommendation"])
    found["form"] = [("complete", "completed", "foster", "incomplete")[at % 4] for at in range(len(found))]
    return found


def descriptor(case: Case) -> dict[str, Any]:
    """The dataset of a case: a source of its own, so that no case knows of another."""
    frame = frame_of(case.data)
    charity = case.data == "charity"
    measures = [name for name in (*MEASURES, "v") if name in frame]
    variables: list[dict[str, Any]] = [
        {
            "name": "name" if name == "charity" else name,
            "column": name,
            "identifying": "NO",
            "levels": _codes(frame[name]),
        }
        for name in frame
        if name not in measures
    ]
    for variable in variables:
        if variable["name"] in ("year", "assets_known"):
            variable["varies_within_unit"] = True
    return {
        "name": source(case),
        "source": source(case),
        "other_people": "a copy for each case",
        "policy": case.policy,
        "data": {"path": f"{case.data}.csv", "format": "CSV"},
        "unit": {"column": "charity", "label": "charity"} if charity else {"label": "record"},
        "design": {"coverage": "CENSUS"},
        "panel": charity,
        "variables": variables,
        "measures": [
            {
                "name": name,
                "decimals": 1,
                "lower_bound": min(0, 10 * int(frame[name].min())),
                "upper_bound": 5_000_000_000,
            }
            for name in measures
        ],
    } | ({"wave": "year"} if charity else {})


def source(case: Case) -> str:
    """The dataset's name; cases of one history share it."""
    return f"{case.data}-{case.name[:3]}".replace("_", "-")


@cache
def frame_of(name: str) -> pd.DataFrame:
    """The records of a file."""
    made = {"charity": charities, "nursery": nursery, "edge": edge, "edge_neg": lambda: edge(negative=True)}
    return made[name]()


def _codes(column: pd.Series) -> list[dict[str, Any]]:
    return [{"codes": [{"code": str(code)} for code in sorted(column.dropna().unique())]}]


@cache
def recorded(name: str) -> Counter[tuple[str, ...]]:
    """Records of each cell that a case prints, totals apart, and that has any."""
    case = cases()[name]
    frame = frame_of(case.data).astype(str).rename(columns={"charity": "name"})
    for variable, codes in case.filter.items():
        frame = frame[frame[variable].isin(codes)]
    keys = ["name" if one == "charity" else one for one in (*case.rows, *case.columns)]
    return Counter(zip(*(frame[key] for key in keys), strict=True))
