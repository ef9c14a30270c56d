"""Whether the figures that a program printed of a model can be those of one fit: nothing is fitted again.

Of a coefficient with estimate b, standard error s, statistic t and r residual degrees of freedom: t = b / s;
the p-value is P(|T| >= |t|); the 95% interval is b -+ q s, where q is the 97.5% point of T. T is normal, or
Student's t with degrees of freedom between 1 and r, r itself where errors are classical: Greene (2018),
Econometric Analysis, 8th ed., section 4.7. Each figure stands for all that are written as it is, so
rounding is no contradiction. A fit that was computed wrongly, or on other records, contradicts nothing here.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

FIGURES = ("estimate", "standard_error", "statistic", "p_value", "lower", "upper")
"""Of a coefficient."""
COUNTS = ("units", "records", "residual_degrees")
"""Of a model."""
UNVERIFIED = ("estimate", "standard_error")
"""What only a new fit can tell; the others follow from these."""
_NOT_FINITE = "is no finite number"
_PLAIN = 1e-4
"""Smaller numbers are written to decimals or, with an exponent, to digits: others do not tell which."""
_DECIMALS = 3
"""Of zeros that no other number of the column tells of."""
_NOTHING = -15
"""The last place of a zero at most: a p-value as 1 less a probability is 0 below 1e-16."""


@dataclass(frozen=True, slots=True)
class PrintedCoefficient:
    """One coefficient as it was printed; None where a figure was not. Hidden from repr."""

    name: str
    figures: dict[str, float] = field(repr=False)
    """By the names in `FIGURES`."""


@dataclass(frozen=True, slots=True)
class PrintedModel:
    """A model as it was printed."""

    coefficients: tuple[PrintedCoefficient, ...]
    units: int | None = None
    records: int | None = None
    residual_degrees: int | None = None
    fit: dict[str, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ClaimedFit:
    """What is claimed of a fit beside its figures."""

    columns: tuple[str, ...]
    """Names of the coefficients that facts were given of."""
    small: tuple[bool, ...]
    """Whether such a coefficient rests on too few units to leave."""
    parameters: int
    units: int
    records: int
    residual_degrees: int
    classical: bool = False
    """Whether errors are those of least squares, whose p-values are of Student's t with residual degrees."""


@dataclass(frozen=True, slots=True)
class EstimateProblem:
    """One figure that contradicts others, or should not be there. The message has no figure of the model."""

    coefficient: int | None
    """Position of the coefficient; None where it is the model."""
    figure: str
    message: str


def estimate_problems(
    printed: PrintedModel, claimed: ClaimedFit, digits: int = 0, counts_base: int = 0
) -> tuple[EstimateProblem, ...]:
    """All that contradicts itself in what was printed, or what is claimed beside it.

    `digits`: the most significant digits a figure may have; `counts_base`: what counts are multiples of; 0 is
    not judged.
    """
    return tuple(_problems(printed, claimed, digits, counts_base))


def significant_digits(value: float) -> int:
    """How many significant digits a number is written with at least."""
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


def _problems(
    printed: PrintedModel, claimed: ClaimedFit, digits: int, counts_base: int
) -> Iterator[EstimateProblem]:
    seen: set[str] = set()
    small = dict(zip(claimed.columns, claimed.small, strict=True))
    for place, one in enumerate(printed.coefficients):
        if one.name in seen:
            yield EstimateProblem(place, "name", "stands there twice")
        seen.add(one.name)
        if not one.figures:
            continue
        if one.name not in small:
            yield EstimateProblem(
                place, "name", "is of no column that facts are given of; nothing is known of it"
            )
        elif small[one.name]:
            yield EstimateProblem(place, "estimate", "rests on too few units; withhold it with its figures")
        for figure, message in _of_coefficient(one.figures, claimed):
            yield EstimateProblem(place, figure, message)
        for figure, message in _too_exact(one.figures, digits):
            yield EstimateProblem(place, figure, message)
    if len(printed.coefficients) > claimed.parameters:
        yield EstimateProblem(
            None,
            "coefficients",
            f"are {len(printed.coefficients)}, and the model has {claimed.parameters} parameters",
        )
    for figure, message in (*_of_counts(printed, claimed, counts_base), *_of_fit(printed.fit, digits)):
        yield EstimateProblem(None, figure, message)


def _of_coefficient(figures: dict[str, float], claimed: ClaimedFit) -> Iterator[tuple[str, str]]:
    if wrong := [name for name, value in figures.items() if not np.isfinite(value)]:
        yield from ((name, _NOT_FINITE) for name in wrong)
        return
    estimate, error = figures.get("estimate"), figures.get("standard_error")
    if estimate is None:
        yield "estimate", "is not there, and others are that follow from it"
        return
    if error is not None and error < 0:
        yield "standard_error", "must not be negative"
        return
    statistic = figures.get("statistic")
    if statistic is not None and error is not None and not is_product(estimate, statistic, error):
        yield "statistic", "is not the estimate over its standard error"
    yield from _of_p_value(figures, claimed)
    yield from _of_interval(figures, claimed)


def _of_p_value(figures: dict[str, float], claimed: ClaimedFit) -> Iterator[tuple[str, str]]:
    p_value = figures.get("p_value")
    if p_value is None:
        return
    if not 0 <= p_value <= 1:
        yield "p_value", "must be from 0 to 1"
        return
    statistics = _statistics(figures)
    if statistics is None:
        yield "p_value", "follows from a statistic or a standard error, and neither is there"
        return
    from scipy.special import ndtr, stdtr

    most, least = (np.abs(statistics).max(), np.abs(statistics).min() if np.prod(statistics) > 0 else 0.0)
    slack = _slack(p_value)
    fewest, many = _degrees(claimed)
    highest = 2 * float(stdtr(fewest, -least))
    lowest = 2 * float(ndtr(-most) if many is None else stdtr(many, -most))
    if not lowest * (1 - 1e-6) - slack <= p_value <= highest * (1 + 1e-6) + slack:
        yield "p_value", "does not follow from the statistic and the residual degrees of freedom"


def _of_interval(figures: dict[str, float], claimed: ClaimedFit) -> Iterator[tuple[str, str]]:
    estimate, error = figures["estimate"], figures.get("standard_error")
    bounds = [(name, sign) for name, sign in (("lower", -1.0), ("upper", 1.0)) if name in figures]
    right = len(bounds) == 2
    for name, sign in bounds:
        reach = sign * (figures[name] - estimate)
        slack = _slack(figures[name]) + _slack(estimate)
        if error is None:
            if reach < -slack:
                right = False
                yield name, "lies on the other side of the estimate"
            continue
        from scipy.special import ndtri, stdtrit

        fewest, many = _degrees(claimed)
        least = float(ndtri(0.975) if many is None else stdtrit(many, 0.975))
        most = float(stdtrit(fewest, 0.975))
        if not least * (error - _slack(error)) - slack <= reach <= most * (error + _slack(error)) + slack:
            right = False
            yield name, "is no bound of a 95% interval of the estimate and its standard error"
    # Of whatever degrees of freedom it is.
    if right:
        middle = _slack(figures["lower"]) + _slack(figures["upper"]) + 2 * _slack(estimate)
        if abs(figures["lower"] + figures["upper"] - 2 * estimate) > middle * (1 + 1e-9):
            yield "upper", "is not as far from the estimate as lower is"


def _of_counts(printed: PrintedModel, claimed: ClaimedFit, base: int) -> Iterator[tuple[str, str]]:
    for name in COUNTS:
        shown, true = getattr(printed, name), getattr(claimed, name)
        if shown is None:
            continue
        if abs(shown - true) >= max(base, 1):
            yield name, "are not those that are claimed beside it"
        elif base > 1 and shown % base:
            yield name, f"must be rounded to a multiple of {base}"


def _of_fit(fit: dict[str, float], digits: int) -> Iterator[tuple[str, str]]:
    for name, value in fit.items():
        if not np.isfinite(value):
            yield name, _NOT_FINITE
        elif name in ("R_SQUARED", "PSEUDO_R_SQUARED") and value > 1:
            yield name, "must be at most 1"
        else:
            yield from _too_exact({name: value}, digits)
    if {"R_SQUARED", "ADJUSTED_R_SQUARED"} <= fit.keys():
        adjusted, whole = fit["ADJUSTED_R_SQUARED"], fit["R_SQUARED"]
        if adjusted > whole + _slack(whole) + _slack(adjusted):
            yield "ADJUSTED_R_SQUARED", "is larger than R_SQUARED"


def _too_exact(figures: dict[str, float], digits: int) -> Iterator[tuple[str, str]]:
    for name, value in figures.items():
        if digits and np.isfinite(value) and (found := significant_digits(value)) > digits:
            yield name, f"has {found} significant digits; at most {digits} leave"


def _degrees(claimed: ClaimedFit) -> tuple[float, float | None]:
    """The fewest degrees of freedom that p-values and intervals may have, and the most; None: normal."""
    residual = float(max(claimed.residual_degrees, 1))
    return (residual, residual) if claimed.classical else (1.0, None)


def _statistics(figures: dict[str, float]) -> Sequence[float] | None:
    """The least and greatest statistic that the figures allow."""
    if (statistic := figures.get("statistic")) is not None:
        return statistic - _slack(statistic), statistic + _slack(statistic)
    estimate, error = figures["estimate"], figures.get("standard_error")
    if error is None or error <= _slack(error):
        return None
    ratios = [
        (estimate + one * _slack(estimate)) / (error + other * _slack(error))
        for one in (-1, 1)
        for other in (-1, 1)
    ]
    return min(ratios), max(ratios)


def is_product(whole: float, first: float, second: float) -> bool:
    """Whether one number can be the product of two others, all three as they are written."""
    one, other = _slack(first), _slack(second)
    slack = _slack(whole) + abs(first) * other + abs(second) * one + one * other
    return abs(whole - first * second) <= slack * (1 + 1e-9) + 1e-9 * abs(whole)


def _slack(value: float) -> float:
    """Half a unit of the last place that a number is written with.

    Zeros at its end are lost in JSON: it has three digits at least, or three decimals where these are fewer.
    """
    third = math.floor(math.log10(abs(value))) - 2 if value else -3
    return 0.5001 * 10.0 ** min(last_place(value), max(third, -3)) + 1e-12 * abs(value)


def last_place(value: float) -> int:
    """The power of ten of the last digit other than 0 that a finite number is written with."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


@dataclass(frozen=True, slots=True)
class Written:
    """How exactly the numbers of one column were written.

    Zeros at their end are lost in JSON, where 9.0 may have been 9.000: so a number has as many decimals, or
    as many digits where these are fewer, as others of its column, and more than three digits only where they
    are seen.
    """

    decimals: int
    """The power of ten of the last place that any has; of zeros alone that of three decimals."""
    digits: int
    """The most that any has, three at most."""

    @classmethod
    def of(cls, column: Iterable[float]) -> "Written":
        """Of all finite numbers of a column."""
        numbers = set(column)
        plain = (last_place(one) for one in numbers if abs(one) >= _PLAIN)
        return cls(min(plain, default=-_DECIMALS), min(max(map(significant_digits, numbers), default=0), 3))

    def place(self, value: float) -> int:
        """The power of ten of the last place of a number of the column, 0 at most."""
        if value == 0:
            return max(min(self.decimals, 0), _NOTHING)
        if abs(value) < _PLAIN:
            return last_place(value)
        by_digits = math.floor(math.log10(abs(value))) + 1 - self.digits
        return min(last_place(value), max(self.decimals, by_digits), 0)
