"""How units of a dataset have several records, as everybody knows."""

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.boxes import compressed
from sdcgate.facility.plan import Plan
from sdcgate.methods.cells import TOTAL, Axis, IntArray
from sdcgate.methods.tables.joint_panel import Panel


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
    within = dataset.full_mask(wave)
    for condition in plan.filters:
        if condition.variable == wave:
            within &= dataset.mask(wave, condition.level, condition.codes)
    most = np.full([len(axis.codes) for axis in axes], dataset.records_per_unit, dtype=np.int64)
    for place, axis in enumerate(axes):
        masks = [within] * len(axis.codes)
        if axis.variable == wave:
            level = dataset.level(wave, axis.level)
            masks = [
                within if code == TOTAL else within & level.mask_at(level.positions[code])
                for code in axis.codes
            ]
        waves = np.array([compressed(dataset, wave, mask).bit_count() for mask in masks], dtype=np.int64)
        shape = [1] * len(axes)
        shape[place] = len(waves)
        most = np.minimum(most, np.maximum(waves, 1).reshape(shape))
    return most.reshape(-1)
