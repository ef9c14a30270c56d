"""Frequencies of keys against sdcMicro's freqCalc, missing values as wildcards too."""

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.keys import Missing, frequencies, group_keys, weight_sums

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]

# sdcMicro 5.8.1, francdat: Key1 to Key4, weight, f_k, F_k.
FRANCDAT = """
1 2 5 1 18 2 110 | 1 2 1 1 45.5 2 84.5 | 1 2 1 1 39 2 84.5 | 3 3 1 5 17 1 17
4 3 1 4 541 1 541 | 4 3 1 1 8 1 8 | 6 2 1 5 5 1 5 | 1 2 5 1 92 2 110
"""
# The same with some keys missing (0 here), alpha = 1: an NA matches everything.
FRANCDAT_NA = """
1 2 5 1 18 3 149 | 1 2 1 1 45.5 2 84.5 | 1 2 0 1 39 4 194.5 | 0 0 1 5 17 3 563
4 3 1 0 541 3 566 | 0 3 1 1 8 2 549 | 6 2 1 5 5 2 22 | 1 2 5 1 92 3 149
"""
# sdcMicro 5.8.1, a file of its own tests: A, B, C, weight, f_k, F_k; then with missing values.
ABC = """
2 3 1 18 3 108 | 3 3 3 45.5 1 45.5 | 2 3 1 39 3 108 | 2 3 2 17 1 17
3 3 1 92 2 100 | 3 3 1 8 2 100 | 1 4 1 123.5 1 123.5 | 2 3 1 51 3 108
"""
ABC_NA = """
2 3 1 18 3 108 | 3 3 3 45.5 1 45.5 | 2 3 0 39 4 125 | 2 3 2 17 2 56
3 3 1 92 3 151 | 3 3 1 8 3 151 | 1 4 0 123.5 1 123.5 | 0 3 1 51 5 208
"""


def assert_frequencies(printed: str, missing: Missing) -> None:
    rows = np.array([entry.split() for line in printed.split("\n") if line for entry in line.split(" | ")])
    numbers = rows.astype(float)
    codes = numbers[:, :-3].astype(np.int64) - 1
    found = frequencies(codes, numbers[:, -3], missing)
    assert found.f.tolist() == numbers[:, -2].tolist()
    np.testing.assert_allclose(found.weight_sums, numbers[:, -1], rtol=1e-14)


def test_sdcmicros_francdat() -> None:
    assert_frequencies(FRANCDAT, Missing.CATEGORY)
    assert_frequencies(FRANCDAT, Missing.WILDCARD)


def test_sdcmicros_francdat_with_missing_keys_as_wildcards() -> None:
    assert_frequencies(FRANCDAT_NA, Missing.WILDCARD)


def test_sdcmicros_own_test_file_with_and_without_missing_keys() -> None:
    assert_frequencies(ABC, Missing.CATEGORY)
    assert_frequencies(ABC_NA, Missing.WILDCARD)


def test_sdcmicros_testdata_by_seven_keys_record_by_record() -> None:
    columns = read_columns("testdata")
    found = frequencies(code_columns(columns, SEVEN), columns["sampling_weight"], Missing.CATEGORY)
    assert found.f.tolist() == columns["fk"].tolist()
    assert found.weight_sums.tolist() == (100 * columns["fk"]).tolist()
    keys = group_keys(code_columns(columns, SEVEN))
    assert len(keys) == 412  # sdcMicro: expected re-identifications in a census, one a cell
    assert (keys.counts == 1).sum() == 157
    assert 2 * (keys.counts == 2).sum() == 124


def test_sdcmicros_free1_by_four_keys_record_by_record() -> None:
    columns = read_columns("free1")
    codes = code_columns(columns, ["REGION", "SEX", "AGE", "MARSTAT"])
    found = frequencies(codes, columns["WEIGHT"], Missing.CATEGORY)
    assert found.f.tolist() == columns["fk"].tolist()
    np.testing.assert_allclose(found.weight_sums, columns["Fk"], rtol=1e-12)
    keys = group_keys(codes)
    assert ((keys.counts == 1).sum(), 2 * (keys.counts == 2).sum()) == (3014, 724)
    assert weight_sums(keys, columns["WEIGHT"]).sum() == pytest.approx(1010466.1, rel=1e-12)


def test_mu_argus_and_sdcmicro_count_unsafe_cells_and_unsafe_records_of_free1() -> None:
    # sdcTools UserSupport 293: mu-ARGUS reports 3058 cells with f <= 2, sdcMicro 3452 records with f < 3.
    columns = read_columns("free1")
    keys = group_keys(code_columns(columns, ["REGION", "SEX", "AGE"]))
    assert (keys.counts < 3).sum() == 3058
    assert (keys.counts[keys.group] < 3).sum() == 3452
    assert ((keys.counts == 1).sum(), 2 * (keys.counts == 2).sum()) == (2664, 788)
