"""Contributions of respondents to cells as Ibis expressions: the largest of each kind, and their sums.

A respondent is a unit, or the holding that units belong to. Kinds of contributions are told apart by what
the names of their aggregates begin with: nothing for absolute values, `shifted_` and `weighted_`.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sdcgate.engine.descriptor import Measure
from sdcgate.engine.dialects import Dialect, fitting_sum, largest, wide_sum
from sdcgate.methods.rules import Contributions, NegativeValues

SHIFTED, WEIGHTED = "shifted_", "weighted_"


@dataclass(frozen=True, slots=True)
class MeasureShape:
    """What of a measure decides how it is aggregated."""

    has_missing: bool
    may_be_negative: bool
    product_fits: bool
    """Whether each value times each weight fits in 64 bits."""
    shift: int = 0
    """What is added to each value so that none is below 0; 0 where shifted contributions are not wanted."""


@dataclass(frozen=True, slots=True)
class Respondents:
    """What decides the text of a statement about respondents."""

    ranks: int
    holdings: bool = False
    waivers: bool = False
    weighted: bool = False
    """Whether weighted contributions are wanted."""
    dialect: Dialect = Dialect.DUCKDB


def shift_of(measure: Measure, contributions: Contributions) -> int:
    """The shift of scaled values that a policy wants; 0 where it wants none or there is no exact one."""
    if contributions.negative is not NegativeValues.SHIFTED or measure.lower_bound is None:
        return 0
    scaled = Decimal(str(measure.lower_bound)).scaleb(measure.decimals)
    return int(max(-scaled, Decimal(0))) if scaled == scaled.to_integral_value() else 0


def collapsed(records: Any, measures: tuple[MeasureShape, ...], respondents: Respondents) -> dict[str, Any]:
    """Beside the sums of values: what else of a respondent's records is summed for its contributions."""
    aggregates = {"waiver": records["waiver"].min()} if respondents.waivers else {}
    for position, measure in enumerate(measures):
        if measure.shift:
            shifted = _shifted(records, position, measure)
            aggregates[f"{SHIFTED}{position}"] = fitting_sum(shifted, respondents.dialect)
        if respondents.weighted:
            weighted = _weighted(records, position, measure)
            aggregates[f"{WEIGHTED}{position}"] = wide_sum(weighted, respondents.dialect)
    return aggregates


def of_respondents(
    relation: Any, measures: tuple[MeasureShape, ...], respondents: Respondents
) -> dict[str, Any]:
    """Aggregates of a relation with a row a respondent and cell; who has no value has NULL."""
    aggregates: dict[str, Any] = {}
    for position, measure in enumerate(measures):
        kinds = {"": relation[f"m{position}"]}
        if measure.shift:
            kinds[SHIFTED] = _known(relation, f"{SHIFTED}{position}", _shifted, position, measure)
        if respondents.weighted:
            kinds[WEIGHTED] = _known(relation, f"{WEIGHTED}{position}", _weighted, position, measure)
        for kind, signed in kinds.items():
            negative = measure.may_be_negative and kind != SHIFTED
            contribution = signed.abs() if negative else signed
            if negative:
                aggregates[f"{kind}absolute{position}"] = wide_sum(contribution, respondents.dialect)
            aggregates |= _largest_of(relation, contribution, kind, position, respondents)
    return aggregates


def _known(relation: Any, name: str, made: Any, position: int, measure: MeasureShape) -> Any:
    return relation[name] if name in relation.columns else made(relation, position, measure)


def _shifted(records: Any, position: int, measure: MeasureShape) -> Any:
    return records[f"m{position}"] + measure.shift


def _weighted(records: Any, position: int, measure: MeasureShape) -> Any:
    value = records[f"m{position}"]
    return (value if measure.product_fits else value.cast("decimal(38, 0)")) * records["weight"]


def _largest_of(
    relation: Any, contribution: Any, kind: str, position: int, respondents: Respondents
) -> dict[str, Any]:
    import ibis

    ranks, dialect = respondents.ranks, respondents.dialect
    found = {f"{kind}largest{position}": largest(contribution, ranks, dialect)}
    if respondents.waivers:
        protected = ibis.ifelse(relation["waiver"] == 0, contribution, None)
        found[f"{kind}unwaived{position}"] = largest(protected, ranks, dialect)
    return found
