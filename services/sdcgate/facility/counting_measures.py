"""Measures of which a noisy sum is a count all the same: noise of sums is less than one person's value.

A sum moves by a share of its largest contribution, so it hides a person's value and not that he is there.
Where all in a cell have the same value, as the years of those aged 50, their sum over that value is how many
they are, within six tenths of one: 445.33 years are nine people. Where values are 0 and 1 the sum of a town
is how many have a 1. So under noise a measure of few values is asked as a variable, by counts; and one that a
variable decides, or two together, is not answered, whoever is asked. What gaps protect is compared with all
that left by equations (`decided_sums`), which nobody has of noise.
"""

from functools import lru_cache

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility.coded_values import decides, is_code, units_of_codes
from sdcgate.facility.decided_values import DecidedValues
from sdcgate.methods.outputs.implied_tables import FEW_VALUES

KEPT = 10_000
"""Measures of snapshots of which it is remembered."""
MOST_PAIRS = 4_000_000
"""Codes by values that are counted; of more only what follows from codes in all records is found."""
OF_FEW_VALUES = (
    f"{{measure}} has at most {FEW_VALUES} values in {{dataset}}: noise of its sums would not hide how many "
    "people have each of them."
)
AS_VARIABLE = "Leave {measure} out; declared as a variable it could be asked by counts."


class CountingMeasures:
    """Finds them; what it has looked for in a snapshot's records it remembers, as these never change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._values = DecidedValues(engine, pairs=True)
        self._kept = lru_cache(maxsize=KEPT)(self._looked_for)

    def decided(self, dataset: Dataset, measure: str, few: int) -> bool:
        """Whether codes decide its values for all units but fewer than `few`. Raises ComputationFailed."""
        return self._kept(dataset, measure, few)

    def _looked_for(self, dataset: Dataset, measure: str, few: int) -> bool:
        if self._values.of(dataset, measure):
            return True
        different = self._engine.distinct_values(dataset, measure)
        for one in dataset.descriptor.variables:
            if is_code(self._engine, dataset, measure, one.name):
                return True
            codes = dataset.occurring(one.name).bit_count()
            # With more values there are more exceptions than a few, and nothing need be counted.
            counted = different < codes + few and codes * different <= MOST_PAIRS
            if counted and decides(units_of_codes(self._engine, dataset, measure, one.name), few):
                return True
        return False
