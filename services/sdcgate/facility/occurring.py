"""What people have in truth, by joint codes: with it the joint audit begins. None of it leaves the house."""

from functools import lru_cache

import numpy as np

from sdcgate.engine.dataset import Dataset, UnknownName
from sdcgate.engine.engine import Engine
from sdcgate.facility.boxes import occurring_places
from sdcgate.methods.cells import IntArray
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.joint_boxes import Variables

MOST_RECORDS = 1_000_000
"""Of more records counting costs more than it saves."""
MOST_COMBINATIONS = 50_000
KEPT = 16
"""Sets of variables whose combinations are kept, those asked last."""


class Occurring:
    """The combinations of codes that occur in datasets, and how many have them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept = lru_cache(maxsize=KEPT)(self._counted)

    def held(self, dataset: Dataset, units: bool, variables: Variables) -> Held | None:
        """How many records, or units, have each combination; None where counting them would cost too much.

        Of units only variables may be asked that do not vary within them.
        """
        if dataset.n_records > MOST_RECORDS or not self._engine.embedded:
            return None
        return self._kept(dataset.name, dataset.version, units, tuple(sorted(variables)))

    def _counted(self, name: str, version: int, units: bool, variables: tuple[str, ...]) -> Held | None:
        try:
            found, amounts = combinations(self._engine, self._engine.dataset(name, version), variables, units)
        except UnknownName:
            # Another version of the dataset has it.
            return None
        if len(amounts) > MOST_COMBINATIONS:
            return None
        return Held(found, amounts.astype(np.float64))


def combinations(
    engine: Engine, dataset: Dataset, variables: tuple[str, ...], units: bool = False
) -> tuple[Combinations, IntArray]:
    """The joint codes that occur, as boxes tell them: by codes that occur; and their records or units."""
    codes, amounts = engine.occurring_codes(dataset, variables, units)
    places = [
        np.searchsorted(occurring_places(dataset, name), codes[:, column])
        for column, name in enumerate(variables)
    ]
    return Combinations(variables, np.array(places, dtype=np.int64).reshape(len(variables), -1).T), amounts
