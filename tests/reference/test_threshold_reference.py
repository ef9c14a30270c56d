"""The threshold rule against sdcMicro's riskyCells, which counts as mu-ARGUS does."""

import numpy as np

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.threshold import Combination, combinations_up_to, threshold_rule

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
# sdcMicro 5.8.1, riskyCells(testdata, keyVars = urbrur..sex, useIdentificationLevel = FALSE,
# threshold = c(50, 25, 10), maxDim = 3): unsafe cells (frequency <= threshold) of the 7 keys, the 21 pairs
# and the 35 triples, in the order of combinations.
UNSAFE_CELLS = """
0 3 1 3 0 4 0
4 1 1 1 7 0 4 14 6 19 6 4 1 12 1 6 33 6 10 0 7
3 14 7 27 8 4 3 22 2 7 37 2 12 2 14
15 3 28 6 18 77 25 33 10 29 9 58 7 17 1 21 49 11 51 15
"""


def test_sdcmicros_unsafe_cells_of_63_combinations() -> None:
    codes = code_columns(read_columns("testdata"), SEVEN)
    found = threshold_rule(codes, combinations_up_to(7, [51, 26, 11]))
    assert [one.unsafe_cells for one in found.combinations] == [int(n) for n in UNSAFE_CELLS.split()]


def test_mu_argus_unsafe_cells_and_sdcmicros_unsafe_records_of_free1() -> None:
    # sdcTools UserSupport 293: mu-ARGUS reports 3058 cells with f <= 2, sdcMicro 3452 records with f < 3.
    codes = code_columns(read_columns("free1"), ["REGION", "SEX", "AGE"])
    found = threshold_rule(codes, [Combination((0, 1, 2), 3)])
    assert found.unsafe_cells == 3058
    assert found.unsafe_units == 3452
    assert found.combinations[0].cells == len(group_keys(codes))
    assert np.unique(found.combinations[0].frequencies).tolist() == [1.0]
