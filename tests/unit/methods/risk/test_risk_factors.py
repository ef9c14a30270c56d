import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk.risk_factors import Factors, final_risk

risks = np.array([0.5, 0.1, 0.02])


def test_the_final_risk_is_the_product_of_the_risk_and_three_probabilities() -> None:
    found = final_risk(risks, Factors(quality=0.9, coverage=np.array([1.0, 0.5, 0.0]), attempt=0.1))
    np.testing.assert_allclose(found, [0.5 * 0.9 * 0.1, 0.1 * 0.9 * 0.5 * 0.1, 0.0], rtol=1e-15)


def test_without_knowledge_of_the_intruder_the_worst_is_assumed() -> None:
    assert final_risk(risks, Factors()).tolist() == risks.tolist()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_factor_never_raises_a_risk(quality: float, coverage: float, attempt: float) -> None:
    assert (final_risk(risks, Factors(quality, coverage, attempt)) <= risks).all()


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (Factors(quality=2.0), "quality must lie between 0 and 1"),
        (Factors(coverage=np.nan), "coverage must lie between 0 and 1"),
        (
            Factors(attempt=np.array([0.1, -0.1, np.nan])),
            r"attempt must lie between 0 and 1 \(positions 1, 2\)",
        ),
        (
            Factors(attempt=np.array([0.1, 0.1])),
            r"attempt \(2,\) must be one number, or one for each of 3 units",
        ),
    ],
)
def test_factors_that_are_no_probabilities_are_rejected(factors: Factors, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        final_risk(risks, factors)


def test_risks_that_are_no_probabilities_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"risks must lie between 0 and 1 \(positions 0, 2\)"):
        final_risk(np.array([np.nan, 0.5, 1.5]), Factors())
