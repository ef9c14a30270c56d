"""What people have in truth, by joint codes: with it the joint audit begins. None of it leaves the house."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sdcgate.engine.dataset import Dataset, UnknownName
from sdcgate.engine.engine import Engine
from sdcgate.facility.boxes import occurring_places
from sdcgate.facility.decided_values import DecidedValues
from sdcgate.methods.cells import IntArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combinations import Combinations, Held, occurring
from sdcgate.methods.tables.combinations import Occurring as JointCodes
from sdcgate.methods.tables.combined_sums import Decided
from sdcgate.methods.tables.joint_boxes import Variables
from sdcgate.methods.tables.joint_sums import Measured

MOST_RECORDS = 1_000_000
"""Of more records counting costs more than it saves."""
MOST_COMBINATIONS = 50_000
KEPT, KEPT_SUMS = 16, 64
"""Sets of variables whose combinations are kept, and those of measures: those asked last."""
COLUMNS, MEASURES, JOINT, UNITS = 24, 16, 8, 2
"""Codes of variables, values of measures, joint codes, and units, of all records that are kept: those asked
last."""


class Occurring:
    """The combinations of codes that occur in datasets, and what those who have them have in truth."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept = lru_cache(maxsize=KEPT)(self._counted)
        self._kept_there = lru_cache(maxsize=KEPT)(self._counted_there)
        self._kept_sums = lru_cache(maxsize=KEPT_SUMS)(self._summed)
        self._joint_codes = lru_cache(maxsize=JOINT)(self._of_records)
        self._codes = lru_cache(maxsize=COLUMNS)(engine.finest_codes)
        self._values = lru_cache(maxsize=MEASURES)(engine.values)
        self._kept_layers = lru_cache(maxsize=KEPT)(self._of_layers)
        self._units = lru_cache(maxsize=UNITS)(engine.unit_of_records)
        self._decided = DecidedValues(engine)

    def truth(self, dataset: Dataset) -> "TruthOf":
        """What is true of a dataset."""
        return TruthOf(self, dataset)

    def held(self, dataset: Dataset, units: bool, variables: Variables, needed: bool = False) -> Held | None:
        """How many records, or units, have each combination; None where counting them would cost too much.

        Of units only variables may be asked that do not vary within them. Where the number of records is
        `needed` they are counted wherever they lie.
        """
        asked = dataset.name, dataset.version, tuple(sorted(variables))
        if self._cheap(dataset):
            return self._kept(*asked, units)
        return self._kept_there(*asked) if needed and not units else None

    def measured(self, dataset: Dataset, measure: str, variables: Variables) -> Measured | None:
        """What they have of a measure; None where that would cost too much, or it is no plain measure."""
        if not self._cheap(dataset):
            return None
        return self._kept_sums(dataset.name, dataset.version, measure, tuple(sorted(variables)))

    def layered(
        self, dataset: Dataset, variables: Variables, layers: Sequence[Box]
    ) -> tuple[Held, ...] | None:
        """Records by joint codes, and for each layer units that have one in it; None if that costs too much.

        A unit has the code of one of its records there, which is that of all where it does not vary.
        """
        if not self._cheap(dataset):
            return None
        return self._kept_layers(dataset.name, dataset.version, tuple(sorted(variables)), tuple(layers))

    def decided(self, dataset: Dataset, quantity: str) -> Sequence[Decided]:
        """By which variables a quantity is decided."""
        return self._decided.of(dataset, quantity)

    def _cheap(self, dataset: Dataset) -> bool:
        return dataset.n_records <= MOST_RECORDS and self._engine.embedded

    def _counted(self, name: str, version: int, variables: tuple[str, ...], units: bool) -> Held | None:
        if units:
            return self._counted_there(name, version, variables, units)
        found = self._few_codes(name, version, variables)
        return None if found is None else Held(self._told(name, version, found), found.summed())

    def _counted_there(
        self, name: str, version: int, variables: tuple[str, ...], units: bool = False
    ) -> Held | None:
        """Where the data lie."""
        try:
            found, amounts = combinations(self._engine, self._engine.dataset(name, version), variables, units)
        except UnknownName:
            return None
        return Held(found, amounts.astype(np.float64)) if len(amounts) <= MOST_COMBINATIONS else None

    def _summed(self, name: str, version: int, measure: str, variables: tuple[str, ...]) -> Measured | None:
        try:
            values = self._values(self._engine.dataset(name, version), measure)
        except UnknownName:
            # Sums of powers and of weights are none of a measure.
            return None
        found = self._few_codes(name, version, variables)
        if found is None:
            return None
        there, told = ~np.isnan(values), self._told(name, version, found)
        sums = found.summed(np.where(there, values, 0.0))
        return Measured(told, found.summed(), found.summed(there.astype(np.float64)), sums)

    def _of_layers(
        self, name: str, version: int, variables: tuple[str, ...], layers: tuple[Box, ...]
    ) -> tuple[Held, ...] | None:
        found = self._few_codes(name, version, variables)
        if found is None:
            return None
        told, units = self._told(name, version, found), self._units(self._engine.dataset(name, version))
        held = [Held(told, found.summed())]
        for layer in layers:
            inside = np.flatnonzero(told.inside(layer)[found.place])
            one_of_each = np.full(int(units.max(initial=-1)) + 1, -1, dtype=np.int64)
            one_of_each[units[inside]] = inside
            chosen = found.place[one_of_each[one_of_each >= 0]]
            held.append(Held(told, np.bincount(chosen, minlength=len(told.codes)).astype(np.float64)))
        return tuple(held)

    def _few_codes(self, name: str, version: int, variables: tuple[str, ...]) -> JointCodes | None:
        """The joint codes of all records; None where they are many, or a variable is another version's."""
        try:
            found = self._joint_codes(name, version, variables)
        except UnknownName:
            return None
        return found if len(found.combinations.codes) <= MOST_COMBINATIONS else None

    def _told(self, name: str, version: int, found: JointCodes) -> Combinations:
        """Joint codes of records as boxes tell them."""
        of = found.combinations
        return _as_boxes_tell(self._engine.dataset(name, version), of.variables, of.codes)

    def _of_records(self, name: str, version: int, variables: tuple[str, ...]) -> JointCodes:
        dataset = self._engine.dataset(name, version)
        codes = [self._codes(dataset, variable) for variable in variables]
        return occurring(variables, codes, dataset.n_records)


@dataclass(frozen=True, slots=True, eq=False)
class TruthOf:
    """What is true of a dataset; see `joint_look.Truth`."""

    _occurring: Occurring
    _dataset: Dataset

    def held(self, units: bool, variables: Variables, needed: bool = False) -> Held | None:
        """In units or in records."""
        return self._occurring.held(self._dataset, units, variables, needed)

    def measured(self, quantity: str, variables: Variables) -> Measured | None:
        """Of a measure."""
        return self._occurring.measured(self._dataset, quantity, variables)

    def layered(self, variables: Variables, layers: Sequence[Box]) -> tuple[Held, ...] | None:
        """In records, and in units of each layer."""
        return self._occurring.layered(self._dataset, variables, layers)

    def decided(self, quantity: str) -> Sequence[Decided]:
        """By which variables a quantity is decided."""
        return self._occurring.decided(self._dataset, quantity)


def combinations(
    engine: Engine, dataset: Dataset, variables: tuple[str, ...], units: bool = False
) -> tuple[Combinations, IntArray]:
    """The joint codes that occur, as boxes tell them: by codes that occur; and their records or units."""
    codes, amounts = engine.occurring_codes(dataset, variables, units)
    return _as_boxes_tell(dataset, variables, codes), amounts


def _as_boxes_tell(dataset: Dataset, variables: tuple[str, ...], codes: IntArray) -> Combinations:
    places = [
        np.searchsorted(occurring_places(dataset, name), codes[:, column])
        for column, name in enumerate(variables)
    ]
    return Combinations(variables, np.array(places, dtype=np.int64).reshape(len(variables), len(codes)).T)
