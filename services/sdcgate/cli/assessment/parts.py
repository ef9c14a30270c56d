"""What a report consists of, whatever it is shown as: sections with words, tables and bars."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts under headers; the first column holds names, the others figures."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    prose: bool = False
    """Whether all columns hold words."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars with a label and a value each, as a plot."""

    caption: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    texts: tuple[str, ...]
    """What stands at the end of each bar."""
    axis: str = ""
    """What the labels are."""


@dataclass(frozen=True, slots=True)
class Map:
    """Points in the plane, one of them marked: an R-U map."""

    caption: str
    across: str
    """What runs to the right."""
    up: str
    points: tuple[tuple[float, float], ...]
    titles: tuple[str, ...]
    marked: int | None = None
    bound: float | None = None
    """A line across at this height."""
    hollow: tuple[int, ...] = ()
    """Points of another kind."""
    shares: bool = True
    """Whether what runs up is a share."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a report."""

    title: str
    words: tuple[str, ...]
    parts: tuple[Table | Bars | Map, ...] = ()


def count(value: float) -> str:
    """A number of units or keys: 12,345; with decimals where it is an expectation below 100."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.1e}"


def percent(share: float) -> str:
    """A share: 12.3%, 0.051%, and for tiny ones 1.2e-05%."""
    value = 100 * share
    if value == 0 or value >= 10:
        return f"{value:.1f}%"
    return f"{value:.2g}%" if value >= 0.001 else f"{value:.1e}%"


def one_in(probability: float) -> str:
    """A probability as a chance: 1 in 145."""
    return "none" if probability <= 0 else f"1 in {1 / probability:,.0f}"


def plural(number: int, noun: str, several: str = "") -> str:
    """`1 unit`, `5,912 units`."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"
