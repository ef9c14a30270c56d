"""Survival against published figures and against statsmodels."""

import numpy as np
import pytest
import statsmodels.formula.api as smf
from statsmodels.duration.survfunc import SurvfuncRight

from model_frames import made_frame, model_data
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.survival import survival_curve

TREATED = np.array(
    [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35], dtype=float
)
REMISSION_ENDED = np.array([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
"""Weeks of remission of leukaemia patients under 6-mercaptopurine: Freireich et al. (1963), as printed with
the estimate below in Cox and Oakes (1984), Analysis of Survival Data, tables 1.1 and 4.1."""


def test_the_curve_of_the_leukaemia_patients_is_the_printed_one() -> None:
    curve = survival_curve(TREATED, REMISSION_ENDED)
    assert list(curve.ends) == [6, 7, 10, 13, 16, 22, 23]
    printed = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    np.testing.assert_allclose(curve.survival, printed, atol=5e-4)
    printed_errors = [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346]
    np.testing.assert_allclose(curve.survival_errors, printed_errors, atol=5e-5)
    assert not curve.coarsened


def test_a_curve_agrees_with_statsmodels() -> None:
    made = made_frame(800)
    times, ill = made.records.measures["months"], made.records.codes["ill", "ill"] == 1
    ours, peer = survival_curve(times, ill), SurvfuncRight(times, ill)
    at = np.searchsorted(peer.surv_times, ours.ends)
    np.testing.assert_allclose(ours.survival, peer.surv_prob[at], rtol=1e-12)
    np.testing.assert_allclose(ours.survival_errors[:-1], peer.surv_prob_se[at][:-1], rtol=1e-10)


def test_proportional_hazards_agree_with_statsmodels() -> None:
    made = made_frame()
    events = (made.frame["ill"] == "yes").to_numpy(float)
    data = model_data(made, "months ~ age + site", events=events)
    ours, facts = fit_model(data, made.records, FitOptions(Family.COX))
    frame = made.frame.assign(event=events)
    peer = smf.phreg("months ~ age + site", frame, status=events, ties="efron").fit(disp=0)
    order = [list(peer.model.exog_names).index(name) for name in ours.names]
    np.testing.assert_allclose(ours.estimates, peer.params[order], rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors, peer.bse[order], rtol=1e-8)
    assert facts.residual_degrees == events.sum() - 3
    assert np.all(facts.columns.largest_shares[:, 0] < 0.1)
    assert len(frame) == facts.records


@pytest.mark.parametrize("data", ["times below 0", "no events"])
def test_hazards_that_cannot_be_estimated_are_said(data: str) -> None:
    made = made_frame(300)
    events = np.zeros(300) if data == "no events" else np.ones(300)
    made.records.measures["months"][0] = -1.0
    with pytest.raises(ValueError, match="nobody" if data == "no events" else "below 0"):
        fit_model(model_data(made, "months ~ age", events=events), made.records, FitOptions(Family.COX))
