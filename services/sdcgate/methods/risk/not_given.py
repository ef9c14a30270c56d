"""Sections of a file's assessment that were left out because nobody asked for them, with what to give."""

import numpy as np

from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.file_report import NotComputed
from sdcgate.methods.risk.microdata import Microdata, UnitFile

SENSITIVE = NotComputed("sensitive variables", "no sensitive variable is named: name those that are")
SCENARIOS = NotComputed("scenarios", "no disclosure scenario is given beside the key: give some")
RULE_SETS = NotComputed("rule sets", "the variables are not declared: assess the file by a descriptor")
SMOOTHING = NotComputed("smoothing", "no key variable is said to be ordered: name those that are")
NO_OWN_WEIGHTS = NotComputed("weights as a channel", "the file has no weights of its own: name their column")
EQUAL_WEIGHTS = NotComputed("weights as a channel", "all weights are the same: they tell nothing")


def not_given(file: Microdata, units: UnitFile, options: Options) -> tuple[NotComputed, ...]:
    """Sections that need what was not given; those of numbers and of another release are not missed."""
    weights = units.weights if units.weighted else None
    lacking = (
        (SMOOTHING, not options.ordinal),
        (SENSITIVE, not file.sensitive),
        (SCENARIOS, not file.scenarios),
        (NO_OWN_WEIGHTS, weights is None),
        (EQUAL_WEIGHTS, weights is not None and not np.ptp(weights) > 0),
        (RULE_SETS, file.release is None),
    )
    return tuple(one for one, is_lacking in lacking if is_lacking)
