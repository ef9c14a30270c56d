"""Variables of a descriptor as key variables, with the codes that coarser levels make of theirs."""

import numpy as np

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.methods.risk.microdata import KeyVariable


def key_variable(variable: str, level: LevelCodes, listed: tuple[LevelCodes, ...]) -> KeyVariable:
    """A variable at one of its levels, `variable:level` unless it is the finest, with the coarser ones."""
    name = f"{variable}:{level.name}" if level is not listed[0] else variable
    coarser = []
    for other in listed[listed.index(level) + 1 :]:
        codes = np.full(len(level.codes), -1, dtype=np.int64)
        codes[np.array(level.members)] = other.members
        codes[codes == len(other.codes) - 1] = -1
        coarser.append((f"{variable}:{other.name}", codes[:-1]))
    finest = listed[0].codes[:-1], np.array(level.members[: len(listed[0].codes) - 1], dtype=np.int64)
    return KeyVariable(name, level.codes[:-1], coarser=tuple(coarser), finest=finest)
