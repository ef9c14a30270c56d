"""The columns of a model: each a product of indicators `variable == code` and of transformed measures.

Columns are symbols: numpy evaluates them on records (`matrix`), and an engine may write them in its own
language. Codes that nobody has are no columns; the reference of a factor is the first declared code that
occurs, unless the formula names one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.contrasts import CodedTerm, Coding, code_terms
from sdcgate.methods.outputs.formula import Classes, Factor, Formula, Numeric, Term, term_text
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.splines import PiecewisePolynomial, spline_columns
from sdcgate.methods.outputs.transformations import SPLINE, TRANSFORMATIONS
from sdcgate.methods.outputs.vocabulary import Vocabulary

MOST_COLUMNS = 500
CONSTANT = "Intercept"

VariableLevel = tuple[str, str]
"""A variable's name and that of its level."""


@dataclass(frozen=True, slots=True)
class Indicator:
    """1 where a variable has a code at a level, 0 elsewhere."""

    variable: str
    level: str
    code: str


@dataclass(frozen=True, slots=True)
class Transformed:
    """A measure after one of `TRANSFORMATIONS`, or as it is (empty)."""

    measure: str
    transformation: str = ""


@dataclass(frozen=True, slots=True)
class SplinePiece:
    """One of the columns of a measure's spline."""

    measure: str
    polynomial: PiecewisePolynomial


Part = Indicator | Transformed | SplinePiece


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the product of its parts; of none it is the constant."""

    name: str
    term: int
    """Position of its term in `Design.terms`."""
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """All columns of a model, with the terms they come from and the reference of each factor."""

    terms: tuple[Term, ...]
    columns: tuple[Column, ...]
    references: tuple[tuple[Factor, str], ...]
    """Factors with the code that their coefficients are relative to."""
    occurring: tuple[tuple[VariableLevel, tuple[str, ...]], ...]
    """Codes that occur, in declared order, of each variable at each level that predicts."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def constant(self) -> int | None:
        """Position of the constant column, None where there is none."""
        return next((place for place, column in enumerate(self.columns) if not column.parts), None)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Complete records by column: codes as positions in the level's declared codes, measures as floats."""

    codes: Mapping[VariableLevel, IntArray]
    measures: Mapping[str, FloatArray]
    size: int


def build_design(
    formula: Formula, vocabulary: Vocabulary, occurring: Mapping[VariableLevel, tuple[str, ...]]
) -> Design:
    """The columns of a formula on a population in which these codes occur.

    `occurring` has, for each factor's variable and level, the codes that at least one record has, in any
    order. ModelProblemError where a factor has a single code, a named reference does not occur, or there
    would be more than MOST_COLUMNS.
    """
    codes = {key: _declared_order(vocabulary, key, found) for key, found in occurring.items()}
    problems = _factor_problems(formula, codes)
    if problems:
        raise ModelProblemError(problems)
    coded = code_terms(formula.intercept, formula.terms)
    counts = [_number_of_columns(one, codes, vocabulary) for one in coded]
    if sum(counts) > MOST_COLUMNS:
        largest = int(np.argmax(counts))
        message = (
            f"has more than {MOST_COLUMNS} columns, most of them of its term {term_text(coded[largest].term)}"
        )
        raise ModelProblemError([ModelProblem("formula", message)])
    columns = []
    for position, one in enumerate(coded):
        for coding in one.codings:
            columns += _columns_of(position, one.term, coding, codes, vocabulary)
    references = tuple((factor, _reference(factor, codes)) for factor in formula.factors)
    return Design(
        tuple(one.term for one in coded),
        tuple(columns),
        references,
        tuple((key, codes[key]) for key in dict.fromkeys((f.variable, f.level) for f in formula.factors)),
    )


def matrix(design: Design, vocabulary: Vocabulary, records: Records) -> FloatArray:
    """Values of the columns, shape (records, columns), each column contiguous."""
    values = np.empty((records.size, len(design.columns)), order="F")
    known: dict[Part, FloatArray] = {}
    for position, column in enumerate(design.columns):
        values[:, position] = 1.0
        for part in column.parts:
            if part not in known:
                known[part] = _part_values(part, vocabulary, records)
            values[:, position] *= known[part]
    return values


def outcome_values(outcome: Numeric, records: Records) -> FloatArray:
    """A numeric outcome, transformed where the formula says so."""
    return _transformed(Transformed(outcome.measure, outcome.transformation), records)


def refuse_undefined(part: Transformed | SplinePiece, vocabulary: Vocabulary, values: FloatArray) -> None:
    """ModelProblemError where a part is not defined for some of these values of its measure."""
    if isinstance(part, SplinePiece):
        measure = vocabulary.measure(part.measure)
        if measure is None or measure.spline is None or np.any(measure.spline.outside(values)):
            raise _not_defined(SPLINE, part.measure)
    elif part.transformation and np.any(TRANSFORMATIONS[part.transformation].outside(values)):
        raise _not_defined(part.transformation, part.measure)


def part_at(part: Transformed | SplinePiece, value: float) -> float:
    """A part where its measure has a value that it is defined for."""
    values = np.array([value])
    if isinstance(part, SplinePiece):
        return float(part.polynomial.evaluate(values)[0])
    return float(TRANSFORMATIONS[part.transformation].evaluate(values)[0] if part.transformation else value)


def event_values(outcome: Classes, vocabulary: Vocabulary, records: Records) -> FloatArray:
    """1 where a record's class is the event, 0 elsewhere."""
    factor = outcome.factor
    return _indicator(Indicator(factor.variable, factor.level, outcome.event), vocabulary, records)


def class_positions(
    outcome: Classes, vocabulary: Vocabulary, occurring: tuple[str, ...], records: Records
) -> tuple[tuple[str, ...], IntArray]:
    """Classes that occur, the reference first where one is named, and each record's position among them."""
    key = (outcome.factor.variable, outcome.factor.level)
    classes = list(_declared_order(vocabulary, key, occurring))
    if outcome.factor.reference in classes:
        classes.remove(outcome.factor.reference)
        classes.insert(0, outcome.factor.reference)
    declared = _declared(vocabulary, key)
    positions = np.full(len(declared), -1, dtype=np.int64)
    for place, code in enumerate(classes):
        positions[declared.index(code)] = place
    return tuple(classes), positions[records.codes[key]]


def _declared(vocabulary: Vocabulary, key: VariableLevel) -> tuple[str, ...]:
    variable = vocabulary.variable(key[0])
    if variable is None:
        raise KeyError(key[0])
    return variable.level(key[1]).codes


def _declared_order(vocabulary: Vocabulary, key: VariableLevel, found: tuple[str, ...]) -> tuple[str, ...]:
    present = frozenset(found)
    return tuple(code for code in _declared(vocabulary, key) if code in present)


def _factor_problems(formula: Formula, codes: Mapping[VariableLevel, tuple[str, ...]]) -> list[ModelProblem]:
    found = []
    for factor in formula.factors:
        present = codes[factor.variable, factor.level]
        if len(present) < 2:
            message = f"{factor.variable} does not vary in this population"
            found.append(ModelProblem("formula", message, variable=factor.variable))
        elif factor.reference and factor.reference not in present:
            message = f"the reference of {factor.variable} cannot serve in this population; name another"
            found.append(ModelProblem("formula", message, variable=factor.variable))
    return found


def _reference(factor: Factor, codes: Mapping[VariableLevel, tuple[str, ...]]) -> str:
    return factor.reference or codes[factor.variable, factor.level][0]


def _number_of_columns(
    coded: CodedTerm, codes: Mapping[VariableLevel, tuple[str, ...]], vocabulary: Vocabulary
) -> int:
    return sum(
        prod(len(codes[factor.variable, factor.level]) - (not full) for factor, full in coding.factors)
        * prod(len(_numeric_parts(numeric, vocabulary)) for numeric in coding.numerics)
        for coding in coded.codings
    )


def _columns_of(
    position: int,
    term: Term,
    coding: Coding,
    codes: Mapping[VariableLevel, tuple[str, ...]],
    vocabulary: Vocabulary,
) -> list[Column]:
    choices: dict[Factor | Numeric, list[tuple[str, Part]]] = {}
    for factor, full in coding.factors:
        reference = _reference(factor, codes)
        choices[factor] = [
            (f"{factor.name}[{'' if full else 'T.'}{code}]", Indicator(factor.variable, factor.level, code))
            for code in codes[factor.variable, factor.level]
            if full or code != reference
        ]
    for numeric in coding.numerics:
        choices[numeric] = _numeric_parts(numeric, vocabulary)
    in_order = [choices[part] for part in term if part in choices]
    columns = []
    # as in patsy and R, the first predictor's columns run fastest
    for reversed_choice in product(*reversed(in_order)):
        chosen = reversed_choice[::-1]
        name = ":".join(text for text, _ in chosen) or CONSTANT
        columns.append(Column(name, position, tuple(part for _, part in chosen)))
    return columns


def _numeric_parts(numeric: Numeric, vocabulary: Vocabulary) -> list[tuple[str, Part]]:
    if numeric.transformation != SPLINE:
        return [(numeric.text, Transformed(numeric.measure, numeric.transformation))]
    measure = vocabulary.measure(numeric.measure)
    if measure is None or measure.spline is None:
        raise KeyError(numeric.measure)
    polynomials = spline_columns(measure.spline)
    return [
        (f"{numeric.text}[{number}]", SplinePiece(numeric.measure, polynomial))
        for number, polynomial in enumerate(polynomials)
    ]


def _part_values(part: Part, vocabulary: Vocabulary, records: Records) -> FloatArray:
    match part:
        case Indicator():
            return _indicator(part, vocabulary, records)
        case Transformed():
            return _transformed(part, records)
        case _:
            return _spline_values(part, vocabulary, records)


def _spline_values(part: SplinePiece, vocabulary: Vocabulary, records: Records) -> FloatArray:
    values = records.measures[part.measure]
    refuse_undefined(part, vocabulary, values)
    return part.polynomial.evaluate(values)


def _not_defined(transformation: str, measure: str) -> ModelProblemError:
    message = f"{transformation} is not defined for all values of {measure} in this population"
    return ModelProblemError([ModelProblem("formula", message, variable=measure)])


def _indicator(part: Indicator, vocabulary: Vocabulary, records: Records) -> FloatArray:
    key = (part.variable, part.level)
    at = _declared(vocabulary, key).index(part.code)
    return np.asarray(records.codes[key] == at, dtype=np.float64)


def _transformed(part: Transformed, records: Records) -> FloatArray:
    values = records.measures[part.measure]
    if not part.transformation:
        return values
    transformation = TRANSFORMATIONS[part.transformation]
    if np.any(transformation.outside(values)):
        raise _not_defined(part.transformation, part.measure)
    return np.asarray(transformation.evaluate(values), dtype=np.float64)
