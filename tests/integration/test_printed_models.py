"""Regressions that a job printed with ACRO, held against the models of the RAND file."""

import pytest

from house import Pace, person, reasons, verdict, with_randhie
from printed_results import acro_folder, entry, zipped
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

GENERAL = "Dep. Variable:,meddol,R-squared:,0.004\nCovariance Type:,nonrobust,,\n"
FITTED = (
    ",coef,std err,t,P>|t|,[0.025,0.975]\nIntercept,169.9891,16.943,10.033,0.0,136.779,203.2\n"
    "C(site)[T.2],-12.8301,15.164,-0.846,0.398,-42.553,16.892\n"
    "C(site)[T.3],13.2573,17.792,0.745,0.456,-21.617,48.132\n"
    "C(site)[T.4],-56.379,16.447,-3.428,0.001,-88.617,-24.141\n"
    "C(site)[T.5],-59.2048,17.58,-3.368,0.001,-93.663,-24.747\n"
    "C(site)[T.6],-67.8766,16.038,-4.232,0.0,-99.311,-36.442\n"
    "income,3.928e-05,0.001,0.031,0.975,-0.002,0.003\n"
    "female,58.9352,9.838,5.991,0.0,39.652,78.218\n"
)
"""As ACRO 0.4.12 and 1.0.2 wrote `olsr("meddol ~ C(site) + income + female", data=randhie)`."""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = with_randhie(tmp_path_factory.mktemp("house"))
    yield made
    made.facility.close()


def submitted(house, coefficients):
    one = entry("regression", ["g.csv", "c.csv"], "acro.olsr(...)", method="olsr", dof=20182)
    folder = acro_folder({"output_0": one}, g__csv=GENERAL, c__csv=coefficients)
    options = pb.ResultsOptions(dataset="randhie")
    answer = house.facility.submit_results(person("portal", "p"), options, zipped(folder), Pace(60))
    (output,) = answer.outputs
    assert output.read_as == pb.RESULT_KIND_MODEL
    return output.decision


def test_a_regression_that_agrees_leaves_with_the_datasets_own_estimates(house):
    decision = submitted(house, FITTED)
    assert verdict(decision) == "RELEASED"
    told = {one.name: (one.estimate, one.standard_error) for one in decision.model.coefficients}
    assert told["site[T.6]"] == (-67.88, 16.04)
    assert told["numeric(female)"] == (58.94, 9.838)


@pytest.mark.parametrize(
    ("printed", "changed", "told"),
    [
        ("58.9352", "59.4352", "estimate of numeric(female)"),
        ("17.58,", "19.58,", "standard error of site[T.5]"),
        ("income,3.928e-05", "income,-3.928e-05", "estimate of income"),
    ],
)
def test_one_that_differs_is_left_to_a_checker_whatever_acro_said(house, printed, changed, told):
    decision = submitted(house, FITTED.replace(printed, changed))
    assert (verdict(decision), reasons(decision)) == ("REFERRED", ["BINDING"])
    assert told in decision.reasons[0].message
    assert not decision.HasField("model")
    asked = pb.ReviewQueryRequest(query=decision.query, approve=True, note="theirs is of an older file")
    approved = house.facility.review_query(house.checker, asked, Pace(60))
    assert verdict(approved) == "RELEASED"
    assert approved.model.coefficients[0].estimate == 170.0


def test_a_model_that_somebody_asks_is_not_answered_by_what_a_job_printed(house):
    submitted(house, FITTED.replace("58.9352", "1.0"))
    formula = 'meddol ~ 1 + C(site, reference="1") + income + numeric(female)'
    asked = pb.QueryModelRequest(dataset="randhie", kind=1, formula=formula)
    assert verdict(house.facility.query_model(house.researcher, asked, Pace(60))) == "RELEASED"
