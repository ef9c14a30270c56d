"""How many units differ between two versions of a dataset: by secret keys and marks, where the data lie."""

from collections.abc import Sequence

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.snapshot import ReadColumn, plain_lists
from sdcgate.methods.cells import KeyArray

NOT_COMPARED = frozenset(
    {"label", "data", "reference_date", "policy", "access_level", "scenarios", "other_people"}
)
"""What a new version's descriptor may say otherwise without a table's meaning another thing."""


def comparable(first: Dataset, second: Dataset) -> bool:
    """Whether the same question means the same in both: same variables, codes, measures, units, protection.

    Holdings and waivers are in no record's mark, so that versions of a dataset that has them never compare.
    """
    one, other = (dataset.descriptor.model_dump(exclude=set(NOT_COMPARED)) for dataset in (first, second))
    respondents = first.respondent_columns or second.respondent_columns
    return (
        not respondents and one == other and plain_lists(first.code_lists) == plain_lists(second.code_lists)
    )


def changed_keys(snapshots: Sequence[ReadColumn]) -> KeyArray:
    """Keys of the units that came, went, or have another record, from one version's snapshot to another's.

    Ascending.
    """
    first, second = snapshots
    marks = [read("record_mark") for read in (first, second)]
    keys = [read("unit_key") for read in (first, second)]
    changed = [keys[this][~np.isin(marks[this], marks[1 - this], assume_unique=True)] for this in (0, 1)]
    return np.union1d(*changed)


def changed_units(snapshots: Sequence[ReadColumn]) -> int:
    """How many these are."""
    return len(changed_keys(snapshots))
