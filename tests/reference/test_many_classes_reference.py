"""A multinomial logit with many classes of different sizes, where statsmodels' search overflows."""

from importlib.resources import files

import numpy as np
import pandas as pd
from statsmodels.discrete.discrete_model import MNLogit

from sdcgate.methods.outputs.design import Records, build_design, matrix
from sdcgate.methods.outputs.fits import Family, FitOptions, ModelData
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

PLANS = tuple(map(str, [*range(1, 12), *range(13, 20)]))


def test_many_uneven_classes_are_estimated_where_statsmodels_own_beginning_leads_nowhere() -> None:
    people = pd.read_csv(str(files("statsmodels") / "datasets" / "randhie/src/randhie.csv"))
    plan = np.array([PLANS.index(str(int(one))) for one in people.plan])
    words = Vocabulary((Categorical("plan", (Level("plan", PLANS),)),), (Measured("age"), Measured("female")))
    measures = {"age": np.floor(people.xage.to_numpy()), "female": people.female.to_numpy(dtype=float)}
    records = Records({("plan", "plan"): plan}, measures, len(people))
    formula = parse_formula("plan ~ age + female", words)
    design = build_design(formula, words, {})
    values = matrix(design, words, records)
    data = ModelData(design, values, plan.astype(float), units=np.arange(len(plan)), classes=PLANS)
    ours, _ = fit_model(data, records, FitOptions(Family.MULTINOMIAL_LOGIT))

    model = MNLogit(plan, values)
    with np.errstate(all="ignore"):
        assert np.isnan(model.fit(disp=0).llf)
    found = ours.estimates.reshape(len(PLANS) - 1, -1).T
    # Where the likelihood is largest: its slope is 0 there.
    slope = model.score(found.ravel(order="F"))
    assert np.abs(slope).max() < 1e-6
    peer = model.fit(disp=0, start_params=found.ravel(order="F"), tol=1e-12)
    np.testing.assert_allclose(found, peer.params, rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors.reshape(len(PLANS) - 1, -1).T, peer.bse, rtol=1e-8)
    np.testing.assert_allclose(ours.fit["log_likelihood"], peer.llf, rtol=1e-12)
