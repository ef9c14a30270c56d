"""Whether that a model cannot be estimated would tell that a measure is the same for all who are alike.

Its tables are of one term each. A measure that is a sum of something for each site and something for each
age does not vary within the cells of site by age, and follows from both terms: who knows his own value would
know those of his whole cell. A table of its sums by both would withhold all of them.
"""

from collections.abc import Callable
from math import prod

from sdcgate.engine.engine import Engine
from sdcgate.engine.linear_records import LinearQuery
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.methods.outputs.design import Transformed
from sdcgate.methods.tables.sensitivity import equal_values

MOST_CELLS = 2**62
"""Of the codes of all factors together, as the number of a cell has 64 bits."""


def told_by_factors(engine: Engine, plan: ModelPlan, in_time: Callable[[], None]) -> bool:
    """Whether a measure of a model has (nearly) one value in each cell of all its factors together.

    Not where each cell has a single record: of such cells nothing could be told. `in_time` raises once the
    time is over. Raises ComputationFailed.
    """
    rule, levels = plan.policy.rules.equal_values, plan.factor_levels
    if rule is None or not levels:
        return False
    if prod(len(plan.dataset.level(*level).codes) for level in levels) >= MOST_CELLS:
        return True
    for measure in plan.valid:
        in_time()
        query = LinearQuery(levels, ((Transformed(measure, ""),),), plan.population, plan.valid)
        found = engine.linear_sums(plan.dataset, query).ranges()
        alike = equal_values(found.lowest[0], found.highest[0], found.records, rule.tolerance)
        if alike.all() and (found.records > 1).any():
            return True
    return False
