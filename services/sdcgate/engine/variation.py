"""What varies within units, households and holdings: found in the data, and held against the descriptor."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.dataset import Variation, exclusive_column, level_column
from sdcgate.engine.dependencies import Codes, dependencies
from sdcgate.engine.descriptor import Descriptor
from sdcgate.engine.exclusive import declared_exclusive, exclusive_groups
from sdcgate.methods.risk.keys import group_keys

Columns = dict[str, npt.NDArray[Any]]
"""Columns of a snapshot by name, rows sorted by unit."""
Complain = Callable[[str, str], None]
"""Takes the path of a field and what is wrong with it."""


def variation_of(
    descriptor: Descriptor,
    code_lists: Mapping[str, tuple[LevelCodes, ...]],
    columns: Columns,
    household_ids: bool,
    complain: Complain,
) -> dict[str, Variation]:
    """Which levels vary; a variable that varies although declared not to is a problem.

    Variables that exclude each other are decided by one more, whose column is added to `columns`.
    """
    by_household = _sorted_by("household", columns) if household_ids else None
    by_holding = _sorted_by("holding", columns)
    variation: dict[str, Variation] = {}
    for position, variable in enumerate(descriptor.variables):
        levels = [columns[level_column(position, at)] for at in range(len(code_lists[variable.name]))]
        within_unit = [_varying_groups(columns["unit"], codes) for codes in levels]
        if within_unit[0] and not variable.varies_within_unit:
            complain(
                f"variables[{position}].varies_within_unit",
                f"{variable.name!r} varies within {within_unit[0]} units: declare it true",
            )
        variation[variable.name] = Variation(
            tuple(offending > 0 for offending in within_unit),
            _varying_levels(columns.get("household"), by_household, levels),
            within_holding=_varying_levels(columns.get("holding"), by_holding, levels),
        )
    finest = {
        variable.name: columns[level_column(position, 0)]
        for position, variable in enumerate(descriptor.variables)
    }
    sizes = {name: len(code_lists[name][0].codes) for name in finest}
    declared = declared_exclusive(descriptor, code_lists, finest, complain)
    missing = {name: size - 1 for name, size in sizes.items()}
    decided_by = {name: one for name, (one, _) in dependencies(finest, sizes).items()} if declared else {}
    varying = {name for name, one in variation.items() if one.within_unit[0]}
    groups = exclusive_groups(finest, missing, declared, decided_by, varying)
    sizes |= {name: int(codes.max()) + 1 for name, codes in groups.items()}
    decided = dependencies({**finest, **groups}, sizes)
    deciding = {one for one, _ in decided.values()}
    used = {name: codes for name, codes in groups.items() if name in deciding}
    variation |= {name: _of_exclusive(codes, columns) for name, codes in used.items()}
    columns |= {exclusive_column(place): codes for place, codes in enumerate(used.values())}
    return {
        name: replace(
            variation[name],
            occurring=sum(1 << int(code) for code in np.unique(codes)),
            determined_by=decided[name][0] if name in decided else "",
            decided=decided[name][1] if name in decided else (),
        )
        for name, codes in (finest | used).items()
    }


def _of_exclusive(codes: Codes, columns: Columns) -> Variation:
    """How an undeclared variable varies within units; within others it is never looked at."""
    return Variation((_varying_groups(columns["unit"], codes) > 0,), ())


def check_constant(descriptor: Descriptor, columns: Columns, complain: Complain) -> None:
    """Weights that vary within a unit although declared not to, and units of several holdings."""
    weight = descriptor.weight
    if weight is not None and not weight.varies_within_unit and "weight" in columns:
        offending = _varying_groups(columns["unit"], columns["weight"])
        if offending:
            message = f"the weight varies within {offending} units: declare it true"
            complain("weight.varies_within_unit", message)
    if "holding" in columns:
        offending = _varying_groups(columns["unit"], columns["holding"])
        if offending:
            complain(
                "holding.column", f"{offending} units belong to several holdings: a unit has one at most"
            )


def check_wave(
    descriptor: Descriptor,
    code_lists: Mapping[str, tuple[LevelCodes, ...]],
    columns: Columns,
    complain: Complain,
) -> None:
    """The variable that tells the wave is missing, or the same in two records of a unit."""
    names = [variable.name for variable in descriptor.variables]
    if descriptor.wave not in names:
        return
    waves = columns[level_column(names.index(descriptor.wave), 0)].astype(np.int64)
    missing = int((waves == len(code_lists[descriptor.wave][0].codes) - 1).sum())
    if missing:
        complain("wave", f"{descriptor.wave} is missing in {missing} records: each must tell its wave")
    again = len(waves) - len(group_keys(np.column_stack([columns["unit"], waves])))
    if again:
        complain("wave", f"{again} records have the same {descriptor.wave} as another of their unit")


def _sorted_by(name: str, columns: Columns) -> npt.NDArray[np.int64] | None:
    return np.argsort(columns[name], kind="stable") if name in columns else None


def _varying_levels(
    groups: npt.NDArray[Any] | None,
    order: npt.NDArray[np.int64] | None,
    levels: list[npt.NDArray[Any]],
) -> tuple[bool, ...]:
    """Whether each level takes several codes within some group; () where there are no groups."""
    if groups is None or order is None:
        return ()
    return tuple(_varying_groups(groups[order], codes[order]) > 0 for codes in levels)


def _varying_groups(groups: npt.NDArray[Any], values: npt.NDArray[Any]) -> int:
    """In how many groups (rows sorted by group) a column takes several values."""
    changes = (groups[1:] == groups[:-1]) & (values[1:] != values[:-1])
    return len(np.unique(groups[1:][changes]))
