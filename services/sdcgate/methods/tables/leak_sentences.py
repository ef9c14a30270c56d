"""The arithmetic of a bound in a line: `30 [n, _T] - 12 [n, b] - 9 [n, c] = at most 9`."""

from collections.abc import Callable, Sequence

import numpy as np

from sdcgate.methods.cells import Axis, shape_of
from sdcgate.methods.tables.leak_arithmetic import Arithmetic, Kind, Statement, Term
from sdcgate.methods.tables.published_figures import (
    CellBounds,
    FactOfCells,
    Published,
    RoundedValues,
)

MOST_TERMS = 30
"""Terms that a line tells."""
WORDS = {
    Kind.NOT_EMPTY: "is not empty",
    Kind.NOT_NEGATIVE: "is not below 0",
    Kind.LACKING: "has those that lack a measure",
    Kind.UNITS_AND_RECORDS: "has no fewer records than units, and not too many",
    Kind.BOUNDS_OF_VALUES: "has values within their bounds",
    Kind.PARTS_OF_UNITS: "holds its parts",
}
"""Why what is hidden stands at an end, by kind; of other kinds nothing need be said."""


def cell_name(axes: tuple[Axis, ...], cell: int) -> str:
    """The codes of a cell; `all` for the only cell of a table without dimensions."""
    if not axes:
        return "all"
    codes = np.unravel_index(cell, shape_of(axes))
    return ", ".join(axis.codes[int(code)] for axis, code in zip(axes, codes, strict=True))


def sentence(
    found: Arithmetic,
    direction: float,
    cell_names: Callable[[int], str],
    facts: Sequence[str],
    published: Sequence[Published] = (),
) -> str:
    """The published values with how often they are counted, what is added for hidden ones, and the bound.

    `direction` is 1 for an upper and -1 for a lower bound; `facts` are the names of the quantities;
    `published` are the figures that steps speak of.
    """

    def label(term: Term) -> str:
        name = cell_names(term.cell)
        return f"[{name}]" if len(used) < 2 else f"[{facts[term.quantity]}: {name}]"

    def why(step: Statement) -> str:
        if step.figure is None:
            return _why(step, label)
        column, entry = step.figure
        return f"[{_figure(published[column], entry, cell_names, facts, len(used) > 1)}]"

    used = {term.quantity for step in found.steps for term in (*step.hidden, *step.published)}
    parts = [(factor, value, label(term)) for term, factor, value in _published(found)]
    for step in found.steps:
        if step.constant:
            parts.append((step.factor, step.constant, why(step)))
    parts.sort(key=lambda part: part[0] * part[1] < 0)
    end = f"= at {'most' if direction > 0 else 'least'} {_number(found.bound)}"
    standing = [
        why(step) for step in found.steps if (step.kind in WORDS or step.figure) and not step.constant
    ]
    standing = list(dict.fromkeys(standing))
    also = f", as {' and '.join(standing[:MOST_TERMS])}" if standing else ""
    told = [_part(*part, first=place == 0) for place, part in enumerate(parts[:MOST_TERMS])]
    left_out = len(parts) - len(told)
    more = [f"and {left_out} more"] if left_out else []
    return " ".join([*(told or ["0"]), *more, end]) + also


def _published(found: Arithmetic) -> list[tuple[Term, float, float]]:
    """Published cells with how often they are counted in all; those that cancel out are left out."""
    factors: dict[tuple[int, int], float] = {}
    terms: dict[tuple[int, int], Term] = {}
    for step in found.steps:
        for term in step.published:
            place = (term.quantity, term.cell)
            terms[place] = term
            factors[place] = factors.get(place, 0.0) + step.factor * term.coefficient
    return [
        (terms[place], factor, terms[place].value)
        for place, factor in factors.items()
        if abs(factor) > 1e-9 and terms[place].value
    ]


def _why(step: Statement, label: Callable[[Term], str]) -> str:
    if step.kind is Kind.KNOWN_SUM:
        return "[a known sum]"
    return f"[{label(step.hidden[0])[1:-1]} {WORDS.get(step.kind, '')}]"


def _figure(
    one: Published, entry: int, cell_names: Callable[[int], str], facts: Sequence[str], several: bool
) -> str:
    """A published figure: `n, a / n, _T is published as 33.3% to within 0.05`."""

    def name(fact: FactOfCells) -> str:
        cell, having = cell_names(int(fact.cells[entry])), fact.having
        if having is not None:
            return f"{facts[fact.quantity]} with {facts[2 + having].removeprefix('sums of ')}: {cell}"
        return f"{facts[fact.quantity]}: {cell}" if several or mixed else cell

    if isinstance(one, CellBounds):
        mixed = False
        ends = {"at least": float(one.lower[entry]), "at most": float(one.upper[entry])}
        told = " and ".join(f"{word} {_number(end)}" for word, end in ends.items() if np.isfinite(end))
        return f"{name(one.facts)} is known to be {told}"
    value, half = float(one.values[entry]), float(one.half_widths[entry])
    within = f" to within {_number(half)}" if half else ""
    if isinstance(one, RoundedValues):
        mixed = False
        return f"{name(one.facts)} is published as {_number(value)}{within}"
    mixed = one.numerators.quantity != one.denominators.quantity
    unit = {1.0: "", 100.0: "%"}.get(one.times, f" by {_number(one.times)}")
    return f"{name(one.numerators)} / {name(one.denominators)} is published as {_number(value)}{unit}{within}"


def _part(factor: float, value: float, name: str, first: bool) -> str:
    amount = factor * value
    times = "" if np.isclose(abs(factor), 1.0) else f"{_number(abs(factor))} x "
    sign = ("-" if amount < 0 else "") if first else ("- " if amount < 0 else "+ ")
    return f"{sign}{times}{_number(abs(value))} {name}"


def _number(value: float) -> str:
    return f"{value:.10g}"
