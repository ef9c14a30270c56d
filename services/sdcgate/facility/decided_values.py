"""Weights and measures that variables decide: whoever knows somebody's codes knows what he has of them.

In a sample that is drawn town by town everybody of a town may have the same weight, and after calibration by
sex and age everybody of the same sex and age. A month that is a variable may be a measure as well. What
others learn of their sums are equations of counts by these variables (`decided_sums`), and so are weighted
sums of such a measure, which are no sums of what one variable decides.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from math import prod

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.boxes import compressed, occurring_places
from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.tables.boxes import NOBODY, Box, intersection, make_box
from sdcgate.methods.tables.combined_sums import Decided

KEPT = 1_000
"""Quantities of snapshots of which it is remembered."""
FEW = 3
"""What has fewer records for each combination of codes is decided by any."""


class DecidedValues:
    """Finds them; what it has looked for in a snapshot's records it remembers, as these never change."""

    def __init__(self, engine: Engine, pairs: bool = False) -> None:
        """`pairs`: of measures, too, two variables together are looked at."""
        self._engine = engine
        self._pairs = pairs
        self._kept = lru_cache(maxsize=KEPT)(self._looked_for)

    def of(self, dataset: Dataset, quantity: str) -> tuple[Decided, ...]:
        """By which variables a quantity is decided; none where it is not.

        Of the weight, and of a measure that is not weighted: one variable, or two of which none does alone.
        Of a measure that is weighted: those of the weight and those of the measure, where both are decided.
        Raises SnapshotDamaged.
        """
        weighted, measure = quantity.startswith(WEIGHTED_PREFIX), quantity.removeprefix(WEIGHTED_PREFIX)
        lowest, highest = dataset.weight_bounds
        if weighted and not (dataset.weighted and lowest < highest):
            return ()
        named = measure in dataset.profiles or quantity == WEIGHTED_PREFIX
        return self._kept(dataset, quantity) if named else ()

    def _looked_for(self, dataset: Dataset, quantity: str) -> tuple[Decided, ...]:
        if quantity.startswith(WEIGHTED_PREFIX) and quantity != WEIGHTED_PREFIX:
            of_measure = self._kept(dataset, quantity.removeprefix(WEIGHTED_PREFIX))
            of_weight = self._kept(dataset, WEIGHTED_PREFIX) if of_measure else ()
            return tuple(_product(weighs, has) for weighs in of_weight for has in of_measure)
        names = dict.fromkeys(
            dataset.variation[one.name].determined_by or one.name for one in dataset.descriptor.variables
        )
        measure = "" if quantity == WEIGHTED_PREFIX else quantity
        different = self._engine.distinct_values(dataset, measure)
        if different < 2:
            return ()
        found = list(self._decided(dataset, measure, different, ((name,) for name in names)))
        if not found and (self._pairs or not measure):
            found = list(self._decided(dataset, measure, different, combinations(names, 2)))
        return tuple(found)

    def _decided(
        self, dataset: Dataset, measure: str, different: int, tried: Iterable[tuple[str, ...]]
    ) -> Iterator[Decided]:
        for variables in tried:
            # Fewer combinations of codes than values decide nothing: most are settled without a scan.
            if prod(dataset.occurring(name).bit_count() for name in variables) < different:
                continue
            values = self._engine.decided_values(dataset, variables, measure)
            if values is not None and dataset.n_records >= FEW * len(values[1]):
                full = {name: compressed(dataset, name, dataset.full_mask(name)) for name in variables}
                yield Decided(_parts(dataset, full, *values), full)


def _product(weight: Decided, measure: Decided) -> Decided:
    """What everybody has of a measure times what he weighs; the same variable may decide both."""
    parts = tuple(
        (inside, weighs * has)
        for box, weighs in weight.parts
        for other, has in measure.parts
        if (inside := intersection(box, other)) != NOBODY
    )
    return Decided(parts, {**weight.full, **measure.full})


def _parts(
    dataset: Dataset, full: Mapping[str, int], codes: IntArray, values: FloatArray
) -> tuple[tuple[Box, float], ...]:
    """Boxes of who has the same value: of the same code of all variables but the last."""
    variables = tuple(full)
    masks: dict[tuple[Box, float], int] = defaultdict(int)
    places = [
        np.searchsorted(occurring_places(dataset, name), codes[:, at]) for at, name in enumerate(variables)
    ]
    for row, value in zip(np.column_stack(places).tolist(), values.tolist(), strict=True):
        first = tuple((name, 1 << place) for name, place in zip(variables[:-1], row[:-1], strict=True))
        masks[first, value] |= 1 << row[-1]
    # Of a town where both sexes have the same the box is that of the town.
    return tuple(
        (make_box((*first, (variables[-1], mask)), full), value) for (first, value), mask in masks.items()
    )
