"""Judging a model by its facts: a pure function of facts and rules.

Residual degrees of freedom: Ritchie (2019), Analyzing the disclosure risk of regression coefficients,
Transactions on Data Privacy 12(2), and the ten of the Handbook on statistical disclosure control for outputs
(Griffiths et al. 2019). Influence and leverage: see `influence`. A figure that is not finite fails its rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.outputs.model_facts import NOT_GIVEN, ModelFacts, TermFacts
from sdcgate.methods.outputs.model_rules import (
    MaximumFit,
    MaximumInfluence,
    MaximumLeverage,
    MaximumParameters,
    MinimumCategory,
    MinimumOutcomeClass,
    MinimumResidualDegrees,
    ModelRules,
    NoImpliedTable,
)
from sdcgate.methods.rules import Consequence, ReasonCode

TOLERANCE = 1e-9
"""A figure within this share of its bound counts as beyond it."""


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """One rule that failed, at coefficients or at terms; at neither where it is the whole model."""

    rule: ReasonCode
    consequence: Consequence
    columns: tuple[int, ...] = ()
    """Positions in `ColumnFacts.names`."""
    terms: tuple[int, ...] = ()
    """Positions in `ModelFacts.terms`."""
    figure: float = 0.0
    """The worst figure found; it may be withheld."""
    bound: float = 0.0


def assess_model(facts: ModelFacts, rules: ModelRules) -> tuple[ModelFinding, ...]:
    """All rules that fail, in the order of `ModelRules`."""
    found: list[ModelFinding] = []
    if rules.residual_degrees:
        found += _residual_degrees(facts, rules.residual_degrees)
    if rules.categories:
        found += _categories(facts, rules.categories)
    if rules.influence:
        found += _influence(facts, rules.influence)
    if rules.leverage:
        found += _leverage(facts, rules.leverage)
    if rules.fit:
        found += _fit(facts, rules.fit)
    if rules.outcome_class:
        found += _outcome_class(facts, rules.outcome_class)
    if rules.parameters:
        found += _parameters(facts, rules.parameters)
    if rules.saturation:
        found += _saturation(facts, rules.saturation)
    return tuple(found)


def unjudged(facts: ModelFacts, rules: ModelRules) -> tuple[tuple[ReasonCode, ...], tuple[str, ...]]:
    """Rules that could not be judged, or not in all, as facts were not given, and these facts by name.

    Each of these rules fails, but where the fact is one that some families do not have (`r_squared`,
    `residual_share`, `outcome_units` and `class_units` where there is no `r_squared`): of these only that
    they are absent is said.
    """
    found: list[tuple[ReasonCode, str]] = []
    if rules.categories and (facts.columns.units_apart == NOT_GIVEN).any():
        found.append((ReasonCode.MINIMUM_UNITS, "columns.units_apart"))
    if rules.influence and _shares_lacking(facts, rules.influence).any():
        found.append((ReasonCode.INFLUENCE, "columns.largest_shares"))
    if rules.influence and rules.influence.dfbetas and np.isnan(facts.columns.dfbetas).any():
        found.append((ReasonCode.INFLUENCE, "columns.dfbetas"))
    if rules.leverage and np.isnan(facts.maximum_leverage):
        found.append((ReasonCode.LEVERAGE, "maximum_leverage"))
    if rules.fit:
        if facts.r_squared is None:
            found.append((ReasonCode.PERFECT_FIT, "r_squared"))
        if np.isnan(facts.exact_share):
            found.append((ReasonCode.PERFECT_FIT, "exact_share"))
        if rules.fit.residual_share and facts.residual_share is None:
            found.append((ReasonCode.INFLUENCE, "residual_share"))
    if rules.outcome_class and facts.r_squared is None and not facts.outcome_units.size:
        found.append((ReasonCode.OUTCOME_CLASS, "outcome_units"))
    if rules.outcome_class and facts.r_squared is None and _classes_lacking(facts):
        found.append((ReasonCode.OUTCOME_CLASS, "terms.class_units"))
    rules_, names = zip(*found, strict=True) if found else ((), ())
    return tuple(dict.fromkeys(rules_)), tuple(names)


def _shares_lacking(facts: ModelFacts, rule: MaximumInfluence) -> BoolArray:
    """Columns of which it is not known what so many of the largest units hold, where there are so many."""
    shares = facts.columns.largest_shares
    fewer = shares.shape[1] < min(rule.largest, facts.units)
    return np.asarray(np.isnan(shares).any(axis=1) | fewer, dtype=np.bool_)


def _classes_lacking(facts: ModelFacts) -> bool:
    """Whether the outcome has classes, and those of a category are not known."""
    return bool(facts.outcome_units.size) and any(
        term.units.size and not term.class_units.size for term in facts.terms
    )


def _residual_degrees(facts: ModelFacts, rule: MinimumResidualDegrees) -> Iterable[ModelFinding]:
    if facts.residual_degrees < rule.degrees:
        yield ModelFinding(
            ReasonCode.RESIDUAL_DEGREES,
            rule.consequence,
            figure=float(facts.residual_degrees),
            bound=float(rule.degrees),
        )


def _categories(facts: ModelFacts, rule: MinimumCategory) -> Iterable[ModelFinding]:
    smallest = np.array([term.units.min(initial=facts.units) for term in facts.terms])
    apart = facts.columns.units_apart
    columns = _positions((apart < rule.units) & (apart != 0))
    few = smallest < rule.units
    of_values = np.array([term.of_values for term in facts.terms], dtype=np.bool_)
    terms, values = _positions(few & ~of_values), _positions(few & of_values)
    patterns = int(facts.pattern_units.min(initial=facts.units))
    if columns or terms or patterns < rule.units:
        known = apart[list(columns)]
        least = min([*known[known != NOT_GIVEN], *smallest[list(terms)], patterns])
        figure = float(least) if least < rule.units else np.nan
        yield ModelFinding(
            ReasonCode.MINIMUM_UNITS, rule.consequence, columns, terms, figure, float(rule.units)
        )
    if values:
        # Of the values of a measure no coefficient is the one that could be withheld.
        yield ModelFinding(
            ReasonCode.MINIMUM_UNITS,
            rule.consequence,
            (),
            values,
            float(smallest[list(values)].min()),
            float(rule.units),
        )
    if facts.pattern_units.size and facts.implied_table is None:
        # a table by another name, whose cells no rule on tables has seen
        numeric = tuple(
            number for number, term in enumerate(facts.terms) if not term.factors and term.text != "1"
        )
        yield ModelFinding(
            ReasonCode.SATURATED,
            rule.consequence,
            terms=numeric,
            figure=float(facts.parameters),
            bound=float(facts.pattern_units.size),
        )


def _influence(facts: ModelFacts, rule: MaximumInfluence) -> Iterable[ModelFinding]:
    shares = facts.columns.largest_shares[:, : rule.largest].max(axis=1, initial=0.0)
    shares = np.where(_shares_lacking(facts, rule) & ~_beyond(shares, rule.share), np.nan, shares)
    columns = _positions(_beyond(shares, rule.share))
    if columns:
        yield ModelFinding(
            ReasonCode.INFLUENCE,
            rule.consequence,
            columns,
            (),
            float(shares[list(columns)].max()),
            rule.share,
        )
    moved = _positions(_beyond(facts.columns.dfbetas, rule.dfbetas)) if rule.dfbetas else ()
    if moved:
        worst = float(facts.columns.dfbetas[list(moved)].max())
        yield ModelFinding(ReasonCode.INFLUENCE, rule.consequence, moved, (), worst, rule.dfbetas)


def _leverage(facts: ModelFacts, rule: MaximumLeverage) -> Iterable[ModelFinding]:
    if _beyond(np.array([facts.maximum_leverage]), rule.leverage)[0]:
        yield ModelFinding(
            ReasonCode.LEVERAGE, rule.consequence, figure=facts.maximum_leverage, bound=rule.leverage
        )


def _fit(facts: ModelFacts, rule: MaximumFit) -> Iterable[ModelFinding]:
    checked = [
        (ReasonCode.PERFECT_FIT, facts.r_squared, rule.r_squared),
        (ReasonCode.PERFECT_FIT, facts.exact_share, rule.exact_share),
    ]
    if rule.residual_share:
        checked.append((ReasonCode.INFLUENCE, facts.residual_share, rule.residual_share))
    for reason, figure, bound in checked:
        if figure is not None and _beyond(np.array([figure]), bound)[0]:
            yield ModelFinding(reason, rule.consequence, figure=figure, bound=bound)


def _outcome_class(facts: ModelFacts, rule: MinimumOutcomeClass) -> Iterable[ModelFinding]:
    # Of a single class nobody is in any other.
    least = 0 if facts.outcome_units.size == 1 else int(facts.outcome_units.min(initial=facts.units))
    terms = tuple(number for number, term in enumerate(facts.terms) if _small_class(term, rule.units))
    if least < rule.units or facts.separated or terms:
        yield ModelFinding(
            ReasonCode.OUTCOME_CLASS,
            rule.consequence,
            terms=terms,
            figure=float(min([least, *(_least_class(facts.terms[number]) for number in terms)])),
            bound=float(rule.units),
        )


def _small_class(term: TermFacts, units: int) -> bool:
    """Whether a class is too small in a category, or everybody of a category is of one class."""
    classes = term.class_units
    if not classes.size:
        return False
    occurring = np.count_nonzero(classes, axis=1)
    return bool(np.any((classes > 0) & (classes < units)) or np.any(occurring < 2))


def _least_class(term: TermFacts) -> int:
    return int(term.class_units.min())


def _parameters(facts: ModelFacts, rule: MaximumParameters) -> Iterable[ModelFinding]:
    parameters = max(facts.parameters, len(facts.columns.names))
    per_unit = parameters / facts.units if facts.units else np.inf
    if _beyond(np.array([per_unit]), rule.per_unit)[0]:
        yield ModelFinding(ReasonCode.SATURATED, rule.consequence, figure=per_unit, bound=rule.per_unit)


def _saturation(facts: ModelFacts, rule: NoImpliedTable) -> Iterable[ModelFinding]:
    if facts.implied_table is not None:
        terms = tuple(number for number, term in enumerate(facts.terms) if term.factors)
        yield ModelFinding(ReasonCode.SATURATED, rule.consequence, terms=terms)


def _beyond(figures: FloatArray, bound: float) -> BoolArray:
    """Above the bound, within rounding of it, or no number at all."""
    return np.asarray(~(figures < bound * (1.0 - TOLERANCE)), dtype=np.bool_)


def _positions(which: BoolArray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(which).tolist())
