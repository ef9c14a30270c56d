"""Scenarios against sdcMicro's risks of the same keys, with and without weights, households and wildcards."""

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.microdata import KeyVariable, Microdata
from sdcgate.methods.risk.risk_factors import Factors
from sdcgate.methods.risk.scenarios import Scenario, ScenarioKind, ScenarioTarget, scenario_risk, together

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
FREE1 = ["REGION", "SEX", "AGE", "MARSTAT"]


def scenario(codes: np.ndarray, keys: list[str], **given) -> Scenario:
    names = tuple(map(KeyVariable, keys))
    return Scenario("of sdcMicro", ScenarioKind.INDIVIDUAL_ARCHIVE, names, codes, **given)


def a_file(name: str, keys: list[str], weight: str, household: str = "") -> Microdata:
    columns = read_columns(name)
    households = columns[household].astype(np.int64) if household else None
    return Microdata(
        tuple(map(KeyVariable, keys)),
        code_columns(columns, keys),
        weights=columns[weight],
        households=households,
    )


def test_an_archive_of_free1_has_sdcmicros_expected_reidentifications_times_d_e_t() -> None:
    # sdcMicro 5.8.1: sum of indivRisk(freqCalc(free1, REGION..MARSTAT, w = WEIGHT), method = "exact").
    file = a_file("free1", FREE1, "WEIGHT")
    plain = scenario_risk(file, scenario(file.codes, FREE1), 0.1)
    assert (plain.units, plain.sample_uniques) == (4000, 3014)
    assert plain.expected_matches == pytest.approx(78.25501599213108, rel=1e-9)
    assert plain.reidentification_rate == pytest.approx(78.25501599213108 / 4000, rel=1e-9)
    factors = Factors(0.9, 0.95, 0.5)
    less = scenario_risk(file, scenario(file.codes, FREE1, factors=factors), 0.1)
    assert less.expected_matches == pytest.approx(0.9 * 0.95 * 0.5 * 78.25501599213108, rel=1e-9)


def test_who_knows_who_took_part_finds_what_sdcmicro_finds_without_weights() -> None:
    # sdcMicro 5.8.1, measure_risk(testdata, keyVars = urbrur..sex): the file is its own population, 412 keys.
    file = a_file("testdata", SEVEN, "sampling_weight")
    found = scenario_risk(file, scenario(file.codes, SEVEN, response_known=True), 0.1)
    assert found.expected_matches == pytest.approx(412, rel=1e-12)
    assert found.maximum == 1.0


def test_a_household_archive_of_testdata_is_as_risky_as_sdcmicro_says() -> None:
    # sdcMicro 5.8.1, measure_risk(testdata, ..., hid = ori_hid), whose risks for f > 2 are up to 4% too high.
    file = a_file("testdata", SEVEN, "sampling_weight", "ori_hid")
    register = scenario(file.codes, SEVEN, target=ScenarioTarget.HOUSEHOLD)
    found = scenario_risk(file, register, 0.01)
    assert found.expected_matches == pytest.approx(51.81292743596069, rel=2e-3)
    assert found.reidentification_rate == pytest.approx(0.011312866252393163, rel=2e-3)
    hierarchical = read_columns("testdata")["hier_risk"]
    np.testing.assert_allclose(found.risks, hierarchical, rtol=0.042)
    assert found.unsafe_units == pytest.approx((hierarchical >= 0.01).sum(), rel=0.01)
    persons = scenario_risk(file, scenario(file.codes, SEVEN), 0.01)
    assert (found.risks >= persons.risks).all()
    assert together((persons, found)).expected_matches == pytest.approx(found.expected_matches, rel=1e-12)


def test_wildcards_of_a_scenario_count_as_sdcmicro_counts_them() -> None:
    # By hand, as freqCalc with alpha = 1: who lacks a value agrees with the others, they not with each other.
    codes = np.array([[0, 0], [0, 1], [0, -1]])
    file = Microdata(tuple(map(KeyVariable, "ab")), codes, weights=np.array([10.0, 20.0, 30.0]))
    known = {"missing": Missing.WILDCARD, "response_known": True}
    found = scenario_risk(file, scenario(codes, ["a", "b"], **known), 0.1)
    assert found.risks.tolist() == [1 / 2, 1 / 2, 1 / 3]
