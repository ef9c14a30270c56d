"""Coarser models: which there are of one that was asked, and how much of it each of them loses.

A variable may be asked by a coarser level, in all terms alike, an interaction left out, and then a term. All
of it rests on formula, filter and public code lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2

from sdcgate.facility.coarser_levels import coarser_levels
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.model_plan import ModelPlan, make_model_plan
from sdcgate.methods.outputs.contrasts import ordered_terms
from sdcgate.methods.outputs.design import MOST_COLUMNS
from sdcgate.methods.outputs.formula import (
    Classes,
    Factor,
    Formula,
    Predictor,
    Survival,
    Term,
)
from sdcgate.methods.tables.redesign import Design, Ladder, Partition, code_entropy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

NUMBER_BITS = log2(MOST_COLUMNS)
"""What a number tells, in bits: as much as a factor of as many codes as a model has columns at most."""
KEPT: Partition = (0, 1)
"""The partition of what is no variable, where it is in the model."""


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable that a model uses at a level, with its coarser ones."""

    name: str
    levels: tuple[str, ...]
    partitions: tuple[Partition, ...]
    """Of the codes that the filter leaves; in the first each is a group."""
    droppable: bool


class ModelDesigns:
    """The designs of a model: a partition a variable, then for each other term whether it stays."""

    def __init__(self, plan: ModelPlan, request: pb.QueryModelRequest) -> None:
        self.plan = plan
        self._request = request
        self._terms = tuple(
            dict.fromkeys(term for formula in plan.formulas for term in formula.terms if term)
        )
        self._droppable = _droppable_terms(plan)
        self._variables = tuple(self._found_variables())
        self._places = {variable.name: place for place, variable in enumerate(self._variables)}
        others = [term for term in self._terms if not _is_factor(term)]
        self._others = {term: place for place, term in enumerate(others, len(self._variables))}

    @cached_property
    def ladders(self) -> tuple[Ladder, ...]:
        """How each part of a design may be coarsened."""
        variables = [Ladder(one.partitions, droppable=one.droppable) for one in self._variables]
        return (*variables, *(Ladder((KEPT,), droppable=term in self._droppable) for term in self._others))

    def entropy(self, design: Design) -> float:
        """What a design tells, in bits: of each of its terms how many combinations of codes it tells apart.

        Codes count as equally likely: it depends on nobody's data.
        """
        own = [code_entropy((design[place],)) for place in range(len(self._variables))]
        bits = sum(own[self._places[name]] for name in self._beside)
        for term in self._terms:
            if self._keeps(design, term):
                bits += sum(
                    own[self._places[part.variable]] if isinstance(part, Factor) else NUMBER_BITS
                    for part in term
                )
        return bits

    def without_interactions(self, coarsest: bool) -> Design:
        """The design of the terms of one predictor, at the levels asked or at the `coarsest`."""
        factors = (part for term in self._terms if _is_factor(term) for part in term)
        alone = {*self._beside, *(part.variable for part in factors if isinstance(part, Factor))}
        found = []
        for one, ladder in zip(self._variables, self.ladders, strict=False):
            stays = one.name in alone or not ladder.droppable
            found.append(one.partitions[-1 if coarsest else 0] if stays else ladder.dropped)
        for term in self._others:
            stays = len(term) == 1 or term not in self._droppable
            found.append(KEPT if stays else Ladder((KEPT,)).dropped)
        return tuple(found)

    def request(self, design: Design) -> pb.QueryModelRequest | None:
        """The request for a design; None of the model as it was asked, and of a design that is no model.

        An interaction needs its terms, and a variable that is no longer used has no level.
        """
        if design == tuple(ladder.levels[0] for ladder in self.ladders) or not self._is_model(design):
            return None
        request = pb.QueryModelRequest()
        request.CopyFrom(self._request)
        request.ClearField("project")
        request.formula = self._coarser(self.plan.formula, design).canonical()
        if self.plan.instruments is not None:
            request.instruments = (
                self._coarser(self.plan.instruments, design).canonical().removeprefix("~").strip()
            )
        if self.plan.groups is not None:
            variable, level = self.plan.groups
            request.groups = f"{variable}:{self._level(design, variable) or level}"
        return request

    def coarser_plan(self, request: pb.QueryModelRequest) -> ModelPlan | None:
        """The plan of a design's request; None where it cannot be asked so."""
        try:
            plan = make_model_plan(self.plan.dataset, self.plan.policy, request)
        except InvalidRequest:
            return None
        return replace(plan, project=self.plan.project)

    def tables(self, design: Design) -> Iterator[dict[str, Partition]]:
        """Of each term that stays its variables' partitions, those of the outcome's classes among them."""
        outcome = self.plan.outcome_level
        beside = {*self._beside} & ({outcome[0]} if outcome else set())
        for term in (*self._terms, ()):
            if self._keeps(design, term):
                names = {part.variable for part in term if isinstance(part, Factor)} | beside
                yield {name: design[self._places[name]] for name in names if name in self._places}

    @cached_property
    def _beside(self) -> tuple[str, ...]:
        """Variables that stand beside the terms: classes of the outcome, and groups."""
        found = [level[0] for level in (self.plan.outcome_level, self.plan.groups) if level]
        return tuple(name for name in dict.fromkeys(found) if name in self._places)

    def _found_variables(self) -> Iterator[_Variable]:
        plan = self.plan
        beside = dict(level for level in (plan.outcome_level, plan.groups) if level)
        levels = {factor.variable: factor.level for factor in plan.factors}
        # Codes that are used as numbers have no level to be coarsened.
        levels |= {name: level for name, level in beside.items() if name not in plan.coded}
        fixed = _fixed(plan)
        for variable, level in sorted(levels.items()):
            codes = plan.codes_left(variable, level)
            names, partitions = coarser_levels(plan.dataset, variable, level, codes)
            found = [
                (name, one)
                for name, one in zip(names[1:], partitions[1:], strict=True)
                if variable not in fixed and max(one) > 0
            ]
            using = [term for term in self._terms if _uses(term, variable)]
            yield _Variable(
                variable,
                (level, *(name for name, _ in found)),
                # A variable of one code is told from one that is left out by a second, which nobody has.
                (partitions[0] if len(codes) > 1 else KEPT, *(one for _, one in found)),
                variable not in beside and all(term in self._droppable for term in using),
            )

    def _keeps(self, design: Design, term: Term) -> bool:
        if not term:
            return True
        if _is_factor(term):
            (factor,) = term
            return isinstance(factor, Factor) and self._uses(design, factor.variable)
        return design[self._others[term]] == KEPT

    def _uses(self, design: Design, variable: str) -> bool:
        return max(design[self._places[variable]]) > 0

    def _is_model(self, design: Design) -> bool:
        kept = [term for term in self._terms if self._keeps(design, term)]
        gone = [term for term in self._terms if term not in kept]
        used = {part.variable for term in kept for part in term if isinstance(part, Factor)}
        used |= {*self._beside}
        shown = {variable.name for variable in self._variables if self._uses(design, variable.name)}
        return (
            bool(kept) and used == shown and not any(set(less) < set(term) for term in kept for less in gone)
        )

    def _coarser(self, formula: Formula, design: Design) -> Formula:
        terms = [
            tuple(self._part(design, part) for part in term)
            for term in formula.terms
            if self._keeps(design, term)
        ]
        outcome = formula.outcome
        if isinstance(outcome, Classes) and not outcome.event:
            level = self._level(design, outcome.factor.variable)
            outcome = Classes(Factor(outcome.factor.variable, level, plain=False)) if level else outcome
        return Formula(outcome, formula.intercept, ordered_terms(formula.intercept, tuple(terms)))

    def _part(self, design: Design, part: Predictor) -> Predictor:
        if isinstance(part, Factor) and (level := self._level(design, part.variable)):
            return Factor(part.variable, level, plain=False)
        return part

    def _level(self, design: Design, variable: str) -> str:
        """The coarser level of a variable; empty where it stays as it was asked."""
        if variable not in self._places:
            return ""
        place = self._places[variable]
        known = self._variables[place]
        at = known.partitions.index(design[place])
        return known.levels[at] if at else ""


def _is_factor(term: Term) -> bool:
    return len(term) == 1 and isinstance(term[0], Factor)


def _uses(term: Term, variable: str) -> bool:
    return any(isinstance(part, Factor) and part.variable == variable for part in term)


def _droppable_terms(plan: ModelPlan) -> frozenset[Term]:
    """Terms that the model may do without: of two-stage least squares those that are exogenous."""
    terms = frozenset(term for term in plan.formula.terms if term)
    if not plan.instruments:
        return terms
    exogenous = set(map(frozenset, plan.instruments.terms))
    return frozenset(term for term in terms if frozenset(term) in exogenous)


def _fixed(plan: ModelPlan) -> frozenset[str]:
    """Variables that stay at their level: their codes are numbers, or one of them is an event."""
    outcome = plan.formula.outcome
    status = outcome.status if isinstance(outcome, Survival) else outcome
    event = {status.factor.variable} if isinstance(status, Classes) and status.event else set()
    return frozenset({*plan.numbered, *event})
