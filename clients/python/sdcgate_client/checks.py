"""From a data frame with a row a cell to the JSON of a table of one's own that is checked."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sdcgate_client.outputs import codes_of, numbers
from sdcgate_client.requests import Dimensions, dimension, items

if TYPE_CHECKING:
    import pandas

OF_CELLS = ("units", "records", "households", "holdings", "weight_sums", "unit_weight_sums")
STRUCTURAL_ZEROS = "structural_zeros"
OF_MEASURES = (
    "sums",
    "valid_records",
    "valid_units",
    "valid_holdings",
    "lacking_units",
    "absolute_sums",
    "minima",
    "maxima",
)
BOUNDS = ("lower_bound", "upper_bound")
LARGEST = "largest"
RANKED = (LARGEST, "unwaived_largest")
CONTRIBUTORS = ("shifted", "weighted")
DEMANDED = ("count_width", "sum_width", "zeros_withheld", "records_per_unit", "units_additive")


def own_table(
    frame: "pandas.DataFrame",
    dimensions: Dimensions,
    facts: Mapping[str, str],
    measures: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    sensitive: Iterable[str] = (),
    total: Hashable = "All",
) -> dict[str, Any]:
    """Dimensions and facts of a table, as the check calls take them. What is not named is not checked.

    Args:
        frame: A row a cell, every combination of codes once: a column of codes for each dimension, and the
            columns named below. Of a crosstab: `crosstab.stack().rename("n").reset_index()`.
        dimensions: The variables, as `"site"` or `"age:ten_years"`; their columns have the variable's name.
        facts: Columns with the facts of cells, such as `{"units": "n"}`; also records, households,
            holdings, weight_sums, unit_weight_sums, and structural_zeros, true where nobody can be.
        measures: For each measure the columns of its facts and what is known of its values, such as
            `{"income": {"sums": "income", "largest": ["first", "second"], "lower_bound": 0}}`; also
            valid_records, valid_units, valid_holdings, lacking_units, absolute_sums, minima, maxima,
            upper_bound, unwaived_largest; and shifted and weighted, such as `{"weighted": {"largest":
            ["first", "second"], "totals": "total"}}`, with unwaived, and variances of the totals.
        sensitive: Variables of which it harms to be known to have a code.
        total: What stands for a total in the columns of codes. A missing value is the code `_U`.

    Raises:
        ValueError: a column is not there, or a fact has another name.
    """
    harmful = set(sensitive)
    known = (*OF_CELLS, STRUCTURAL_ZEROS)
    found: dict[str, Any] = {_known(name, known): numbers(frame, column) for name, column in facts.items()}
    if STRUCTURAL_ZEROS in found:
        flags = found[STRUCTURAL_ZEROS]
        found[STRUCTURAL_ZEROS] = [cell for cell, impossible in enumerate(flags) if impossible]
    if measures:
        found["measures"] = [_measure(frame, name, given) for name, given in measures.items()]
    shapes = [
        {**asked, **codes_of(frame, asked["variable"], total)}
        | ({"sensitive": True} if asked["variable"] in harmful else {})
        for asked in map(dimension, items(dimensions))
    ]
    return {"dimensions": shapes, "facts": found}


def own_problem(
    table: Mapping[str, Any],
    *,
    count_width: int = 1,
    sum_width: float = 0.0,
    zeros_withheld: bool = False,
    records_per_unit: int = 1,
    units_additive: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """What is to be protected of a table, as protect and audit calls take it.

    Args:
        table: Dimensions and facts; see `own_table`.
        count_width: How far apart the bounds of a withheld count must be.
        sum_width: The same for a withheld sum, as a share of its absolute value.
        zeros_withheld: Whether empty cells may be withheld; if not, everybody knows that a withheld one is
            not empty.
        records_per_unit: Most records that one unit can have; in `most_records` of `more` in each cell,
            where these are known to be fewer: one in a year.
        units_additive: Whether the units of parts add up to those of their total. Where they do not, name in
            `varying_dimensions` the positions of the dimensions that vary within a unit: they add up along
            the others.
        more: `known`, `absent`, `known_sums`, `known_measures`, `costs`, `costs_by`, as in `GET
            /openapi.json`;
            `sum_levels`, see `own_levels`; `published_ratios`, see `own_ratios`; `cell_bounds`; for audits
            `rounded_values`.
    """
    return {
        **table,
        "count_width": count_width,
        "sum_width": sum_width,
        "zeros_withheld": zeros_withheld,
        "records_per_unit": records_per_unit,
        "units_additive": units_additive,
        **more,
    }


def own_linked(tables: Iterable[Mapping[str, Any]], cells: str, **how: Any) -> list[dict[str, Any]]:
    """Further tables that are protected or audited together with a first one.

    Args:
        tables: Each with `table`, see `own_table`, its cells under the name in `cells`, and what else is
            known of it; see `own_problem`.
        cells: `unsafe` or `withheld`.
        how: What is demanded of the first table, and so of all.
    """
    demanded = {name: how[name] for name in DEMANDED if name in how}
    return [
        {
            "problem": own_problem(
                one["table"],
                **demanded,
                **{name: told for name, told in one.items() if name not in ("table", cells)},
            ),
            "cells": list(one.get(cells, ())),
        }
        for one in tables
    ]


def own_ratios(
    numerators: tuple[str, Iterable[int]],
    denominators: tuple[str, Iterable[int]],
    values: Iterable[float],
    half_width: float = 0.0,
    times: float = 1.0,
) -> dict[str, Any]:
    """Percentages or means that were published about cells, as audits take them in `published_ratios`.

    Args:
        numerators: A fact, `records`, `units`, `sums of <measure>` or `valid_records of <measure>`, and the
            positions of the cells.
        denominators: The same of what is below, as many cells.
        values: What was published, a value a ratio.
        half_width: Half of what they were rounded to: 0.05 for one decimal.
        times: 100 for percentages.
    """
    return {
        "numerators": own_fact(*numerators),
        "denominators": own_fact(*denominators),
        "values": [float(value) for value in values],
        "half_widths": [half_width],
        "times": times,
    }


def own_fact(fact: str, cells: Iterable[int]) -> dict[str, Any]:
    """A fact of cells, as `facts` of `rounded_values` and `cell_bounds`.

    Args:
        fact: `records`, `units`, `sums of <measure>` or `valid_records of <measure>`.
        cells: Positions of the cells.
    """
    kind, of, measure = fact.partition(" of ")
    told: dict[str, Any] = {"fact": kind.upper(), "cells": list(cells)}
    return told | ({"measure": measure} if of else {})


def own_levels(findings: Iterable[Mapping[str, Any]], cells: int) -> list[dict[str, Any]]:
    """Levels that withheld sums must reach, as protect and audit calls take them: `sum_levels`.

    Args:
        findings: Those of an assessment; the strictest of several rules counts.
        cells: How many cells the table has.
    """
    levels: dict[str, dict[str, list[float]]] = {}
    for finding in findings:
        told = finding.get("levels") or {}
        for side in ("upper", "lower"):
            if finding.get("measure") and told.get(side):
                of_measure = levels.setdefault(
                    finding["measure"], {"upper": [0.0] * cells, "lower": [0.0] * cells}
                )
                for cell, level in zip(finding["cells"], told[side], strict=True):
                    of_measure[side][cell] = max(of_measure[side][cell], level)
    return [{"measure": measure, **sides} for measure, sides in levels.items()]


def own_method(method: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A method that changes values, with keys as whole numbers wherever they came from."""
    return {
        name: {**asked, "keys": [int(key) for key in asked["keys"]]} if "keys" in asked else dict(asked)
        for name, asked in method.items()
    }


def _measure(frame: "pandas.DataFrame", measure: str, given: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"measure": measure}
    for name, value in given.items():
        if name in RANKED:
            found |= {"ranks": len(items(value)), name: _ranked(frame, items(value))}
        elif name in CONTRIBUTORS:
            found["ranks"] = len(items(value[LARGEST]))
            found[name] = {
                _known(part, (LARGEST, "totals", "unwaived", "variances")): numbers(frame, column)
                if part in ("totals", "variances")
                else _ranked(frame, items(column))
                for part, column in value.items()
            }
        else:
            _known(name, (*OF_MEASURES, *BOUNDS, *RANKED, *CONTRIBUTORS))
            found[name] = value if name in BOUNDS else numbers(frame, value)
    return found


def _ranked(frame: "pandas.DataFrame", columns: Sequence[Any]) -> list[int | float]:
    """The largest contributions, cell after cell."""
    ranks = [numbers(frame, column) for column in columns]
    return [one for cell in zip(*ranks, strict=True) for one in cell]


def _known(name: str, names: tuple[str, ...]) -> str:
    if name not in names:
        raise ValueError(f"{name!r} is no fact; they are {', '.join(names)}")
    return name
