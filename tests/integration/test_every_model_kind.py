"""Every kind of model over the facility, weighted where that is offered, beside statsmodels."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.sandbox.regression.gmm import IV2SLS

from house import build, people_descriptor, reasons, verdict
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.model_options import WITHOUT_WEIGHTS
from sdcgate.facility.pace import Pace
from sdcgate.methods.outputs.fits import Family
from sdcgate.methods.outputs.quantile_windows import window
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, table_pb2

PEOPLE = 3000
CODES = {
    "site": ["a", "b", "c"],
    "ill": ["no", "yes"],
    "health": ["poor", "fair", "good"],
    "region": [f"r{number}" for number in range(30)],
    "stratum": ["s0", "s1", "s2"],
}
BOUNDS = {"lower_bound": 0.0, "upper_bound": 1e6}
MINIMUM = 10


def made_people() -> pd.DataFrame:
    """A sample in three strata of ten regions each; figures as they are written to the file."""
    rng = np.random.default_rng(20)
    region = rng.integers(0, 30, PEOPLE)
    site, age = rng.integers(0, 3, PEOPLE), np.round(rng.normal(45, 9, PEOPLE), 2).clip(18, 80)
    taste = rng.normal(size=PEOPLE)
    drive = 0.02 * (age - 45) + 0.3 * (site == 1) - 0.2 * (site == 2)
    visits = rng.poisson(np.exp(0.6 + drive / 2) * rng.gamma(2, 0.5, PEOPLE))
    offer = rng.normal(size=PEOPLE)
    effect = rng.normal(scale=0.8, size=30)[region]
    return pd.DataFrame(
        {
            "id": np.arange(PEOPLE),
            "site": np.array(CODES["site"])[site],
            "ill": np.where(drive + rng.logistic(size=PEOPLE) > 0, "yes", "no"),
            "health": np.array(CODES["health"])[np.digitize(drive + rng.logistic(size=PEOPLE), [-0.7, 0.9])],
            "region": np.array(CODES["region"])[region],
            "stratum": np.array(CODES["stratum"])[region // 10],
            "w": np.round(rng.uniform(1, 4, PEOPLE), 2),
            "age": age,
            "cost": np.round(20 + 3 * drive + effect + taste + rng.normal(size=PEOPLE), 3).clip(0),
            "spent": np.round(rng.gamma(4, np.exp(1 + drive)), 3) + 0.001,
            "visits": visits,
            "price": np.round(10 + taste + offer + rng.normal(size=PEOPLE), 3).clip(0),
            "offer": np.round(10 + offer + rng.normal(scale=0.3, size=PEOPLE), 3).clip(0),
            "days": np.ceil(rng.exponential(400 * np.exp(-drive))),
        }
    )


@pytest.fixture(scope="module")
def people(house) -> pd.DataFrame:
    _, folder = house
    frame = pd.read_csv(folder / "people.csv")
    return frame.assign(
        sick=(frame["ill"] == "yes").astype(float),
        state=pd.Categorical(frame["health"], CODES["health"]).codes,
    )


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A house whose policy lets all digits out, and quantile regressions, too."""
    folder = tmp_path_factory.mktemp("kinds")
    made_people().to_csv(folder / "people.csv", index=False)
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    for bundled, other in (
        ("significant_digits: 4", "significant_digits: 17"),
        ("counts_base: 10", "counts_base: 1"),
        ("      - TWO_STAGE\n", "      - TWO_STAGE\n      - QUANTILE\n"),
        ("individual_risk: {", "individual_risk: null # {"),
    ):
        assert bundled in text
        text = text.replace(bundled, other, 1)
    made = build(folder, policies={**load_policies(), "israel-cbs": parse_policy(text)})
    measures = [{"name": name, "decimals": 3, **BOUNDS} for name in ("age", "cost", "price", "offer")]
    measures += [{"name": name, "decimals": 0, **BOUNDS} for name in ("visits", "days")]
    measures += [{"name": "spent", "decimals": 3, **BOUNDS, "lower_bound": 0.0005}]
    made.engine.register(
        people_descriptor(
            CODES,
            measures,
            unit={"column": "id", "label": "person"},
            weight={"column": "w", "decimals": 2},
            design={"coverage": "SAMPLE", "stratum": "stratum", "psu": "region"},
        )
    )
    yield made, folder
    made.facility.close()


@dataclass(frozen=True)
class Asked:
    """A model, what statsmodels says of it in the order of ours, and how near it has to be."""

    kind: Family
    formula: str
    theirs: Callable[[pd.DataFrame], np.ndarray]
    options: dict[str, str]
    close: float = 1e-8
    weighted: bool = False

    @property
    def name(self) -> str:
        return self.kind.name.lower() + ("_weighted" if self.weighted else "")


RIGHT = "age + site"
ORDER = ["Intercept", "site[T.b]", "site[T.c]", "age"]


def by_formula(fit: Callable[[pd.DataFrame], object]) -> Callable[[pd.DataFrame], np.ndarray]:
    """The parameters of a fit by formula, in the order of ours: the constant, sites, age."""
    return lambda people: fit(people).params[ORDER].to_numpy()


def weighted_glm(left: str, family: sm.families.Family) -> Callable[[pd.DataFrame], np.ndarray]:
    def fit(people: pd.DataFrame) -> object:
        return smf.glm(f"{left} ~ {RIGHT}", people, family=family, freq_weights=people["w"]).fit(tol=1e-12)

    return by_formula(fit)


def columns(people: pd.DataFrame, *names: str) -> pd.DataFrame:
    sites = pd.get_dummies(people["site"], drop_first=True, dtype=float)
    return pd.concat([sites, people[[*names]]], axis=1)


def negative_binomial(people: pd.DataFrame) -> np.ndarray:
    found = smf.negativebinomial(f"visits ~ {RIGHT}", people).fit(
        method="newton", disp=0, maxiter=200, tol=1e-12
    )
    return found.params[[*ORDER, "alpha"]].to_numpy()


def multinomial(people: pd.DataFrame) -> np.ndarray:
    found = smf.mnlogit(f"state ~ {RIGHT}", people).fit(disp=0)
    return found.params.loc[ORDER].to_numpy().T.reshape(-1)


def ordered(people: pd.DataFrame) -> np.ndarray:
    model = OrderedModel(people["state"], columns(people, "age"), distr="logit")
    found = model.fit(method="bfgs", disp=0, maxiter=500, gtol=1e-9)
    return np.append(found.params[:3], model.transform_threshold_params(found.params.to_numpy())[1:-1])


def quantile(people: pd.DataFrame) -> np.ndarray:
    """The mean of the planes at as many quantiles as a cell must have units, or twice as many."""
    model = smf.quantreg("cost ~ site", people)
    smallest = int(people["site"].value_counts().min())
    planes = [
        model.fit(q=one, max_iter=5000, p_tol=1e-10).params[["Intercept", "site[T.b]", "site[T.c]"]]
        for one in window(0.5, MINIMUM, smallest)
    ]
    return np.mean(planes, axis=0)


def within(people: pd.DataFrame) -> np.ndarray:
    every = columns(people, "cost", "age")
    left = every - every.groupby(people["region"]).transform("mean")
    return sm.OLS(left["cost"], left.drop(columns="cost")).fit().params.to_numpy()


def mixed(people: pd.DataFrame) -> np.ndarray:
    found = smf.mixedlm(f"cost ~ {RIGHT}", people, groups=people["region"]).fit(method="bfgs", gtol=1e-10)
    return found.fe_params[ORDER].to_numpy()


def hazards(people: pd.DataFrame) -> np.ndarray:
    return PHReg(people["days"], columns(people, "age"), status=people["sick"], ties="efron").fit().params


def two_stage(people: pd.DataFrame) -> np.ndarray:
    regressors = sm.add_constant(columns(people, "price"))
    instruments = sm.add_constant(columns(people, "offer"))
    return IV2SLS(people["cost"].to_numpy(), regressors.to_numpy(), instruments.to_numpy()).fit().params


BINOMIAL, POISSON = sm.families.Binomial(), sm.families.Poisson()
LOG_GAMMA = sm.families.Gamma(sm.families.links.Log())
PROBIT = sm.families.Binomial(sm.families.links.Probit())
ILL = f'C(ill, event="yes") ~ {RIGHT}'
COST, SICK, VISITS, SPENT = (f"{left} ~ {RIGHT}" for left in ("cost", "sick", "visits", "spent"))
ASKED = [
    Asked(Family.LINEAR, COST, by_formula(lambda p: smf.ols(COST, p).fit()), {}),
    Asked(Family.LOGIT, ILL, by_formula(lambda p: smf.logit(SICK, p).fit(disp=0)), {}),
    Asked(Family.PROBIT, ILL, by_formula(lambda p: smf.probit(SICK, p).fit(disp=0)), {}),
    Asked(Family.POISSON, VISITS, by_formula(lambda p: smf.poisson(VISITS, p).fit(disp=0)), {}),
    Asked(Family.GAMMA, SPENT, by_formula(lambda p: smf.glm(SPENT, p, family=LOG_GAMMA).fit(tol=1e-12)), {}),
    Asked(
        Family.LINEAR, COST, by_formula(lambda p: smf.wls(COST, p, weights=p["w"]).fit()), {}, weighted=True
    ),
    Asked(Family.LOGIT, ILL, weighted_glm("sick", BINOMIAL), {}, weighted=True),
    Asked(Family.PROBIT, ILL, weighted_glm("sick", PROBIT), {}, weighted=True),
    Asked(Family.POISSON, VISITS, weighted_glm("visits", POISSON), {}, weighted=True),
    Asked(Family.GAMMA, SPENT, weighted_glm("spent", LOG_GAMMA), {}, weighted=True),
    Asked(Family.NEGATIVE_BINOMIAL, VISITS, negative_binomial, {}),
    Asked(Family.MULTINOMIAL_LOGIT, f"health ~ {RIGHT}", multinomial, {}),
    Asked(Family.ORDERED_LOGIT, f"health ~ {RIGHT}", ordered, {}),
    # Where statsmodels itself stops its search: ours is a corner.
    Asked(Family.QUANTILE, "cost ~ site", quantile, {}, 1e-6),
    Asked(Family.FIXED_EFFECTS, COST, within, {"groups": "region"}),
    Asked(Family.MIXED, COST, mixed, {"groups": "region"}),
    Asked(Family.COX, f'surv(days, C(ill, event="yes")) ~ {RIGHT}', hazards, {}),
    Asked(Family.TWO_STAGE, "cost ~ price + site", two_stage, {"instruments": "offer + site"}),
]


def test_no_kind_is_left_out_and_none_that_has_weights_without_them() -> None:
    assert {one.kind for one in ASKED} == set(Family)
    assert {one.kind for one in ASKED if one.weighted} == set(Family) - WITHOUT_WEIGHTS


def ask(house, one: Asked):
    made, _ = house
    request = pb.QueryModelRequest(
        dataset="people",
        kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{one.kind.name}"),
        formula=one.formula,
        weighted=one.weighted,
        **one.options,
    )
    return made.facility.query_model(made.researcher, request, Pace(60.0))


@pytest.mark.parametrize("one", ASKED, ids=lambda one: one.name)
def test_estimates_before_digits_are_limited_are_those_of_statsmodels(house, people, one: Asked) -> None:
    answered = ask(house, one)

    assert (verdict(answered), reasons(answered)) == ("RELEASED", [])
    model = answered.decision.model
    assert (model.records, model.weighted) == (PEOPLE, one.weighted)
    assert all(found.status == table_pb2.CELL_STATUS_PUBLISHED for found in model.coefficients)
    ours = np.array([found.estimate for found in model.coefficients])
    np.testing.assert_allclose(ours, np.asarray(one.theirs(people)), rtol=one.close)
    assert all(found.standard_error > 0 for found in model.coefficients if found.name != "alpha")


@pytest.mark.parametrize("kind", sorted(WITHOUT_WEIGHTS), ids=lambda kind: kind.name.lower())
def test_kinds_without_weights_say_so(house, kind: Family) -> None:
    unweighted = next(one for one in ASKED if one.kind is kind)
    with pytest.raises(InvalidRequest) as caught:
        ask(house, replace(unweighted, weighted=True))
    assert any(
        problem.path == "weighted" and "without weights" in problem.message
        for problem in caught.value.problems
    )
