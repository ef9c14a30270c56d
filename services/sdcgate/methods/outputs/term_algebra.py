"""The operators of model formulas on sets of terms, refused before they blow up.

Wilkinson and Rogers (1973), Symbolic description of factorial models for analysis of variance, section 2, as
patsy reads it: `a*b` is `a + b + a:b`, `a/b` is `a + a:b`, `(a + b + c)^2` all products of up to two of them.
"""

from dataclasses import dataclass

from sdcgate.methods.outputs.formula import Predictor, Term, each_once

MOST_TERMS = 200
MOST_PREDICTORS = 5
"""In one term."""


class ExpansionError(ValueError):
    """An operator on terms that may not be, or that makes too many."""


@dataclass(frozen=True, slots=True)
class TermSet:
    """Terms in the order they were written, and what was said of the constant."""

    terms: tuple[Term, ...] = ()
    constant: bool = False
    without_constant: bool = False


def single(predictor: Predictor) -> TermSet:
    """One predictor."""
    return TermSet(((predictor,),))


def plus(left: TermSet, right: TermSet, zero: bool) -> TermSet:
    """`left + right`; `zero` where the right is `0`, which takes the constant away."""
    if zero:
        return TermSet(left.terms, False, True)
    terms = _bounded((*left.terms, *right.terms))
    if right.constant:
        return TermSet(terms, True, False)
    return TermSet(terms, left.constant, left.without_constant)


def minus(left: TermSet, right: TermSet, zero: bool) -> TermSet:
    """`left - right`: terms of the right are taken away; `- 1` the constant, `- 0` brings it back."""
    if zero:
        return TermSet(left.terms, True, False)
    away = set(map(frozenset, right.terms))
    terms = tuple(term for term in left.terms if frozenset(term) not in away)
    if right.constant:
        return TermSet(terms, False, True)
    return TermSet(terms, left.constant, left.without_constant)


def interaction(left: TermSet, right: TermSet) -> TermSet:
    """`left:right`: each term of the left with each of the right."""
    _without_constant(left, right)
    if len(left.terms) * len(right.terms) > MOST_TERMS:
        raise ExpansionError(f"this makes more than {MOST_TERMS} terms")
    return TermSet(_bounded(tuple(_product(one, other) for one in left.terms for other in right.terms)))


def crossing(left: TermSet, right: TermSet) -> TermSet:
    """`left*right`: both and their interaction."""
    both = interaction(left, right)
    return TermSet(_bounded((*left.terms, *right.terms, *both.terms)))


def nesting(left: TermSet, right: TermSet) -> TermSet:
    """`left/right`: the left, and the right within all of the left together."""
    _without_constant(left, right)
    together: Term = ()
    for term in left.terms:
        together = _product(together, term)
    return TermSet(_bounded((*left.terms, *(_product(together, term) for term in right.terms))))


def power(terms: TermSet, exponent: int) -> TermSet:
    """`terms^exponent`: all products of up to so many of them."""
    _without_constant(terms)
    result = latest = terms
    for _ in range(1, min(exponent, len(terms.terms))):
        latest = interaction(terms, latest)
        result = TermSet(_bounded((*result.terms, *latest.terms)))
    return result


def _product(left: Term, right: Term) -> Term:
    parts = tuple(dict.fromkeys((*left, *right)))
    if len(parts) > MOST_PREDICTORS:
        raise ExpansionError(f"this makes a term of more than {MOST_PREDICTORS} predictors")
    return parts


def _without_constant(*sets: TermSet) -> None:
    if any(terms.constant or terms.without_constant for terms in sets):
        raise ExpansionError("the constant (0 or 1) only stands in a sum")


def _bounded(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    once = each_once(terms)
    if len(once) > MOST_TERMS:
        raise ExpansionError(f"this makes more than {MOST_TERMS} terms")
    return once
