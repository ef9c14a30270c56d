"""Household risk against sdcMicro's measure_risk(hid = ...)."""

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.file_level import threshold_for_rate
from sdcgate.methods.risk.household import hierarchical_file_risk, household_risk
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.individual_approximations import Approximation, approximate_individual_risk
from sdcgate.methods.risk.keys import Missing, frequencies

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def test_sdcmicros_household_risks_of_testdata_household_by_household() -> None:
    # sdcMicro 5.8.1, measure_risk(testdata, keyVars = urbrur..sex, w = "sampling_weight", hid = "ori_hid").
    columns = read_columns("testdata")
    found = frequencies(code_columns(columns, SEVEN), columns["sampling_weight"], Missing.CATEGORY)
    p = sampling_probabilities(found.f, found.weight_sums)
    households = columns["ori_hid"].astype(np.int64)
    risks = household_risk(approximate_individual_risk(found.f, p, Approximation.SDCMICRO), households)
    np.testing.assert_allclose(risks.risks[risks.household], columns["hier_risk"], rtol=1e-11)
    whole = hierarchical_file_risk(risks)
    assert (whole.units, whole.households) == (4580, 1000)
    assert whole.expected_matches == pytest.approx(51.81292743596069, rel=1e-12)
    assert whole.reidentification_rate == pytest.approx(0.011312866252393163, rel=1e-12)

    exact = hierarchical_file_risk(household_risk(individual_risk(found.f, p), households))
    assert exact.expected_matches == pytest.approx(51.81292743596069, rel=2e-3)
    threshold = threshold_for_rate(risks.risks, risks.sizes, 0.01)
    assert threshold.risk is not None
    assert threshold.rate == pytest.approx(0.01)
