"""Whether a number that is an outcome has so few values that each of them is a class: a fact of the dataset.

How many values the people of a filter happen to have is not asked: a count of visits is a number in each
population, and 0 and 1 are two classes in each. Otherwise whether a model leaves would tell how few values
there are among some people, and change with a value more.
"""

from functools import lru_cache

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.linear_records import LinearQuery
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.methods.outputs.design import Transformed
from sdcgate.methods.outputs.formula import Numeric
from sdcgate.methods.outputs.implied_tables import FEW_VALUES

KEPT = 10_000
"""Measures of snapshots of which it is remembered."""


class FewValued:
    """Finds out; what it has counted in a snapshot's records it remembers, as these never change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept = lru_cache(maxsize=KEPT)(self._has_few)

    def outcome(self, plan: ModelPlan) -> bool:
        """Whether each value of a model's outcome is a class; classes and times are none of its matter.

        Raises ComputationFailed.
        """
        outcome = plan.formula.outcome
        if not isinstance(outcome, Numeric):
            return True
        dataset, name = plan.dataset, outcome.measure
        if name in plan.numbered:
            occurring = dataset.occurring(name) & ~(1 << (len(dataset.levels(name)[0].codes) - 1))
            return occurring.bit_count() <= FEW_VALUES
        return self._kept(dataset, name)

    def measure(self, dataset: Dataset, name: str) -> bool:
        """Whether a measure has few values in the whole dataset. Raises ComputationFailed."""
        return self._kept(dataset, name)

    def _has_few(self, dataset: Dataset, measure: str) -> bool:
        profile = dataset.profiles[measure]
        if profile.maximum - profile.minimum < FEW_VALUES:
            return True
        query = LinearQuery((), ((Transformed(measure, ""),),), (), (measure,))
        sums = self._engine.linear_sums(dataset, query)
        if sums.sampled()[0][0] > FEW_VALUES:
            return False
        return sums.different([0], [])[0][0] <= FEW_VALUES
