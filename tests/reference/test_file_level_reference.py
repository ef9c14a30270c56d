"""File-level risk against sdcMicro's measure_risk and the Israel CBS paper."""

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.file_level import file_risk, threshold_for_rate
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.individual_approximations import Approximation, approximate_individual_risk
from sdcgate.methods.risk.keys import Keys, group_keys, weight_sums

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def keys_of_testdata() -> tuple[Keys, np.ndarray]:
    columns = read_columns("testdata")
    keys = group_keys(code_columns(columns, SEVEN))
    return keys, sampling_probabilities(keys.counts, weight_sums(keys, columns["sampling_weight"]))


def test_sdcmicros_measure_risk_of_testdata() -> None:
    # sdcMicro 5.8.1, measure_risk(testdata, keyVars = urbrur..sex, w = "sampling_weight").
    keys, probabilities = keys_of_testdata()
    risks = approximate_individual_risk(keys.counts, probabilities, Approximation.SDCMICRO)
    found = file_risk(keys.counts, risks)
    assert found.units == 4580
    assert found.expected_matches == pytest.approx(10.778298918734835, rel=1e-12)
    assert found.reidentification_rate == pytest.approx(0.0023533403752696146, rel=1e-12)
    assert found.sample_uniques == 157
    assert found.maximum == pytest.approx(0.046516870565536286, rel=1e-12)
    exact = file_risk(keys.counts, individual_risk(keys.counts, probabilities))
    assert exact.expected_matches == pytest.approx(10.778298918734835, rel=2e-3)
    assert exact.expected_matches < found.expected_matches


def test_sdcmicros_measure_risk_of_francdat() -> None:
    # sdcMicro 5.8.1, measure_risk(francdat, keyVars = Key1..Key4, w = "w").
    f, sums = np.array([2, 2, 1, 1, 1, 1]), np.array([110.0, 84.5, 17.0, 541.0, 8.0, 5.0])
    risks = individual_risk(f, sampling_probabilities(f, sums))
    found = file_risk(f, risks)
    assert found.expected_matches == pytest.approx(0.9665260451999669, rel=1e-12)
    assert found.reidentification_rate == pytest.approx(0.12081575564999586, rel=1e-12)
    # Its threshold for max_global_risk = 0.01 is 0: no risk that occurs is small enough. Ours is the rate.
    threshold = threshold_for_rate(risks, f, 0.01)
    assert threshold.risk == pytest.approx(0.01, rel=1e-12)
    assert threshold.unsafe_units == 8


def test_sdcmicros_threshold_for_a_rate_where_the_file_is_the_population() -> None:
    # sdcMicro 5.8.1, measure_risk(testdata, keyVars = urbrur..sex), no weights, max_global_risk = 0.01: 412
    # expected re-identifications, rate 0.08995633187772925, threshold 1/94, the largest risk that occurs and
    # keeps the rate. Ours lies between it and the next, 1/93.
    keys, _ = keys_of_testdata()
    risks = 1 / keys.counts
    found = file_risk(keys.counts, risks)
    assert found.expected_matches == pytest.approx(412)
    assert found.reidentification_rate == pytest.approx(0.08995633187772925, rel=1e-12)
    threshold = threshold_for_rate(risks, keys.counts, 0.01)
    assert threshold.risk is not None
    assert risks[risks < threshold.risk].max() == pytest.approx(0.010638297872340425, rel=1e-12)
    assert threshold.rate == pytest.approx(0.01)


def test_shares_of_the_israel_income_survey() -> None:
    # Shlomo 2003, Table 1: n = 32,869; tau over sample uniques, its percentage of n; full key to Key6.
    printed = [
        (1219.3, 3.7),
        (884.4, 2.7),
        (590.2, 1.8),
        (526.6, 1.6),
        (388.5, 1.2),
        (158.0, 0.5),
        (98.2, 0.3),
    ]
    for tau, percentage in printed:
        uniques = 6_000
        f = np.concatenate([np.ones(uniques, dtype=np.int64), [32_869 - uniques]])
        found = file_risk(f, np.concatenate([np.full(uniques, tau / uniques), [1e-6]]))
        assert found.expected_matches_uniques == pytest.approx(tau)
        assert round(100 * found.uniques_share, 1) == percentage
