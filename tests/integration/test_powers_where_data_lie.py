"""The audit of sums of squares where the data lie: it says what records say, and none of them is moved."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from engines_compared import files
from house import House, build, people_descriptor, reasons, verdict
from powers_two_ways import (
    NEVER,
    agree,
    agree_on_statistics,
    agree_on_tables,
    by_records,
    by_sums,
    queries,
    regions_of,
    same_of_regions,
)
from sdcgate.engine import Engine, parse_descriptor
from sdcgate.engine import engine as engines
from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.moment_sums import MomentQuery, MomentSums
from sdcgate.engine.product_sums import ProductQuery
from sdcgate.engine.queries import CellQuery, Region
from sdcgate.engine.record_groups import GroupedLevel, RecordGroups
from sdcgate.facility import models, statistic_records, statistics
from sdcgate.facility.model_powers import audited_powers
from sdcgate.facility.model_products import told_products
from sdcgate.facility.model_records import read_population
from sdcgate.facility.pace import Pace
from sdcgate.facility.statistic_computing import Done, Task, compute_task
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_power_audit import UNPROVED
from sdcgate.facility.statistic_powers import highest_power
from sdcgate.facility.statistic_sums import computed_by_sums
from sdcgate.methods.rules import ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2
from statistics_of_sums import no_records
from two_roads import frame_of, registered

SECRET = b"s" * 32
SOME = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
# A smaller example would cost more than it tells: each registers a file and asks many questions.
FEW = settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
PLACES = ("city", "town", "village", "hill")
AROUND_THE_HILL = (PLACES[3:], PLACES, PLACES[:3])
"""Where the squares tell of the one who lies far out, alone and by what is left."""
FAR_OUT = 3
"""A seed of persons of whom one lies far out on the hill, but not so far that only his residual counts."""
MEASURES = ("income", "points", "few", "same")
TOLD = ("CORRELATIONS", "PRINCIPAL_COMPONENTS")
TESTS = ("T_TEST", "ANALYSIS_OF_VARIANCE", "CHI_SQUARED_TEST")
FORMULAS = (
    "income ~ 1",
    "income ~ sex",
    "points ~ income",
    "income ~ square(points)",
    "log(income) ~ points",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("powers")


@pytest.fixture(scope="module")
def engine(folder) -> Iterator[Engine]:
    made = Engine(folder, folder / "store", SECRET)
    yield made
    made.close()


@SOME
@given(data=st.data())
def test_sums_of_powers_of_random_files_are_those_of_their_records(engine, folder, data) -> None:
    frame, declared = data.draw(files())
    frame.to_csv(folder / "people.csv", index=False)
    dataset = engine.register(parse_descriptor(declared)).dataset
    for query in data.draw(st.lists(queries(), min_size=3, max_size=3)):
        agree(by_records(engine, dataset, query), by_sums(engine, dataset, query))


@SOME
@given(data=st.data())
def test_regions_of_random_files_are_judged_as_by_their_records(engine, folder, data) -> None:
    frame, declared = data.draw(files())
    frame.to_csv(folder / "people.csv", index=False)
    dataset = engine.register(parse_descriptor(declared)).dataset
    order, share = data.draw(st.integers(2, 4)), data.draw(st.sampled_from([0.02, 0.1, 0.5]))
    same_of_regions(engine, dataset, regions_of(dataset, data.draw), order, share)


@pytest.mark.parametrize("most", [1, pytest.param(3, marks=pytest.mark.long)])
def test_random_models_are_audited_as_by_their_records(tmp_path_factory, monkeypatch, most: int) -> None:
    """One after the other, each compared with all that have left: the same reasons and recorded sums."""
    said: Counter[object] = Counter()

    def both(house_engine: Engine, moments: Any, plan: Any, _: object, *others: Any) -> Any:
        found = []
        records = read_population(house_engine, plan)
        # What sums of logarithms tell is judged by records on either road.
        beside = records if told_products(plan).functions else None
        for sums_from, people in ((NEVER, records), (0, beside)):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(engines, "SUMS_FROM", sums_from)
                found.append(
                    _or_error(
                        lambda people=people: audited_powers(house_engine, moments, plan, people, *others)
                    )
                )
        (why, tables), (same, others_) = found
        assert why == same
        agree_on_tables(tables, others_)
        said[why] += 1
        return audited_powers(house_engine, moments, plan, beside, *others)

    regions = MomentSums.of_regions

    def counted(self: MomentSums, query: MomentQuery, asked: list[Region]) -> Any:
        said["regions"] += len(asked)
        return regions(self, query, asked)

    monkeypatch.setattr(models, "audited_powers", both)
    monkeypatch.setattr(MomentSums, "of_regions", counted)
    asked = st.lists(st.tuples(st.sampled_from(FORMULAS), _filters()), min_size=8, max_size=8, unique_by=str)

    @FEW
    @given(st.integers(0, 2**32 - 1), asked)
    @example(seed=FAR_OUT, questions=[("income ~ 1", {"place": list(where)}) for where in AROUND_THE_HILL])
    def same(seed: int, questions: list[tuple[str, dict[str, list[str]]]]) -> None:
        house = _house(tmp_path_factory.mktemp("house"), seed, most)
        for formula, filters in questions:
            _model(house, formula, **filters)
        house.facility.close()

    same()
    assert said[None] > 10
    assert said[ReasonCode.INFLUENCE] > 0
    assert said[ReasonCode.DIFFERENCING] > 0
    assert said["regions"] > 0


def test_no_record_leaves_the_engine_for_a_model_and_its_audit(tmp_path, monkeypatch) -> None:
    """Two models of which one population lies in the other: all that is read are sums, a row a group."""
    house = _house(tmp_path, seed=3, most=1)
    monkeypatch.setattr(engines, "SUMS_FROM", 0)
    monkeypatch.setattr(Engine, "records", no_records)
    monkeypatch.setattr(Engine, "_columns", no_records)
    returned = _spied(house, monkeypatch)

    whole = _model(house, "income ~ sex + square(points)")
    part = _model(house, "income ~ sex + square(points)", place=PLACES[1:])

    assert [verdict(one) for one in (whole, part)] == ["RELEASED", "RELEASED"]
    # Of income in one statement, whose only row has sums and the outermost values of either side.
    squares = [rows for sql, rows in returned if "least0" in sql and "squares0" in sql]
    assert [len(rows["least0"][0]) for rows in squares] == [3, 3]
    audits = [rows for sql, rows in returned if "held" in sql] + squares
    # Of points the populations, and of both what is left of one, by two statements each.
    assert len(audits) > 8
    assert any("members" in sql for sql, _ in returned)
    # A row of all people, of each sex and of the sexes together, of one measure or of both.
    assert max(rows.num_rows for rows in audits) == 6
    for _, rows in returned:
        assert not {"unit", "unit_key", "record_mark", "x"}.intersection(rows.column_names)
        assert rows.num_rows < 60
    house.facility.close()


def test_two_that_lie_far_out_do_not_cost_the_digits_of_the_others(engine, folder) -> None:
    """Beside the one who is in the know, a billion times farther out, exact fractions are met."""
    values = [10**9, *(50 + at % 7 for at in range(40)), 90, 91]
    dataset = _of_values(engine, folder, values)

    (found,) = by_sums(engine, dataset, MomentQuery("cost", 2, 1))

    at_least = min(_exact(values, 1, min), _exact(values, 1, max))
    assert found.closeness[0] == pytest.approx(at_least, rel=1e-12)
    agree(
        by_records(engine, dataset, MomentQuery("cost", 4, 2)),
        by_sums(engine, dataset, MomentQuery("cost", 4, 2)),
    )


def test_values_far_from_zero_keep_their_digits(engine, folder) -> None:
    """Amounts of 10^12 that differ by single units: what doubles lose of their mean, whole numbers do not."""
    values = [10**12 + at * at % 101 for at in range(60)]
    dataset = _of_values(engine, folder, values)

    (found,) = by_sums(engine, dataset, MomentQuery("cost", 2, 2))

    at_least = min(_exact(values, 2, min), _exact(values, 2, max))
    assert found.closeness[0] == pytest.approx(at_least, rel=1e-9)
    assert found.sums[0] == pytest.approx(float(sum(Fraction(one) ** 2 for one in values)), rel=1e-15)


def _exact(values: list[int], coalition: int, end: Callable[[list[int]], int]) -> float:
    """How far Samuelson's bound lies beyond a value, as a share of it; but for the last root in fractions."""
    mean = Fraction(sum(values), len(values))
    value = end(values)
    others = sorted(values, key=lambda one: abs(one - mean))
    others.remove(value)
    left = [*others[: len(others) - coalition], value]
    own = Fraction(sum(left), len(left))
    squares = sum((one - own) ** 2 for one in left)
    reach = float(squares * (len(left) - 1) / len(left)) ** 0.5
    return (reach - float(abs(value - own))) / max(abs(value), float(abs(value - own)))


def test_products_of_groups_of_other_magnitudes_keep_their_digits(engine, folder) -> None:
    """Amounts of 10^12 that differ by single units beside amounts of 1 to 7: exact fractions are met."""
    large, small = [10**12 + at * at % 101 for at in range(60)], [1 + at % 7 for at in range(40)]
    frame = frame_of(1, 100).assign(far=[*large, *small], site=["1"] * 60 + ["2"] * 40)
    dataset = registered(engine, folder, frame, name="magnitudes")
    groups = RecordGroups((GroupedLevel("site", "", (0, 1, -1, -1), 2),))
    query = ProductQuery(("far", "cost"), groups)

    found = engine.product_sums(dataset, query, lambda: None).products()

    assert found.records.tolist() == found.units.tolist() == [60, 40]
    cost = [Fraction(str(one)) for one in frame["cost"]]
    for group, (own, of_cost) in enumerate(((large, cost[:60]), (small, cost[60:]))):
        about = [[one - Fraction(sum(values)) / len(values) for one in values] for values in (own, of_cost)]
        exact = [[float(sum(a * b for a, b in zip(x, y, strict=True))) for y in about] for x in about]
        norms = np.sqrt(np.outer(*[np.diag(exact)] * 2))
        np.testing.assert_allclose(found.centred[group] / norms, exact / norms, rtol=0, atol=1e-13)
        assert found.means[group, 0] == float(Fraction(sum(own), len(own)))


def test_a_sum_by_groups_that_lacks_one_is_an_error(tmp_path, monkeypatch) -> None:
    house = _house(tmp_path, seed=4, most=1)
    monkeypatch.setattr(engines, "SUMS_FROM", 0)
    run = house.engine._database.run

    def lost(sql: str, tables: Any = None) -> Any:
        rows = run(sql, tables)
        return rows.slice(1) if "product0_0" in rows.column_names else rows

    monkeypatch.setattr(house.engine._database, "run", lost)

    with pytest.raises(ComputationFailed, match="did not see all of them"):
        _statistic(house, "CORRELATIONS", ["income", "points"], groups=["place"])
    house.facility.close()


def test_a_database_that_answers_of_too_few_is_an_error(engine, folder, monkeypatch) -> None:
    dataset = _of_values(engine, folder, list(range(50)))
    run = engine._database.run

    def lost(sql: str, tables: Any = None) -> Any:
        rows = run(sql, tables)
        return rows.slice(0, 0) if "records0" in rows.column_names else rows

    monkeypatch.setattr(engine._database, "run", lost)

    with pytest.raises(ComputationFailed, match="did not see all groups"):
        by_sums(engine, dataset, MomentQuery("cost", 2, 1))


def _of_values(engine: Engine, folder: Path, values: list[int]) -> Any:
    frame = frame_of(1, len(values)).assign(cost=values)
    return registered(engine, folder, frame, name=f"people{len(values)}")


@pytest.mark.parametrize("most", [1, pytest.param(3, marks=pytest.mark.long)])
def test_statistics_of_random_populations_are_those_of_their_records(
    tmp_path_factory, monkeypatch, most: int
) -> None:
    """Figures, facts, findings and sums of powers; one after the other, so that verdicts vary."""
    said: Counter[str] = Counter()

    def both(of: Engine, plan: StatisticPlan, in_time: Callable[[], None]) -> Done | None:
        found = computed_by_sums(of, plan, in_time)
        agree_on_statistics(plan, _by_records(of, plan), found)
        said[plan.statistic.name] += 1
        said["implied"] += found is not None and bool(found.computed.facts.implied)
        return found

    monkeypatch.setattr(statistics, "computed_by_sums", both)
    monkeypatch.setattr(engines, "SUMS_FROM", 0)
    # Of each sort of question two, so that none is left out.
    asked = st.tuples(*(st.tuples(question, _filters()) for question in _questions() * 2))

    @FEW
    @given(st.integers(0, 2**32 - 1), asked)
    def same(seed: int, questions: tuple[tuple[dict[str, Any], dict[str, list[str]]], ...]) -> None:
        house = _house(tmp_path_factory.mktemp("house"), seed, most)
        for question, filters in questions:
            said[verdict(_statistic(house, **question, **filters))] += 1
        house.facility.close()

    same()
    assert said["RELEASED"] + said["RELEASED_PROTECTED"] > 5
    assert said["REFUSED"] > 2
    assert said["implied"] > 5
    assert min(said[kind] for kind in (*TOLD, *TESTS)) > 0


@pytest.mark.parametrize("most", [1, pytest.param(3, marks=pytest.mark.long)])
def test_groups_that_are_withheld_by_sums_are_those_withheld_by_records(
    tmp_path, monkeypatch, most: int
) -> None:
    """The same verdicts, reasons, groups and figures to the digits that leave, one after the other."""
    houses = [_house(_folder(tmp_path, name), seed=4, most=most) for name in ("records", "sums")]
    questions = [
        {"kind": "CORRELATIONS", "measures": ["income", "points"], "groups": ["place"]},
        {"kind": "PRINCIPAL_COMPONENTS", "measures": ["income", "few"], "groups": ["sex"]},
        {"kind": "T_TEST", "measure": "income", "having": ("sex", ["1"]), "groups": ["place"]},
        {"kind": "T_TEST", "measure": "income", "having": ("place", ["city", "town"])},
        {"kind": "ANALYSIS_OF_VARIANCE", "measure": "income", "factors": ["place", "sex"]},
        {"kind": "ANALYSIS_OF_VARIANCE", "measure": "points", "factors": ["place"], "groups": ["sex"]},
        {"kind": "CHI_SQUARED_TEST", "factors": ["place", "sex"]},
        {"kind": "CORRELATIONS", "measures": ["income", "points"], "groups": ["place"], "sex": ["0"]},
    ]
    verdicts = []
    for asked in questions:
        answers = []
        for house, sums_from in zip(houses, (NEVER, 0), strict=True):
            with monkeypatch.context() as patched:
                patched.setattr(engines, "SUMS_FROM", sums_from)
                answers.append(_statistic(house, **asked).decision)
        assert [answers[0].statistic, reasons(answers[0])] == [answers[1].statistic, reasons(answers[1])]
        verdicts.append(verdict(answers[0]))
        assert verdicts[-1] == verdict(answers[1])
    assert {"RELEASED", "RELEASED_PROTECTED"} <= set(verdicts)
    for house in houses:
        house.facility.close()


def test_no_record_leaves_the_engine_for_correlations_and_their_audit(tmp_path, monkeypatch) -> None:
    house = _house(tmp_path, seed=3, most=1)
    other = _house(_folder(tmp_path, "other"), seed=3, most=1)
    by_records = [_statistic(house, kind, ["income", "points"]) for kind in TOLD]
    monkeypatch.setattr(engines, "SUMS_FROM", 0)
    monkeypatch.setattr(Engine, "records", no_records)
    monkeypatch.setattr(Engine, "_columns", no_records)

    returned = _spied(other, monkeypatch)
    by_sums_ = [_statistic(other, kind, ["income", "points"]) for kind in TOLD]
    part = [_statistic(other, kind, ["income", "points"], place=PLACES[1:]) for kind in TOLD]
    by_groups = [
        _statistic(other, "CORRELATIONS", ["points", "few"], groups=["sex"]),
        _statistic(other, "T_TEST", measure="points", having=("sex", ["1"]), groups=["place"]),
        _statistic(other, "ANALYSIS_OF_VARIANCE", measure="points", factors=["place", "sex"]),
        _statistic(other, "CHI_SQUARED_TEST", factors=["place", "sex"]),
    ]

    assert [verdict(one) for one in (*by_sums_, *part)] == ["RELEASED"] * 4
    assert [verdict(one) for one in by_groups] == ["RELEASED"] * 4
    assert len(returned) > 50
    for _, rows in returned:
        assert not {"unit", "unit_key", "record_mark", "x", "x0"}.intersection(rows.column_names)
        assert rows.num_rows < 60
    figures = [
        [(one.name, list(one.values)) for one in answered.decision.statistic.figures]
        for answered in (*by_records, *by_sums_)
    ]
    assert figures[0] == figures[2]
    assert [name for name, _ in figures[1]] == [name for name, _ in figures[3]]
    for one in (house, other):
        one.facility.close()


def _folder(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made


def _by_records(engine: Engine, plan: StatisticPlan) -> Done | None:
    axes = engine.compute(plan.dataset, CellQuery(plan.groups, plan.population)).axes
    people = statistic_records.read_population(engine, plan, axes)
    if people is None:
        return None
    rules = plan.policy.statistic_rules
    return compute_task(
        Task(plan.statistic, people, rules, 1, plan.errors, plan.measures, highest_power(plan))
    )


def _statistic(
    house: House,
    kind: str,
    measures: Sequence[str] = (),
    measure: str = "",
    groups: Sequence[str] = (),
    factors: Sequence[str] = (),
    having: tuple[str, list[str]] | None = None,
    **filters: Any,
) -> Any:
    named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    asked = pb.QueryStatisticRequest(dataset="people", kind=named, measures=measures, measure=measure)
    for name in groups:
        asked.groups.add(variable=name)
    for name in factors:
        asked.factors.add(variable=name)
    if having is not None:
        asked.having.CopyFrom(pb.FilterRequest(variable=having[0], codes=having[1]))
    for name, codes in filters.items():
        asked.filter.add(variable=name, codes=codes)
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def _or_error(audit: Callable[[], Any]) -> Any:
    try:
        return audit()
    except UNPROVED as error:
        return type(error), ()


def _questions() -> list[st.SearchStrategy[dict[str, Any]]]:
    """Correlations, components, tests and analyses, of all and by groups."""
    measures = st.lists(st.sampled_from(MEASURES), min_size=2, max_size=4, unique=True)
    groups = st.sampled_from([[], ["sex"], ["place"], ["sex", "place"]])
    of_sex = {"measure": st.sampled_from(MEASURES), "factors": st.just(["place"]), "groups": st.just(["sex"])}
    of_all = {"measure": st.sampled_from(MEASURES), "factors": st.sampled_from([["sex"], ["place", "sex"]])}
    analysis = {"kind": st.just("ANALYSIS_OF_VARIANCE")}
    t_test = {
        "kind": st.just("T_TEST"),
        "measure": st.sampled_from(MEASURES),
        "having": st.sampled_from([("sex", ["1"]), ("sex", ["0"])]),
        "groups": st.sampled_from([["place"], []]),
    }
    return [
        st.fixed_dictionaries({"kind": st.just(TOLD[0]), "measures": measures, "groups": groups}),
        st.fixed_dictionaries({"kind": st.just(TOLD[1]), "measures": measures, "groups": groups}),
        st.fixed_dictionaries(t_test),
        st.fixed_dictionaries(analysis | of_all),
        st.fixed_dictionaries(analysis | of_sex),
        st.just({"kind": "CHI_SQUARED_TEST", "factors": ["sex", "place"]}),
    ]


def _spied(house: House, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """All statements that are run from now on, with what they return."""
    returned: list[tuple[str, Any]] = []
    run = house.engine._database.run

    def spied(sql: str, tables: Any = None) -> Any:
        rows = run(sql, tables)
        returned.append((sql, rows))
        return rows

    monkeypatch.setattr(house.engine._database, "run", spied)
    return returned


def _filters() -> st.SearchStrategy[dict[str, list[str]]]:
    places = st.lists(st.sampled_from(PLACES), min_size=1, max_size=4, unique=True).map(sorted)
    return st.fixed_dictionaries({}, optional={"place": places, "sex": st.sampled_from([["0"], ["1"]])})


def _house(folder: Path, seed: int, most: int) -> House:
    """Persons in four places, on the hill one far richer than the others; of some the points are missing."""
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(200), rng.integers(1, most + 1, 200))
    place = rng.choice(PLACES, 200, p=(0.35, 0.3, 0.2, 0.15))[persons]
    income = rng.normal(150, 40, len(persons)).round(1).clip(1)
    hill = np.flatnonzero(place == "hill")
    # The second owns most of the squares, but less than the share at which his residual alone counts.
    income[hill[:1]] = rng.choice([200.0, 150 + 100 * len(hill) ** 0.5, 2000.0]).round(1)
    points = rng.integers(0, 100, len(persons)).astype(float)
    points[rng.random(len(persons)) < rng.choice([0.0, 0.1])] = np.nan
    frame = pd.DataFrame(
        {"id": persons, "place": place, "sex": persons % 2, "points": points, "income": income}
    )
    frame = frame.assign(few=rng.integers(0, 3, len(persons)), same=7)
    frame.to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    measures = [
        {"name": "income", "decimals": 1, "lower_bound": 0.1, "upper_bound": 10000},
        {"name": "points", "lower_bound": 0, "upper_bound": 100},
        {"name": "few", "lower_bound": 0, "upper_bound": 2},
        {"name": "same", "lower_bound": 0, "upper_bound": 7},
    ]
    codes = {"place": PLACES, "sex": "01"}
    made.engine.register(people_descriptor(codes, measures, unit={"column": "id"}))
    return made


def _model(house: House, formula: str, **filters: Any) -> Any:
    named = model_pb2.MODEL_KIND_LINEAR
    asked = pb.QueryModelRequest(dataset="people", kind=named, formula=formula)
    for name, codes in filters.items():
        asked.filter.add(variable=name, codes=codes)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))
