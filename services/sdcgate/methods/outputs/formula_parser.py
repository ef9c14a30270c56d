"""From the text of a formula to what it means: a grammar of its own, of which nothing is ever evaluated.

formula    = [outcome] "~" sum
sum        = ["+" | "-"] product {("+" | "-") product}
product    = interaction {("*" | "/") interaction}
interaction = power {":" power}
power      = atom [("^" | "**") ("2" | "3")]
atom       = "0" | "1" | "(" sum ")" | predictor          predictor: see `predictor_parser`
"""

from collections.abc import Callable
from functools import partial

from sdcgate.methods.outputs.contrasts import ordered_terms
from sdcgate.methods.outputs.formula import Classes, Factor, Formula, Outcome, Survival
from sdcgate.methods.outputs.formula_tokens import (
    LONGEST_FORMULA,
    FormulaError,
    FormulaProblem,
    Kind,
    SyntaxProblem,
    Token,
    shown,
    tokenize,
)
from sdcgate.methods.outputs.predictor_parser import PredictorParser
from sdcgate.methods.outputs.term_algebra import (
    ExpansionError,
    TermSet,
    crossing,
    interaction,
    minus,
    nesting,
    plus,
    power,
    single,
)
from sdcgate.methods.outputs.vocabulary import Vocabulary

DEEPEST = 30
"""Parentheses within each other."""


def parse_formula(text: str, vocabulary: Vocabulary, with_outcome: bool = True) -> Formula:
    """What a formula means; FormulaError with all problems where it is none.

    With `with_outcome` False it is a right side alone (instruments, random effects): `~ a + b` or `a + b`.
    """
    tokens, problems = tokenize(text)
    if len(text) > LONGEST_FORMULA:
        raise FormulaError(problems)
    parser = _FormulaParser(tokens, vocabulary, problems)
    try:
        formula = parser.formula(with_outcome)
    except SyntaxProblem as wrong:
        parser.problems.append(FormulaProblem(wrong.position, wrong.message))
        parser.look_at_the_rest()
        raise FormulaError(parser.problems) from None
    if not parser.problems:
        parser.problems += _wrong_together(formula)
    if parser.problems:
        raise FormulaError(parser.problems)
    return formula


class _FormulaParser(PredictorParser):
    """Sums and products of predictors."""

    def __init__(self, tokens: list[Token], vocabulary: Vocabulary, problems: list[FormulaProblem]) -> None:
        super().__init__(tokens, vocabulary, problems)
        self.depth = 0

    def formula(self, with_outcome: bool) -> Formula:
        outcome = None
        if with_outcome:
            if self.at_end() or self.here.text == "~":
                raise SyntaxProblem(self.here.position, "write the outcome before `~`")
            outcome = self.outcome()
            self.expect("~", "`~` separates the outcome from the terms")
        elif self.here.text == "~":
            self.take()
        if self.at_end():
            raise SyntaxProblem(self.here.position, "write terms after `~`; `1` is the constant alone")
        right = self.sum()
        if not self.at_end():
            raise SyntaxProblem(self.here.position, f"{shown(self.here)} is not expected here")
        intercept = not right.without_constant
        return Formula(outcome, intercept, ordered_terms(intercept, right.terms))

    def sum(self) -> TermSet:
        result = self._signed(TermSet()) if self.is_operator("+", "-") else self.product()
        while self.is_operator("+", "-"):
            result = self._signed(result)
        return result

    def _signed(self, left: TermSet) -> TermSet:
        sign = self.take()
        if self.is_operator("+", "-"):
            raise SyntaxProblem(self.here.position, "two signs stand beside each other")
        start = self.position
        right = self.product()
        zero = self.position == start + 1 and self.tokens[start].text == "0"
        operation = minus if sign.text == "-" else plus
        return self._expanded(sign, lambda: operation(left, right, zero))

    def product(self) -> TermSet:
        result = self.interaction()
        while self.is_operator("*", "/"):
            sign = self.take()
            right = self.interaction()
            operation = crossing if sign.text == "*" else nesting
            result = self._expanded(sign, partial(operation, result, right))
        return result

    def interaction(self) -> TermSet:
        result = self.power()
        while self.is_operator(":"):
            sign = self.take()
            result = self._expanded(sign, partial(interaction, result, self.power()))
        return result

    def power(self) -> TermSet:
        base = self.atom()
        if not self.is_operator("^", "**"):
            return base
        sign = self.take()
        exponent = self.take()
        if exponent.kind is not Kind.NUMBER or exponent.text not in {"2", "3"}:
            raise SyntaxProblem(exponent.position, "only the powers 2 and 3 of a sum of terms can be had")
        if len(base.terms) == 1:
            raise SyntaxProblem(
                sign.position, "a power of one term is the term itself; square(...) and cube(...) are powers"
            )
        return self._expanded(sign, lambda: power(base, int(exponent.text)))

    def atom(self) -> TermSet:
        if self.is_operator("("):
            return self._in_parentheses()
        if self.here.kind is Kind.NUMBER:
            number = self.take()
            if number.text not in {"0", "1"}:
                message = "a formula has no numbers but 0 and 1 (without and with a constant) and powers 2, 3"
                raise SyntaxProblem(number.position, message)
            return TermSet((), number.text == "1", number.text == "0")
        predictor = self.predictor()
        return TermSet() if predictor is None else single(predictor)

    def _in_parentheses(self) -> TermSet:
        opening = self.take()
        self.depth += 1
        if self.depth > DEEPEST:
            raise SyntaxProblem(opening.position, f"more than {DEEPEST} parentheses within each other")
        result = self.sum()
        self.expect(")", "a parenthesis is not closed")
        self.depth -= 1
        return result

    def _expanded(self, at: Token, operation: Callable[[], TermSet]) -> TermSet:
        try:
            return operation()
        except ExpansionError as wrong:
            raise SyntaxProblem(at.position, str(wrong)) from None


def _wrong_together(formula: Formula) -> list[FormulaProblem]:
    found = [] if formula.terms or formula.intercept else [FormulaProblem(0, "no term is left")]
    references: dict[tuple[str, str], set[str]] = {}
    for factor in formula.factors:
        references.setdefault((factor.variable, factor.level), set()).add(factor.reference)
    for (variable, _), named in references.items():
        if len(named) > 1:
            message = f"{variable} stands with different references; name it the same way"
            found.append(FormulaProblem(0, message))
    of_outcome = outcome_names(formula.outcome)
    predictors = dict.fromkeys(part for term in formula.terms for part in term)
    names = [part.variable if isinstance(part, Factor) else part.measure for part in predictors]
    for name in dict.fromkeys(names):
        if name in of_outcome:
            found.append(FormulaProblem(0, f"{name} is the outcome and cannot explain itself"))
    return found


def outcome_names(outcome: Outcome | None) -> frozenset[str]:
    """Names of the variables and measures that an outcome is made of."""
    match outcome:
        case None:
            return frozenset()
        case Classes():
            return frozenset({outcome.factor.variable})
        case Survival():
            return frozenset({outcome.time.measure, outcome.status.factor.variable})
        case _:
            return frozenset({outcome.measure})
