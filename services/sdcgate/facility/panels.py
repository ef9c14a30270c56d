"""How units of a dataset have several records, as everybody knows."""

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.boxes import codes_left, compressed
from sdcgate.facility.plan import Plan
from sdcgate.methods.cells import TOTAL, Axis, IntArray
from sdcgate.methods.tables.panel_links import Panel


def panel_of(dataset: Dataset) -> Panel | None:
    """A dataset whose units have several records; None of one where they have one each."""
    varying = dataset.varying
    return None if varying is None else Panel(varying, dataset.records_per_unit, dataset.descriptor.wave)


def most_records(plan: Plan, axes: tuple[Axis, ...]) -> IntArray | None:
    """How many records a unit has in each cell at most, one in each wave, shape (cells,).

    None where no wave is known: then it is the most that a unit has anywhere.
    """
    dataset, wave = plan.dataset, plan.dataset.descriptor.wave
    if dataset.records_per_unit == 1 or not wave:
        return None
    within = codes_left(dataset, wave, plan.filters)

    def waves(mask: int) -> int:
        """How many there are, one at least: of nobody it says nothing."""
        return max(1, compressed(dataset, wave, mask).bit_count())

    most = np.full([len(axis.codes) for axis in axes], min(dataset.records_per_unit, waves(within)))
    for place, axis in enumerate(axes):
        if axis.variable == wave:
            level = dataset.level(wave, axis.level)
            own = [
                dataset.full_mask(wave) if c == TOTAL else level.mask_at(level.positions[c])
                for c in axis.codes
            ]
            shape = [1] * len(axes)
            shape[place] = len(own)
            most = np.minimum(most, np.array([waves(within & mask) for mask in own]).reshape(shape))
    return most.reshape(-1)
