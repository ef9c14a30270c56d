"""Whether there are enough instruments, and no outcome among them, whatever the population is like.

The order condition of two-stage least squares: outside the formula there are at least as many instruments
as there are terms that are none (Wooldridge 2010, Econometric Analysis of Cross Section and Panel Data,
section 5.2.1). The formulas and the public codes decide it; where it depends on the codes that a population
has, it is left to the fit.
"""

from collections.abc import Mapping

from sdcgate.methods.outputs.design import VariableLevel, build_design
from sdcgate.methods.outputs.formula import Formula, Outcome
from sdcgate.methods.outputs.formula_parser import outcome_names
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.vocabulary import Vocabulary
from sdcgate.wire.problems import FieldProblem

TOO_FEW = (
    "There are fewer instruments outside the formula than columns of terms that are no instruments: {most} "
    "for {least}. Name more instruments, or name those terms among them that are exogenous."
)
Codes = Mapping[VariableLevel, tuple[str, ...]]


def fewer_than_terms(formula: Formula, instruments: Formula, vocabulary: Vocabulary) -> list[FieldProblem]:
    """The problem that they are too few even with all codes of instruments and two of each factor."""
    try:
        least = _columns(formula, instruments, vocabulary, _two_codes(formula, vocabulary))
        most = _columns(instruments, formula, vocabulary, _all_codes(instruments, vocabulary))
    except ModelProblemError:
        # Too many columns: which is said in its own words, once the codes that occur are known.
        return []
    return [FieldProblem("instruments", TOO_FEW.format(most=most, least=least))] if most < least else []


def outcome_among(instruments: Formula, outcome: Outcome | None) -> list[FieldProblem]:
    """The problem that the outcome is an instrument, which is never apart from what is left unexplained."""
    names = {*instruments.variables, *(number.measure for number in instruments.numerics)}
    return [
        FieldProblem("instruments", f"{name} is the outcome and cannot be an instrument.")
        for name in sorted(names & outcome_names(outcome))
    ]


def _columns(of: Formula, without: Formula, vocabulary: Vocabulary, codes: Codes) -> int:
    """Columns of the terms of a formula that another has not."""
    design = build_design(of, vocabulary, codes)
    known = {frozenset(term) for term in (*without.terms, *([()] if without.intercept else []))}
    return sum(frozenset(design.terms[column.term]) not in known for column in design.columns)


def _all_codes(formula: Formula, vocabulary: Vocabulary) -> Codes:
    """All declared codes of each factor."""
    found = {}
    for factor in formula.factors:
        variable = vocabulary.variable(factor.variable)
        if variable is not None:
            found[factor.variable, factor.level] = variable.level(factor.level).codes
    return found


def _two_codes(formula: Formula, vocabulary: Vocabulary) -> Codes:
    """Two codes of each factor, its reference among them where one is named: of one it does not vary."""
    named = {(factor.variable, factor.level): factor.reference for factor in formula.factors}
    return {
        level: tuple(sorted(codes, key=lambda code, level=level: code != named[level])[:2])  # type: ignore[misc]
        for level, codes in _all_codes(formula, vocabulary).items()
    }
