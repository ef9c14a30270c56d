"""Measures that are something else by another name, and are told of by that alone.

A measure that is a variable. Its sums are counts of codes.

Of 100 people in a town five are ill. The table of town by illness withholds the five; the sum of a measure
that is 1 for the ill and 0 for others is five all the same, and breaks no rule on contributors. Of a number
of children that is a variable and a measure as well, counts and sums by town are two equations of the same
counts: where a table withholds two of a town's, its sum tells both. No audit of counts knows the equation.

So such a measure is asked by its variable. From the counts anybody has the sums, and the counts are judged,
protected and compared with all that left. It is a measure of few values, as of many a sum is one equation of
many counts; and it is refused whoever is asked, in the same words, before its population is looked at. A few
exceptions change nothing, as in `deciding_variables`: an answer would tell of them. The variable is named
where its codes are the values, as numbers of children are. Otherwise it would be told that all people of a
code have the same: then the answer is that of too few people.

A measure that is another in another unit, as a year's income is twelve months'. What one tells, and what has
left of it, is compared with figures of the same name: asked in months of all, and in years of all but a few,
it is two figures of which nobody sees that they are one. So only the one that the descriptor names first is
told of. That two measures are one is found at registration (`additive_measures`).

Under noise more measures are told of by their sums than these (`counting_measures`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.coded_values import decides, is_code, units_of_codes
from sdcgate.facility.counting_measures import AS_VARIABLE, OF_FEW_VALUES, CountingMeasures
from sdcgate.facility.few_valued import FewValued
from sdcgate.facility.refusals import Refusal
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

OF_VARIABLE = (
    "In all records of {dataset} {measure} is the code of {other}: its figures are counts under another name."
)
VARIABLE_INSTEAD = (
    "Leave {measure} out and ask counts by {other}, or the proportion that has some of its codes."
)
OF_MEASURE = "In all records of {dataset} {measure} is {other} in another unit."
MEASURE_INSTEAD = "Ask {other} in place of {measure}."
OF_FEW = "It rests on too few units, or would reveal some that do, together with other answers."
FEW_INSTEAD = "Ask another measure, or counts."
KEPT = 10_000
"""Measures of snapshots of which it is remembered."""


class CodedMeasures:
    """Finds them; what it has looked for in a snapshot's records it remembers, as these never change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._few_valued = FewValued(engine)
        self._counting = CountingMeasures(engine)
        self._kept = lru_cache(maxsize=KEPT)(self._looked_for)

    def refusal(self, dataset: Dataset, policy: EffectivePolicy, measures: Iterable[str]) -> Refusal | None:
        """Against figures of measures that a variable decides; None where there are none.

        Raises ComputationFailed.
        """
        found = tuple(self._reasons(dataset, policy, measures))
        return Refusal(Consequence.REFUSE, found, ()) if found else None

    def _reasons(
        self, dataset: Dataset, policy: EffectivePolicy, measures: Iterable[str]
    ) -> Iterator[pb.Reason]:
        rule = policy.rules.minimum_units
        for measure in dict.fromkeys(measures):
            names = {"dataset": dataset.name, "measure": measure}
            decided = self._kept(dataset, measure, rule.units) if rule is not None else None
            if decided is not None and decided.is_code:
                yield _reason(
                    ReasonCode.NOT_ALLOWED, OF_VARIABLE, VARIABLE_INSTEAD, other=decided.variable, **names
                )
            elif decided is not None:
                yield _reason(ReasonCode.MINIMUM_UNITS, OF_FEW, FEW_INSTEAD)
            elif other := _in_another_unit(dataset, measure):
                yield _reason(ReasonCode.NOT_ALLOWED, OF_MEASURE, MEASURE_INSTEAD, other=other, **names)
            elif policy.cell_keys is not None and self._few_valued.measure(dataset, measure):
                yield _reason(ReasonCode.NOT_ALLOWED, OF_FEW_VALUES, AS_VARIABLE, **names)
            elif policy.cell_keys is not None and self._counting.decided(
                dataset, measure, rule.units if rule is not None else 1
            ):
                yield _reason(ReasonCode.MINIMUM_UNITS, OF_FEW, FEW_INSTEAD)

    def _looked_for(self, dataset: Dataset, measure: str, few: int) -> "_Decided | None":
        """The variable from which a measure of few values follows; one whose codes are the values first."""
        if not self._few_valued.measure(dataset, measure):
            return None
        found = []
        for variable in dataset.descriptor.variables:
            if decides(units_of_codes(self._engine, dataset, measure, variable.name), few):
                coded = is_code(self._engine, dataset, measure, variable.name)
                found.append(_Decided(variable.name, coded))
        return min(found, key=lambda one: (not one.is_code, one.variable), default=None)


@dataclass(frozen=True, slots=True)
class _Decided:
    """The variable that a measure is."""

    variable: str
    is_code: bool
    """Whether its codes are the values."""


def _reason(code: ReasonCode, said: str, instead: str, **names: str) -> pb.Reason:
    return pb.Reason(
        code=policy_pb2.ReasonCode.Name(code.value),
        message=said.format(**names),
        suggestion=instead.format(**names),
    )


def _in_another_unit(dataset: Dataset, measure: str) -> str:
    """The measure that this one is, of those before it in the descriptor; empty where there is none."""
    before = [one.name for one in dataset.descriptor.measures]
    before = before[: before.index(measure)]
    same = {name for group in dataset.additive if len(group) == 2 and measure in group for name in group}
    return next((name for name in before if name in same), "")
