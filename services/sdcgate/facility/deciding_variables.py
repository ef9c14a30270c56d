"""Factors of which one decides another in a dataset: no model of both can be estimated, whoever is asked.

That a population's columns follow from each other tells of its people, and so the ledger keeps what a fit
said of them. Where it is so in the whole dataset there is nothing to keep, if two things hold.

The refusal must not rest on the population. Whoever is in it, each combination of codes that its people have
is one that the dataset's have: a function on all records is one on any part of them. So it is said before a
record of the population is looked at.

And it must not tell of few that they are the exception: of a model refused in a part, and answered in all but
a few more, anybody would know that these few break the rule. So a variable counts as decided, too, where
fewer units than a cell must have break the rule, and is refused in the same words in each population, theirs
among them; where more do, that tells of as many. That a record lacks a value is a code like any other here.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import RecordsQuery
from sdcgate.facility.model_plan import Level, ModelPlan
from sdcgate.methods.cells import IntArray
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.formula import Classes, Factor, Numeric
from sdcgate.methods.rules import ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

DECIDED = "In all or nearly all records of {dataset} {other} follows from {one}: no model can have both."
INSTEAD = "Leave {one} or {other} out."
KEPT = 10_000
"""Pairs of levels in snapshots of which it is remembered."""
OUTCOME_INSTEAD = "Ask another outcome than {other}, or another term than {one}."


class DecidingVariables:
    """Finds them; what it has looked for in a snapshot's records it remembers, as these never change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept = lru_cache(maxsize=KEPT)(self._decides)

    def reasons(self, plan: ModelPlan) -> list[pb.Reason]:
        """Against terms of a model of which one factor decides another, or a variable used as a number.

        Of a sensitive variable it is not told that it follows from another. Raises ComputationFailed.
        """
        rule = plan.policy.rules.minimum_units
        if rule is None:
            return []
        found: dict[frozenset[str], pb.Reason] = {}
        for one, other in _pairs(plan):
            names = frozenset({one[0], other[0]})
            if names not in found and self._kept(plan.dataset, one, other, rule.units):
                found[names] = pb.Reason(
                    code=policy_pb2.ReasonCode.Name(ReasonCode.NOT_ESTIMABLE.value),
                    message=DECIDED.format(dataset=plan.dataset.name, one=one[0], other=other[0]),
                    suggestion=_instead(plan, other[0]).format(one=one[0], other=other[0]),
                )
        return list(found.values())

    def _decides(self, dataset: Dataset, one: Level, other: Level, few: int) -> bool:
        """Whether `other` follows from `one` for all units but fewer than `few`."""
        return self._exceptions(dataset, one, other, few) < few

    def _exceptions(self, dataset: Dataset, one: Level, other: Level, few: int) -> int:
        """Units with a record whose code of `other` is not the usual one of its code of `one`.

        Any number of `few` or more where there are so many.
        """
        codes, records = self._engine.occurring_codes(dataset, (one[0], other[0]))
        deciding, decided = (
            np.array(dataset.level(*level).members)[codes[:, place]]
            for place, level in enumerate((one, other))
        )
        usual = _usual(deciding, decided, records)
        if len(np.unique(usual[deciding])) == 1:
            # Nearly all have the same code: the tables of a model judge whether the others are enough.
            return few
        exceptions = int(records[usual[deciding] != decided].sum())
        if exceptions == 0 or exceptions >= few * dataset.records_per_unit:
            return exceptions
        people = self._engine.records(dataset, RecordsQuery((one, other)))
        apart = usual[people.codes[one]] != people.codes[other]
        return len(np.unique(people.unit[apart]))


def _usual(deciding: IntArray, decided: IntArray, records: IntArray) -> IntArray:
    """For each code of a variable the code of another that most records with it have."""
    pairs, at = np.unique(np.column_stack([deciding, decided]), axis=0, return_inverse=True)
    together = np.bincount(at.reshape(-1), weights=records).astype(np.int64)
    rising = np.lexsort((together, pairs[:, 0]))
    usual = np.zeros(int(deciding.max(initial=-1)) + 1, dtype=np.int64)
    # Of a code that stands there several times the last one is kept: that of most records.
    usual[pairs[rising, 0]] = pairs[rising, 1]
    return usual


def _pairs(plan: ModelPlan) -> Iterator[tuple[Level, Level]]:
    """A factor with a term of its own, and another variable, or outcome, that it may decide.

    What is constant within groups has no effect beside fixed effects of these.
    """
    alone = [term[0] for term in plan.formula.terms if len(term) == 1]
    factors = [(part.variable, part.level) for part in alone if isinstance(part, Factor)]
    numbers = [
        (part.measure, plan.dataset.levels(part.measure)[0].name)
        for part in alone
        if isinstance(part, Numeric) and part.measure in plan.numbered
    ]
    numbers += _outcome(plan)
    groups = [plan.groups] if plan.groups and plan.options.family is Family.FIXED_EFFECTS else []
    for one in dict.fromkeys((*groups, *factors)):
        for other in dict.fromkeys((*factors, *numbers)):
            if one[0] != other[0] and not plan.dataset.sensitive(other[0]):
                yield one, other


def _outcome(plan: ModelPlan) -> list[Level]:
    """The outcome where it has codes: its classes, or numbers; what ends a time is none."""
    outcome = plan.formula.outcome
    if isinstance(outcome, Numeric) and outcome.measure in plan.numbered:
        return [(outcome.measure, plan.dataset.levels(outcome.measure)[0].name)]
    return [(outcome.factor.variable, outcome.factor.level)] if isinstance(outcome, Classes) else []


def _instead(plan: ModelPlan, decided: str) -> str:
    return OUTCOME_INSTEAD if decided in {variable for variable, _ in _outcome(plan)} else INSTEAD
