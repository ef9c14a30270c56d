"""Whether the figures that a program printed of a statistic can be true: nothing is computed again.

A share lies between 0 and 1, a correlation between -1 and 1; errors, deviations and variances are not
negative; percentiles of a group do not fall; a coefficient of variation is the error over the size of the
estimate (Cochran 1977, Sampling Techniques, 3rd ed.). Figures that are wrong within these bounds contradict
nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.outputs.printed_estimates import is_product, significant_digits
from sdcgate.methods.outputs.statistic_facts import Statistic

_UNCERTAINTY = ("standard_error", "coefficient_of_variation")
NOT_NEGATIVE, SHARE, CORRELATION = (0.0, np.inf), (0.0, 1.0), (-1.0, 1.0)
BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        **dict.fromkeys(("standard_error", "coefficient_of_variation", "variance"), NOT_NEGATIVE),
        **dict.fromkeys(("standard_deviation", "range", "odds_ratio", "risk_ratio"), NOT_NEGATIVE),
        **dict.fromkeys(("lower_limit", "upper_limit", "chi_squared", "u", "f", "median"), NOT_NEGATIVE),
        **dict.fromkeys(("proportion", "share", "gini", "herfindahl", "concentration_ratio", "d"), SHARE),
        **dict.fromkeys(("p_value", "survival"), SHARE),
        "correlation": CORRELATION,
        "loading": CORRELATION,
    }
)
"""Of figures by the first word of their names, in small letters."""


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """One figure of those groups that show it."""

    name: str
    groups: tuple[int, ...]
    values: FloatArray = field(repr=False)
    """Shape (groups,); empty where they are codes."""


@dataclass(frozen=True, slots=True)
class FigureProblem:
    """A printed figure that cannot be, or should not be there, with the groups; its message has no figure."""

    figure: str
    groups: tuple[int, ...]
    message: str


def figure_problems(
    statistic: Statistic, printed: tuple[PrintedFigure, ...], unsafe: Mapping[str, BoolArray], digits: int = 0
) -> tuple[FigureProblem, ...]:
    """All that cannot be in what was printed.

    `unsafe`: groups, shape (groups,), that may not show a figure, by its name; those of all others under "".
    `digits`: the most significant digits a figure may have; 0 is not judged.
    """
    return tuple(_problems(statistic, printed, unsafe, digits))


def _problems(
    statistic: Statistic, printed: tuple[PrintedFigure, ...], unsafe: Mapping[str, BoolArray], digits: int
) -> Iterator[FigureProblem]:
    names = [one.name for one in printed]
    for one in printed:
        known = len(unsafe[""])
        if names.count(one.name) > 1 or len(set(one.groups)) < len(one.groups):
            yield FigureProblem(one.name, (), "stands there twice, or names a group twice")
        if any(group >= known for group in one.groups):
            yield FigureProblem(one.name, (), f"names a group beyond the {known} that facts are given of")
        elif one.values.size and len(one.values) != len(one.groups):
            yield FigureProblem(one.name, (), "must have a value for each of its groups")
        else:
            few = unsafe.get(one.name, unsafe[""])
            yield from _told(
                one, np.array([bool(few[group]) for group in one.groups]), "must be withheld here"
            )
            yield from _of_values(one, digits)
    told = {one.name: dict(zip(one.groups, one.values, strict=False)) for one in printed}
    yield from _ordered(statistic, told)
    yield from _variations(told)


def _of_values(one: PrintedFigure, digits: int) -> Iterator[FigureProblem]:
    if not one.values.size:
        return
    finite = np.isfinite(one.values)
    yield from _told(one, ~finite, "is no finite number")
    if one.name.partition("(")[0].lower() in BOUNDS:
        least, most = BOUNDS[one.name.partition("(")[0].lower()]
        beyond = finite & ((one.values < least) | (one.values > most))
        yield from _told(one, beyond, f"must lie between {least:g} and {most:g}")
    exact = [
        bool(digits and shown and significant_digits(float(value)) > digits)
        for value, shown in zip(one.values, finite, strict=True)
    ]
    yield from _told(one, np.array(exact), f"has more than {digits} significant digits")


def _ordered(statistic: Statistic, told: Mapping[str, Mapping[int, float]]) -> Iterator[FigureProblem]:
    """Percentiles, and the limits of an interval, in their order."""
    points = sorted((float(name[1:]), name) for name in told if is_percentile(name))
    order = [name for _, name in points]
    pairs = list(pairwise(order))
    if statistic in (Statistic.ODDS_RATIO, Statistic.RISK_RATIO):
        name = statistic.name.lower()
        pairs += [("lower_limit", name), (name, "upper_limit"), ("lower_limit", "upper_limit")]
    for first, second in pairs:
        least, most = told.get(first, {}), told.get(second, {})
        falling = tuple(group for group in least.keys() & most.keys() if least[group] > most[group])
        if falling:
            yield FigureProblem(second, tuple(sorted(falling)), f"is less than {first}")


def _variations(told: Mapping[str, Mapping[int, float]]) -> Iterator[FigureProblem]:
    """Coefficients of variation beside the estimate and its error."""
    for name, variations in told.items():
        if not name.startswith("coefficient_of_variation"):
            continue
        of = name.removeprefix("coefficient_of_variation").strip("()")
        errors = told.get(f"standard_error({of})" if of else "standard_error", {})
        first = next((one for one in told if not one.startswith(_UNCERTAINTY)), "")
        estimates = told.get(of or first, {})
        shown = variations.keys() & errors.keys() & estimates.keys()
        wrong = tuple(
            group
            for group in sorted(shown)
            if all(map(np.isfinite, (errors[group], variations[group], estimates[group])))
            and not is_product(float(errors[group]), float(variations[group]), abs(float(estimates[group])))
        )
        if wrong:
            yield FigureProblem(name, wrong, "is not the error over the size of the estimate")


def is_percentile(name: str) -> bool:
    """Whether a figure is named as percentiles are: `P50`."""
    return name[:1] == "P" and name[1:].replace(".", "", 1).isdigit()


def _told(one: PrintedFigure, which: BoolArray, message: str) -> Iterator[FigureProblem]:
    groups = tuple(group for group, wrong in zip(one.groups, which, strict=True) if wrong)
    if groups:
        yield FigureProblem(one.name, groups, message)
