"""LinkRecords over gRPC: the figures of the methods, of sdcMicro, of Shlomo's Table 2; all that is wrong."""

import time

import grpc
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from arrow_pieces import ipc, requests
from reference_data import read_columns
from risk_server import served_risk, soon, told
from sdcgate.methods.risk.interval_disclosure import Interval, interval_disclosure
from sdcgate.methods.risk.linkage import Metric, Records, Scale, link_by_distance
from sdcgate.methods.risk.probabilistic_linkage import fit_fellegi_sunter, link_by_agreement, thresholds
from sdcgate.methods.risk.psu_linkage import risk_with_areas
from sdcgate.servers import errors
from sdcgate_proto.sdcgate.risk.v1 import linkage_pb2 as pb
from shlomo_tables import table_2

SECRET = "Zwicky of Glarus"
PEOPLE = 400
BUSINESS = ["fixed_assets", "current_assets", "sales", "labor_costs", "gross_profit"]
NOMINAL, ORDINAL = pb.VARIABLE_KIND_NOMINAL, pb.VARIABLE_KIND_ORDINAL
NUMERIC = pb.VARIABLE_KIND_NUMERIC


@pytest.fixture(scope="module")
def stub():
    with served_risk() as made:
        yield made


def linked(stub, original, released, variables, method="DISTANCE", piece=50_000, **how):
    options = pb.LinkageOptions(
        method=f"LINKAGE_METHOD_{method}",
        variables=[pb.LinkageVariable(column=name, **given) for name, given in variables.items()],
        **how,
    )
    files = {"original": ipc(pa.table(original)), "released": ipc(pa.table(released))}
    return stub.LinkRecords(requests(pb.LinkRecordsRequest, options, piece, **files), timeout=60)


def all_of(names, kind):
    return {name: {"kind": kind} for name in names}


def people(errors=0.1):
    """Some people, and the same in another order with errors; the last of them is nobody's."""
    rng = np.random.default_rng(2)
    drawn = [np.column_stack([rng.integers(0, size, PEOPLE) for size in (5, 12, 30, 50)]) for _ in range(2)]
    order = rng.permutation(PEOPLE)
    masked = np.where(rng.random(drawn[0].shape) < errors, drawn[1], drawn[0])[order]
    names = ("sex", "area", "job", "age")
    original = {name: drawn[0][:, place] for place, name in enumerate(names)} | {"id": np.arange(PEOPLE)}
    released = {name: masked[:, place] for place, name in enumerate(names)} | {"id": order}
    released["id"][-1] = 10**6
    truth = np.where(released["id"] == 10**6, -1, released["id"])
    return original, released, truth, drawn[0], masked


def test_links_by_distance_are_those_of_the_methods(stub):
    original, released, truth, before, after = people()
    kinds = {"sex": {"kind": NOMINAL, "weight": 0.5}, "age": {"kind": NUMERIC}, "job": {"kind": ORDINAL}}
    answer = linked(
        stub, original, released, kinds, id="id", metric="LINKAGE_METRIC_MANHATTAN", blocks=["area"]
    )
    ours, theirs = (
        Records(
            np.column_stack([one[:, 3], one[:, 2] / 29.0]),
            one[:, :1],
            one[:, 1:2],
        )
        for one in (before, after)
    )
    own = link_by_distance(ours, theirs, Metric.MANHATTAN, Scale.OWN, np.array([1.0, 1.0, 0.5]), truth)
    assert (answer.original_records, answer.released_records, answer.known_records) == (
        PEOPLE, PEOPLE, PEOPLE - 1,
    )  # fmt: skip
    found = answer.distance
    np.testing.assert_allclose(found.nearest, own.distances, rtol=1e-12)
    np.testing.assert_allclose(found.second, own.second, rtol=1e-12)
    assert list(found.ties) == own.ties.tolist()
    assert list(found.correct) == own.correct.tolist()
    assert found.expected_matches == own.expected_matches > 100
    assert found.rate == own.rate
    for record, number in enumerate(found.linked):
        assert (number == 0) == (own.ties[record] == 0)


def test_without_an_id_nothing_is_said_of_right_links(stub):
    original, released, *_ = people()
    found = linked(stub, original, released, {"age": {"kind": NUMERIC}, "job": {"kind": NUMERIC}})
    assert found.known_records == 0
    assert not found.distance.HasField("expected_matches")
    assert len(found.distance.correct) == 0
    assert len(found.distance.linked) == PEOPLE


def test_a_summary_has_no_columns_by_record(stub):
    original, released, *_ = people()
    found = linked(stub, original, released, {"age": {"kind": NUMERIC}}, id="id", summary_only=True).distance
    assert found.expected_matches > 0
    assert [len(getattr(found, name)) for name in ("linked", "nearest", "second", "ties", "correct")] == [
        0
    ] * 5


def test_links_one_to_one_have_sdcmicros_distances(stub):
    """recordLinkage of 200 records of Tarragona by Gower's distance; see tests/reference."""
    file = read_columns("tarragona_noise")
    original = {name: file[name][:200] for name in BUSINESS}
    masked = {name: file[f"masked_{name}"][:200] for name in BUSINESS}
    found = linked(
        stub, original, masked, all_of(BUSINESS, NUMERIC), same_order=True, one_to_one=True,
        metric="LINKAGE_METRIC_MANHATTAN", standardisation="STANDARDISATION_RANGE",
    )  # fmt: skip
    assert sum(found.distance.nearest) / 5 == pytest.approx(14.10254272857088, rel=1e-12)


def test_interval_disclosure_is_sdcmicros_drisk(stub):
    file = read_columns("tarragona_noise")
    original = {name: file[name] for name in BUSINESS}
    masked = {f"masked_{name}": file[f"masked_{name}"] for name in BUSINESS}
    variables = {name: {"kind": NUMERIC, "released_column": f"masked_{name}"} for name in BUSINESS}
    widths = [0.01, 0.1, 0.3]
    found = linked(
        stub, original, masked, variables, "INTERVAL", same_order=True, widths=widths,
        interval_basis="INTERVAL_BASIS_STANDARD_DEVIATION",
    ).intervals  # fmt: skip
    assert [one.width for one in found] == widths
    assert [one.of_records for one in found] == pytest.approx([0.0, 0.007194244604316547, 0.5251798561151079])
    usual = linked(stub, original, masked, variables, "INTERVAL", same_order=True).intervals
    own = interval_disclosure(
        np.column_stack(list(original.values())), np.column_stack(list(masked.values())), 0.03, Interval.RANK
    )
    assert len(usual) == 10
    assert list(usual[2].of_variables) == own.of_variables.tolist()


def test_fellegi_and_sunters_model_and_links_are_those_of_the_methods(stub):
    original, released, truth, before, after = people()
    kinds = all_of(("sex", "area", "job", "age"), NOMINAL)
    found = linked(
        stub, original, released, kinds, "PROBABILISTIC", id="id", matches=PEOPLE - 1, false_links=1e-4
    ).probabilistic
    model = fit_fellegi_sunter(before, after, matches=PEOPLE - 1)
    at = thresholds(model, 1e-4, 0.05)
    own = link_by_agreement(model, before, after, at, truth=truth)
    assert list(found.matches) == model.matches.tolist()
    assert list(found.others) == model.others.tolist()
    assert list(found.pattern_pairs) == model.pairs.tolist()
    assert (found.link_from, found.no_link_to) == (at.lt, at.nlt)
    assert found.linked_pairs + found.clerical_pairs + found.other_pairs == PEOPLE * PEOPLE
    assert found.linked_pairs == sum(model.pairs[model.index >= at.lt - 1e-8])
    assert (found.linked_records, found.clerical_records) == (own.linked.sum(), own.clerical.sum())
    assert list(found.index) == own.index.tolist()
    assert list(found.ties) == own.ties.tolist()
    assert found.expected_matches == own.expected_matches > 200
    alone = [record for record in range(PEOPLE) if own.correct[record] == 1.0]
    assert [found.linked[record] - 1 for record in alone] == truth[alone].tolist()


def test_a_population_with_the_margins_of_table_2_has_its_figures(stub):
    sample, keys, people_of_keys = table_2()
    found = linked(
        stub, {"key": keys, "people": people_of_keys}, {"key": sample}, {"key": {"kind": NOMINAL}},
        "POPULATION_COUNTS", count="people", piece=10**6,
    ).population  # fmt: skip
    assert (found.sample_keys, found.sample_uniques) == (9_838, 6_031)
    assert (found.population_keys, found.population_uniques) == (107_663, 32_004)
    assert (found.matched, found.unmatched, found.one_to_one) == (5_669, 362, 101)
    assert found.expected_matches == pytest.approx(411.5, rel=1e-12)
    assert len(found.population_counts) == len(sample)


def wrong(stub, *never, original=None, released=None, variables=None, **how):
    files = people()[:2]
    given = variables or {"age": {"kind": NUMERIC}}
    return told(lambda: linked(stub, original or files[0], released or files[1], given, **how), *never)


def test_every_wrong_option_has_its_path_at_once(stub):
    found = wrong(
        stub,
        variables={"agee": {"kind": NUMERIC}, "sex": {"kind": NOMINAL, "weight": 1, "order": ["0"]}},
        id="person", blocks=["aera"],
    )  # fmt: skip
    assert set(found) == {
        "options.variables[0].column", "options.variables[1].order", "options.id", "options.blocks[0]",
    }  # fmt: skip
    found = wrong(stub, variables={"age": {"kind": 0, "weight": -1.0}}, false_links=1.0)
    assert set(found) == {"options.variables[0].kind", "options.variables[0].weight", "options.false_links"}


def test_options_of_another_method_are_not_ignored(stub):
    found = wrong(stub, false_links=0.1, widths=[0.1], count="age", method="DISTANCE")
    assert found["options.false_links"] == "is for the method PROBABILISTIC only"
    assert set(found) == {"options.false_links", "options.widths", "options.count"}
    found = wrong(stub, method="INTERVAL", blocks=["area"], variables={"sex": {"kind": NOMINAL}})
    assert set(found) == {"options.id", "options.blocks", "options.variables[0].kind"}
    found = wrong(stub, method="POPULATION_COUNTS", variables={"age": {"kind": NUMERIC}})
    assert "put the numbers into bands" in found["options.variables[0].kind"]


def test_no_value_of_a_record_is_told(stub):
    original, released, *_ = people()
    released |= {"age": [SECRET] * PEOPLE, "id": [SECRET] * PEOPLE}
    found = wrong(stub, SECRET, original=original, released=released, id="id")
    assert found["options.variables[0].column"].startswith("released: column 'age' has 400 records")
    assert "399 times more than once" in found["options.id"]


def test_both_files_that_are_none_are_told(stub):
    options = pb.LinkageOptions(
        method=pb.LINKAGE_METHOD_DISTANCE, variables=[pb.LinkageVariable(column="a", kind=NUMERIC)], count="b"
    )
    messages = requests(pb.LinkRecordsRequest, options, original=b"none", released=b"")
    found = told(lambda: stub.LinkRecords(messages, timeout=20))
    assert set(found) == {"options.count", "original", "released"}


def test_files_that_are_too_large_are_refused_before_anything_is_computed(stub):
    numbers = {"age": np.arange(6_000.0)}
    found = wrong(stub, original=numbers, released=numbers, one_to_one=True, same_order=True)
    assert "at most 5000 records" in found[""]
    codes = {f"v{place}": np.zeros(40_000, dtype=np.int8) for place in range(14)}
    began = time.monotonic()
    found = wrong(
        stub, original=codes, released=codes, variables=all_of(codes, NOMINAL),
        method="PROBABILISTIC",
    )  # fmt: skip
    assert "compare fewer variables" in found[""]
    assert time.monotonic() - began < 5


def test_both_files_together_have_a_limit():
    file = {"age": np.arange(1_500.0)}
    with served_risk(largest=20_000) as stub, pytest.raises(grpc.RpcError) as caught:
        linked(stub, file, file, {"age": {"kind": NUMERIC}})
    problem = errors.from_rpc_error(caught.value)
    assert isinstance(problem, errors.TooLarge)
    assert "files together" in problem.detail


def test_work_that_nobody_waits_for_is_ended():
    rng = np.random.default_rng(1)
    file = {f"v{place}": rng.normal(size=60_000) for place in range(12)}
    options = pb.LinkageOptions(
        method=pb.LINKAGE_METHOD_DISTANCE,
        variables=[pb.LinkageVariable(column=name, kind=NUMERIC) for name in file],
    )
    files = {"original": ipc(pa.table(file)), "released": ipc(pa.table(file))}
    call = requests(pb.LinkRecordsRequest, options, 10**6, **files)
    with served_risk(largest=2**25, at_once=1) as stub:
        with pytest.raises(grpc.RpcError) as caught:
            stub.LinkRecords(call, timeout=1)
        assert isinstance(errors.from_rpc_error(caught.value), errors.DeadlineExceeded)
        small = {"a": [1.0, 2.0]}
        assert soon(lambda: linked(stub, small, small, {"a": {"kind": NUMERIC}})).released_records == 2


def areas_and_people(seed=3):
    """Twelve areas, six of them drawn as PSUs with 30 people each, and the areas' tax rates to one digit."""
    rng = np.random.default_rng(seed)
    rate, people = rng.uniform(1.0, 3.0, 12), rng.integers(200, 900, 12)
    areas = {"area": [f"a{place}" for place in range(12)], "rate": rate, "people": people}
    drawn = rng.permutation(12)[:6]
    psu = np.repeat(np.arange(6), 30)
    of_people = {
        "psu": [f"p{5 - one}" for one in psu],
        "area": [f"a{drawn[one]}" for one in psu],
        "tax": np.round(rate[drawn], 1)[psu],
        "age": rng.integers(0, 60, 180),
        "w": rng.uniform(30.0, 60.0, 180),
    }
    return areas, of_people, drawn, psu


TAX = {"rate": {"kind": NUMERIC, "released_column": "tax", "rounding": 0.1}}


def test_psus_are_linked_to_areas_as_the_method_links_them_with_their_risk(stub):
    areas, people, drawn, psu = areas_and_people()
    answer = linked(
        stub, areas, people, TAX, "AREAS",
        psu="psu", id="area", count="people", keys=["age"], design_weight="w",
    )  # fmt: skip
    found = answer.areas
    fits = np.abs(areas["rate"][None, :] - np.round(areas["rate"][drawn], 1)[:, None]) <= 0.05
    assert (answer.original_records, answer.released_records, answer.known_records) == (12, 180, 180)
    assert list(found.psus) == ["p5", "p4", "p3", "p2", "p1", "p0"]
    assert found.probability == pytest.approx(1.0 / fits.sum(axis=1))
    assert found.true_probability == pytest.approx(1.0 / fits.sum(axis=1))
    assert list(found.ties) == fits.sum(axis=1).tolist()
    assert all(fits[place, one - 1] for place, one in enumerate(found.linked))
    assert found.expected_matches == pytest.approx(found.right_matches) == (1.0 / fits.sum(axis=1)).sum()
    own = risk_with_areas(
        people["age"][:, None], psu, people["w"], np.array(found.true_probability), areas["people"][drawn]
    )
    assert list(found.risk.by_record) == pytest.approx(own.with_area.tolist(), rel=1e-12)
    assert found.risk.with_areas - found.risk.without == pytest.approx(own.added)
    assert found.risk.without < found.risk.with_areas < found.risk.with_known_areas


def test_psus_are_linked_all_at_once_and_by_the_sizes_that_they_were_drawn_by(stub):
    """Two of three areas fit both PSUs. One is three times as large: on their own both are put there."""
    areas = {"area": ["a", "b", "c"], "rate": [1.0, 1.02, 2.0], "inhabitants": [100.0, 300.0, 50.0]}
    people = {"psu": ["x", "x", "y"], "tax": [1.0, 1.0, 1.0], "area": ["a", "a", "b"]}
    how = {"psu": "psu", "id": "area", "size": "inhabitants"}
    found = linked(stub, areas, people, TAX, "AREAS", **how, one_to_one=True).areas
    assert list(found.probability) == [0.75, 0.75]
    assert list(found.linked) == [2, 2]
    assert list(found.true_probability) == [0.25, 0.75]
    assert sorted(found.linked_together) == [1, 2]
    assert found.right_together in (0.0, 2.0)
    alike = linked(stub, areas, people, TAX, "AREAS", psu="psu").areas
    assert list(alike.probability) == [0.5, 0.5]
    assert not alike.linked_together
    assert not alike.HasField("right_together")


def test_psus_that_are_told_apart_leave_the_third_its_area(stub):
    """Alone the second PSU is in one of two areas; the first takes one of them for certain."""
    areas = {"rate": [1.0, 1.1], "levy": [5.0, 7.0]}
    people = {"psu": ["x", "y"], "tax": [1.0, 1.05], "levy": [5.0, 6.0]}
    both = {"rate": {**TAX["rate"], "rounding": 0.2}, "levy": {"kind": NUMERIC, "rounding": 2.0}}
    found = linked(stub, areas, people, both, "AREAS", psu="psu", one_to_one=True).areas
    assert list(found.ties) == [1, 2]
    assert list(found.linked_together) == [1, 2]


def test_numbers_with_errors_are_told_as_bayes_rule_has_them(stub):
    rng = np.random.default_rng(2)
    original = {"id": np.arange(80), "income": rng.normal(10, 2, 80)}
    order = rng.permutation(80)
    released = {"id": order, "income": original["income"][order] + rng.normal(0, 0.05, 80)}
    released["id"][-1] = 999
    variables = {"income": {"kind": NUMERIC, "error": 0.05}}
    found = linked(stub, original, released, variables, "MEASUREMENT_ERROR", id="id", outside=500)
    z, x = released["income"][:-1], original["income"][order[:-1]]
    anybody = norm.pdf(z, z.mean(), z.std())
    weights = norm.pdf(z[None, :], x[:, None], 0.05) / anybody
    expected = np.diag(weights) / (weights.sum(axis=1) + 500)
    error = found.measurement_error
    assert list(error.correct) == pytest.approx([*expected, 0.0], rel=1e-8)
    assert list(error.linked) == [*(weights.argmax(axis=1) + 1), 0]
    assert error.expected_matches == (weights.argmax(axis=1) == np.arange(79)).sum()
    assert error.rate == pytest.approx(error.expected_matches / 79)
    assert list(error.errors) == pytest.approx([0.05])


def test_where_no_error_is_given_it_is_that_of_the_files(stub):
    original = {"x": np.arange(5.0), "y": np.arange(5.0) * 3}
    moved = np.array([[0.1, -0.1, 0.1, -0.1, 0.0], [1, 0, 2, 0, 2]])
    released = {"x": original["x"] + moved[0], "y": original["y"] + moved[1]}
    found = linked(
        stub, original, released, all_of(["x", "y"], NUMERIC), "MEASUREMENT_ERROR", same_order=True
    )
    assert list(found.measurement_error.errors) == pytest.approx([0.1, 1.0])
    assert found.measurement_error.expected_matches == 5.0


@pytest.mark.parametrize(
    ("method", "variables", "how", "path"),
    [
        ("AREAS", TAX, {}, "options.psu"),
        ("AREAS", TAX, {"psu": "psu", "keys": ["age"]}, "options.keys"),
        ("AREAS", TAX, {"psu": "psu", "same_order": True}, "options.same_order"),
        ("AREAS", TAX, {"psu": "psu", "outside": 3}, "options.outside"),
        ("AREAS", TAX, {"psu": "psu", "size": "area"}, "options.size"),
        ("AREAS", {"rate": {"kind": NOMINAL}}, {"psu": "psu"}, "options.variables[0].kind"),
        ("AREAS", TAX, {"psu": "nothing"}, "options.psu"),
        ("AREAS", TAX, {"psu": "psu", "count": "rate"}, "options.count"),
        ("AREAS", TAX, {"psu": "age", "id": "area"}, "options.id"),
        ("MEASUREMENT_ERROR", TAX, {"same_order": True}, "options.variables[0].rounding"),
        ("MEASUREMENT_ERROR", {"rate": {"kind": NUMERIC}}, {}, "options.id"),
        (
            "MEASUREMENT_ERROR",
            {"rate": {"kind": NUMERIC, "error": 0.0}},
            {"same_order": True},
            "options.variables",
        ),
        ("DISTANCE", {"rate": {"kind": NUMERIC, "error": 1.0}}, {}, "options.variables[0].error"),
    ],
)
def test_options_of_areas_and_errors_that_do_not_fit_are_told_by_their_path(
    stub, method, variables, how, path
):
    areas, people, *_ = areas_and_people()
    assert path in told(lambda: linked(stub, areas, people, variables, method, **how))
