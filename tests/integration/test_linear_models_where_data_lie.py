"""Linear models by sums where the data lie: what the records say, and nothing of a record is moved."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from house import with_randhie
from sdcgate.engine import Engine, parse_descriptor
from sdcgate.engine import engine as engines
from sdcgate.facility.errors import TimeOver
from sdcgate.facility.model_fitting import Fitted, NotEstimable
from sdcgate.facility.model_sums import fit_by_sums
from sdcgate.facility.pace import Pace
from sdcgate.methods.outputs.model_checks import assess_model
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2
from statistics_of_sums import no_records
from two_roads import LARGEST, RULES, SITES, Asked, agree, by_both, frame_of, registered

SECRET = b"s" * 32
TERMS = (
    "site",
    "plan",
    "site:plan",
    "income",
    "log(income)",
    "spline(income)",
    "debt",
    "square(debt)",
    "site:debt",
    "numeric(age)",
    "few",
    "plan:few",
    "income:debt",
    "far",
)


@pytest.fixture
def engine(tmp_path) -> Iterator[Engine]:
    made = Engine(tmp_path, tmp_path / "store", SECRET)
    yield made
    made.close()


@st.composite
def models(draw: st.DrawFn) -> Asked:
    terms = draw(st.lists(st.sampled_from(TERMS), min_size=1, max_size=4, unique=True))
    outcome = "cost"
    constant = draw(st.sampled_from(["", "", " - 1"]))
    errors = draw(
        st.sampled_from([(False, "CLASSICAL"), (False, "ROBUST"), (False, "CLUSTERED"), (True, "DESIGN")])
    )
    codes = draw(st.lists(st.sampled_from(SITES), min_size=2, unique=True))
    filters = draw(st.sampled_from([{}, {"site": sorted(codes)}]))
    return Asked(f"{outcome} ~ {' + '.join(terms)}{constant}", *errors, filters)


@pytest.mark.parametrize("most", [1, 3])
def test_random_models_are_the_same_by_records_and_by_sums(tmp_path_factory, most: int) -> None:
    folder = tmp_path_factory.mktemp("roads")
    engine = Engine(folder, folder / "store", SECRET)
    frames = [(1, 300, 0.0, 0), (2, 40, 5000.0, 1000), (3, 12, 0.0, 0)]
    datasets = [
        registered(engine, folder, frame_of(seed, units, most, outlier, far), most, f"people{seed}")
        for seed, units, outlier, far in frames
    ]

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(models(), st.sampled_from(datasets))
    def same(asked: Asked, dataset) -> None:
        agree(*by_both(engine, dataset, asked))
        enough = RULES.enough_apart
        agree(*by_both(engine, dataset, asked, enough), enough)

    same()
    engine.close()


@pytest.mark.parametrize(
    "formula",
    [
        "cost ~ site * plan",
        "cost ~ 1",
        "cost ~ few",
        "few ~ site",
        "cost ~ plan:log1p(income) + inverse(income)",
        'cost ~ C(plan, reference="c") + cube(few)',
    ],
)
@pytest.mark.parametrize("most", [1, 3])
def test_models_of_each_kind_of_column_are_the_same(engine, tmp_path, formula: str, most: int) -> None:
    dataset = registered(engine, tmp_path, frame_of(5, 200, most), most)

    agree(*by_both(engine, dataset, Asked(formula)))


def test_a_unit_that_holds_a_coefficient_is_found_by_sums(engine, tmp_path) -> None:
    frame = frame_of(7, 300)
    frame.loc[0, "debt"] = 1e7
    dataset = registered(engine, tmp_path, frame)

    records, sums = by_both(engine, dataset, Asked("cost ~ debt + site"))

    agree(records, sums)
    assert isinstance(sums, Fitted)
    assert sums.facts.columns.largest_shares[list(sums.estimate.names).index("debt"), 0] > 0.98
    assert sums.facts.maximum_leverage > 0.98


@pytest.mark.parametrize("formula", ["cost ~ site:plan - 1", "cost ~ plan:site"])
def test_robust_errors_of_a_category_of_one_are_nothing_on_both_roads(engine, tmp_path, formula) -> None:
    """Its record has no residual: rounding decided whether its error was a number."""
    frame = frame_of(2, 40, outlier=5000.0, far=1000)
    lonely = (frame["site"] == "3") & (frame["plan"] == "c")
    frame = frame[~lonely | (lonely.cumsum() == 1)]
    dataset = registered(engine, tmp_path, frame)

    records, sums = by_both(engine, dataset, Asked(formula, False, "ROBUST"))

    assert isinstance(records, NotEstimable)
    assert "errors of this kind are nothing" in str(records)
    assert sums == records


@pytest.mark.parametrize(("others", "refused"), [(9, True), (10, False)])
def test_all_who_are_off_a_median_are_counted_where_a_few_records_do_not_show_enough(
    engine, tmp_path, others: int, refused: bool
) -> None:
    """Nearly all have one debt, the others two: some records show three values at most."""
    frame = frame_of(9, 400)
    frame["debt"] = 0.0
    frame.loc[frame.index[-others:], "debt"] = [1.0 + place % 2 for place in range(others)]
    dataset = registered(engine, tmp_path, frame)

    records, sums = by_both(engine, dataset, Asked("cost ~ debt + income"), RULES.enough_apart)

    agree(records, sums, RULES.enough_apart)
    assert isinstance(sums, Fitted)
    apart = dict(zip(sums.estimate.names, sums.facts.columns.units_apart.tolist(), strict=True))
    assert apart["debt"] == others
    assert RULES.enough_apart <= apart["income"] < len(frame)
    found = [finding.columns for finding in assess_model(sums.facts, RULES) if finding.bound == 10.0]
    assert ((list(sums.estimate.names).index("debt"),) in found) is refused


def test_a_category_of_one_cannot_be_left_out(engine, tmp_path) -> None:
    frame = frame_of(8, 300)
    frame.loc[frame["plan"] == "d", "plan"] = "c"
    frame.loc[0, "plan"] = "d"
    dataset = registered(engine, tmp_path, frame)

    records, sums = by_both(engine, dataset, Asked("cost ~ plan + income"))

    agree(records, sums)
    assert isinstance(sums, Fitted)
    at = list(sums.estimate.names).index("plan[T.d]")
    assert np.isinf(sums.facts.columns.dfbetas[at])
    assert sums.facts.columns.units_apart[at] == 1


def test_estimates_are_those_of_statsmodels(engine, tmp_path) -> None:
    frame = frame_of(9, 500)
    dataset = registered(engine, tmp_path, frame)

    _, sums = by_both(engine, dataset, Asked("cost ~ site * plan + log(income) + site:debt", errors="ROBUST"))

    frame["site"] = frame["site"].astype(str)
    theirs = smf.ols("cost ~ site * plan + np.log(income) + site:debt", frame).fit(cov_type="HC1", use_t=True)
    assert isinstance(sums, Fitted)
    places = {
        frozenset(name.replace("np.", "").split(":")): at for at, name in enumerate(theirs.params.index)
    }
    order = [places[frozenset(name.split(":"))] for name in sums.estimate.names]
    np.testing.assert_allclose(sums.estimate.estimates, theirs.params.to_numpy()[order], rtol=1e-8)
    np.testing.assert_allclose(sums.estimate.standard_errors, theirs.bse.to_numpy()[order], rtol=1e-8)
    own = theirs.get_influence()
    assert sums.facts.maximum_leverage == pytest.approx(own.hat_matrix_diag.max(), rel=1e-8)


def test_numbers_far_from_0_keep_their_digits(engine, tmp_path) -> None:
    """An amount of 10^12 and some: what doubles lose of its squares, exact fractions do not."""
    far = 10**12
    frame = frame_of(11, 200, far=far)
    dataset = registered(engine, tmp_path, frame)

    _, sums = by_both(engine, dataset, Asked("cost ~ far + income"))

    exact = _exact_slopes(frame, ["far", "income"], "cost")
    assert isinstance(sums, Fitted)
    names = list(sums.estimate.names)
    found = [sums.estimate.estimates[names.index(name)] for name in ("far", "income")]
    np.testing.assert_allclose(found, [float(one) for one in exact], rtol=1e-12)
    near = frame.assign(far=frame["far"] - far)
    own = sm.OLS(near["cost"], sm.add_constant(near[["far", "income"]])).fit()
    np.testing.assert_allclose(
        [sums.estimate.standard_errors[names.index(name)] for name in ("far", "income")],
        own.bse[1:],
        rtol=1e-10,
    )
    leverage = own.get_influence().hat_matrix_diag.max()
    assert sums.facts.maximum_leverage == pytest.approx(leverage, rel=1e-9)
    dfbetas = np.abs(own.get_influence().dfbetas[:, 1]).max()
    assert sums.facts.columns.dfbetas[names.index("far")] == pytest.approx(dfbetas, rel=1e-9)


def _exact_slopes(frame: pd.DataFrame, columns: list[str], outcome: str) -> list[Fraction]:
    """Two slopes by Cramer's rule in whole numbers."""
    values = [[Fraction(str(value)) for value in frame[name]] for name in (*columns, outcome)]
    about = [[value - sum(column) / len(column) for value in column] for column in values]

    def product(one: int, other: int) -> Fraction:
        return sum((a * b for a, b in zip(about[one], about[other], strict=True)), Fraction(0))

    determinant = product(0, 0) * product(1, 1) - product(0, 1) ** 2
    return [
        (product(0, 2) * product(1, 1) - product(1, 2) * product(0, 1)) / determinant,
        (product(1, 2) * product(0, 0) - product(0, 2) * product(0, 1)) / determinant,
    ]


def test_longleys_estimates_are_those_that_nist_certifies(engine, tmp_path) -> None:
    """NIST, Statistical Reference Datasets, Longley: certified values of a file that loses digits."""
    data = sm.datasets.longley.load_pandas().data.rename(columns=str.lower)
    data["id"] = range(len(data))
    data.to_csv(tmp_path / "longley.csv", index=False)
    measures = {"totemp": 0, "gnpdefl": 1, "gnp": 0, "unemp": 0, "armed": 0, "pop": 0, "year": 0}
    dataset = engine.register(
        parse_descriptor(
            {
                "name": "longley",
                "data": {"path": "longley.csv"},
                "unit": {"column": "id"},
                "design": {"coverage": "CENSUS"},
                "variables": [
                    {
                        "name": "id",
                        "identifying": "NO",
                        "levels": [{"codes": [{"code": str(at)} for at in range(16)]}],
                    }
                ],
                "measures": [{"name": name, "decimals": decimals} for name, decimals in measures.items()],
            }
        )
    ).dataset

    _, sums = by_both(engine, dataset, Asked("totemp ~ gnpdefl + gnp + unemp + armed + pop + year"))

    assert isinstance(sums, Fitted)
    found = dict(zip(sums.estimate.names, sums.estimate.estimates.tolist(), strict=True))
    certified = {
        "Intercept": -3482258.63459582,
        "gnpdefl": 15.0618722713733,
        "gnp": -0.358191792925910e-01,
        "unemp": -2.02022980381683,
        "armed": -1.03322686717359,
        "pop": -0.511041056535807e-01,
        "year": 1829.15146461355,
    }
    assert found == pytest.approx(certified, rel=1e-11)
    assert sums.estimate.fit["residual_standard_error"] == pytest.approx(304.854073561965, rel=1e-12)


def test_no_record_leaves_the_engine(engine, tmp_path, monkeypatch) -> None:
    """What the database returns has a row a cell, a few for a table, and one for all else."""
    frame = frame_of(13, 3000, most=2)
    dataset = registered(engine, tmp_path, frame, most=2)
    plan = Asked("cost ~ site * plan + log(income) + debt + few", errors="CLUSTERED").plan(dataset)
    database, said = engine._database, []
    run = database.run

    def spied(sql, tables=None):
        rows = run(sql, tables)
        said.append((sql, rows))
        return rows

    monkeypatch.setattr(database, "run", spied)
    codes = {("site", "site"): SITES, ("plan", "plan"): ("a", "b", "c", "d")}
    fitted = fit_by_sums(
        engine, plan, {level: of[0] for level, of in codes.items()}, codes, LARGEST, lambda: 60.0
    )

    assert isinstance(fitted, Fitted)
    assert len(said) >= 5
    assert max(rows.num_rows for _, rows in said) <= len(SITES) * 4
    for sql, rows in said:
        assert "unit_key" not in sql
        assert "record_mark" not in sql
        assert not {"unit", "unit_key", "record_mark"}.intersection(rows.column_names)


def test_the_text_of_a_statement_has_no_figure_of_the_data(engine, tmp_path) -> None:
    """Two populations with other coefficients are asked with one text: a log of it tells nothing of them."""
    texts = []
    for seed in (1, 2):
        dataset = registered(engine, tmp_path, frame_of(seed, 200), name="people")
        by_both(engine, dataset, Asked("cost ~ site + log(income) + site:debt"))
        known = engine._database._queries._known.items()
        texts.append(
            {sql.replace(f"people@{dataset.version}", "") for key, sql in known if key[0] == "linear"}
        )
        engine._database._queries._known.clear()

    assert texts[0] == texts[1]


def test_no_statement_begins_when_the_time_is_over(engine, tmp_path) -> None:
    dataset = registered(engine, tmp_path, frame_of(15, 100))
    plan = Asked("cost ~ debt").plan(dataset)

    with pytest.raises(TimeOver):
        fit_by_sums(engine, plan, {}, {}, LARGEST, lambda: 0.0)


def test_the_road_is_that_of_sums_from_many_records_on(tmp_path, monkeypatch) -> None:
    """The facility's answer is the same by both roads, and where sums suffice no record is read."""
    house = with_randhie(tmp_path)
    request = pb.QueryModelRequest(
        dataset="randhie", kind=model_pb2.MODEL_KIND_LINEAR, formula="meddol ~ site + female * numeric(age)"
    )
    by_records = house.facility.query_model(house.researcher, request, Pace(60.0)).decision
    house.facility.close()
    other = with_randhie(tmp_path_of(tmp_path))
    monkeypatch.setattr(engines, "SUMS_FROM", 0)
    monkeypatch.setattr(Engine, "records", no_records)
    by_sums = other.facility.query_model(other.researcher, request, Pace(60.0)).decision
    other.facility.close()

    assert by_records.verdict == by_sums.verdict
    assert len(by_records.model.coefficients) > 5
    assert by_records.model == by_sums.model


def tmp_path_of(folder: Path) -> Path:
    """Another house's folder."""
    made = folder / "other"
    made.mkdir()
    return made
