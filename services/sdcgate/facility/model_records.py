"""The records of a model's population, as its design needs them."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import RecordsQuery
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.facility.model_vocabulary import code_numbers
from sdcgate.methods.cells import FloatArray, IntArray, KeyArray
from sdcgate.methods.outputs.design import Records, VariableLevel


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Complete records of a model's population, with their units and weights."""

    records: Records = field(repr=False)
    codes: dict[VariableLevel, IntArray] = field(repr=False)
    """Codes of all levels that the model names, those of its groups and of its numbers among them."""
    unit: IntArray = field(repr=False)
    unit_keys: KeyArray = field(repr=False)
    weights: FloatArray | None = field(repr=False)
    groups: IntArray = field(repr=False)
    """What has effects of its own in models of fixed and random effects, as numbers from 0."""
    strata: IntArray | None = field(repr=False)
    clusters: IntArray | None = field(repr=False)
    """Primary units of the sample, where the descriptor says them."""
    occurring: dict[VariableLevel, tuple[str, ...]] = field(repr=False)
    """Codes that some record has."""


def read_population(engine: Engine, plan: ModelPlan) -> Population:
    """Read it from the engine; the records do not leave the house."""
    dataset = plan.dataset
    factors = {(factor.variable, factor.level) for factor in plan.factors}
    if plan.outcome_level is not None:
        factors.add(plan.outcome_level)
    numbered = {(name, dataset.levels(name)[0].name) for name in plan.numbered}
    design = dataset.descriptor.design
    drawn = {name: (name, dataset.levels(name)[0].name) for name in (design.stratum, design.psu) if name}
    grouped = {plan.groups} if plan.groups else set()
    levels = tuple(sorted({*factors, *numbered, *drawn.values(), *grouped}))
    found = engine.records(dataset, RecordsQuery(levels, plan.valid, plan.population))
    measures = dict(found.measures)
    for name, level in numbered:
        numbers = code_numbers(dataset, name)
        if numbers is None:
            raise LookupError(f"the codes of {name} are no numbers")
        measures[name] = numbers[found.codes[name, level]]
    codes = {level: found.codes[level] for level in sorted(factors)}
    return Population(
        records=Records(codes, measures, len(found.unit)),
        codes={level: found.codes[level] for level in sorted({*factors, *grouped, *numbered})},
        unit=found.unit,
        unit_keys=found.unit_keys,
        weights=found.weights if plan.weighted else None,
        groups=found.codes[plan.groups] if plan.groups else found.unit,
        strata=found.codes[drawn[design.stratum]] if design.stratum else None,
        clusters=found.codes[drawn[design.psu]] if design.psu else None,
        occurring={
            level: tuple(dataset.level(*level).codes[place] for place in np.unique(positions).tolist())
            for level, positions in codes.items()
        },
    )
