"""The approximations of other programs, against these programs."""

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.individual import sampling_probabilities
from sdcgate.methods.risk.individual_approximations import Approximation, approximate_individual_risk
from sdcgate.methods.risk.keys import group_keys, weight_sums


def sdcmicros_risks(f: np.ndarray, sums: np.ndarray) -> np.ndarray:
    return approximate_individual_risk(f, sampling_probabilities(f, sums), Approximation.SDCMICRO)


def test_sdcmicros_own_test_file() -> None:
    # sdcMicro 5.8.1, indivRisk(freqCalc(x, keyVars = 1:3, w = 4)), complete and with wildcards.
    f = np.array([3, 1, 1, 2, 1, 4, 2, 3, 5])
    sums = np.array([108, 45.5, 17, 100, 123.5, 125, 56, 151, 208])
    printed = [
        0.013698630136986301,
        0.085791288223750678,
        0.17707583400351351,
        0.018778832567501815,
        0.039316254335249233,
        0.010554089709762533,
        0.032466111783024408,
        0.0098360655737704927,
        0.0059737156511350063,
    ]
    np.testing.assert_allclose(sdcmicros_risks(f, sums), printed, rtol=1e-12)


@pytest.mark.parametrize(
    ("file", "keys", "weight", "printed"),
    [
        ("free1", ["REGION", "SEX", "AGE", "MARSTAT"], "WEIGHT", 78.25687866374963),
        (
            "testdata",
            ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"],
            "sampling_weight",
            10.778298918734835,
        ),
    ],
)
def test_sdcmicros_expected_reidentifications(
    file: str, keys: list[str], weight: str, printed: float
) -> None:
    columns = read_columns(file)
    grouped = group_keys(code_columns(columns, keys))
    risks = sdcmicros_risks(grouped.counts, weight_sums(grouped, columns[weight]))
    assert grouped.counts @ risks == pytest.approx(printed, rel=1e-12)
