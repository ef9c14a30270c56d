"""Attacks by percentiles: windows of two populations that differ by one unit tell a difference of two values.

Of two hundred people twelve have a tag: five below the median's window and seven above it. So the windows of
all and of those without a tag, ten people each, are one place apart.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from house import House, build, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

PEOPLE = 200
INCOMES = 1000 + 7 * np.arange(PEOPLE) + (np.arange(PEOPLE) % 5)
TAGGED = [*range(20, 25), *range(150, 157)]


@pytest.fixture
def house(tmp_path) -> Iterator[House]:
    tag = np.isin(np.arange(PEOPLE), TAGGED)
    frame = pd.DataFrame({"id": np.arange(PEOPLE), "tag": tag.astype(int), "income": INCOMES})
    frame["half"] = np.arange(PEOPLE) % 2
    frame.sample(frac=1, random_state=1).to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    income = {"name": "income", "lower_bound": 0, "upper_bound": 10000}
    codes = dict.fromkeys(("tag", "half"), "01")
    made.engine.register(people_descriptor(codes, [income], unit={"column": "id"}))
    yield made
    made.facility.close()


def ask(house: House, kind: str = "PERCENTILES", groups=(), **filters: str):
    named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    asked = pb.QueryStatisticRequest(dataset="people", kind=named, measure="income")
    for name in groups:
        asked.groups.add(variable=name)
    for name, code in filters.items():
        asked.filter.add(variable=name, codes=[code])
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def percentile(answered, name: str) -> dict[int, float]:
    for figure in answered.decision.statistic.figures:
        if figure.name == name:
            return dict(zip(figure.groups, figure.values, strict=True))
    return {}


def window(ranks: np.ndarray) -> np.ndarray:
    """The ten in the middle."""
    middle = len(ranks) // 2
    return ranks[middle - 5 : middle + 5]


def test_two_medians_tell_one_who_knows_his_own_income_that_of_another() -> None:
    """The attack works on figures of four digits that nobody protects."""
    everybody = np.arange(PEOPLE)
    rest = np.setdiff1d(everybody, TAGGED)
    his, others = set(window(everybody)) - set(window(rest)), set(window(rest)) - set(window(everybody))
    (own,), (other,) = his, others
    medians = [float(f"{INCOMES[window(ranks)].mean():.4g}") for ranks in (everybody, rest)]

    estimate = INCOMES[own] - 10 * (medians[0] - medians[1])

    assert estimate == pytest.approx(INCOMES[other], rel=0.01)


def test_of_two_populations_one_unit_apart_in_the_middle_one_has_no_median(house) -> None:
    everybody, rest = ask(house), ask(house, tag="0")

    assert verdict(everybody) == "RELEASED"
    assert percentile(everybody, "P50") == {0: pytest.approx(INCOMES[95:105].mean(), rel=1e-3)}
    assert percentile(rest, "P50") == {}


def test_whatever_tells_the_second_median(house) -> None:
    assert verdict(ask(house, "BOX_PLOT")) == "RELEASED"
    for kind in ("PERCENTILES", "HISTOGRAM", "LORENZ_CURVE", "BOX_PLOT"):
        assert percentile(ask(house, kind, tag="0"), "P50") == {}


def test_windows_that_are_known_are_known_after_a_restart(house, tmp_path) -> None:
    ask(house, tag="0")
    again = build(tmp_path, policy="five-safes", engine=house.engine)
    try:
        assert percentile(ask(again), "P50") == {}
    finally:
        again.facility.close()


def test_percentiles_whose_windows_are_apart_leave(house) -> None:
    """Nobody below the first quartile has a tag but five, who are all below its window."""
    everybody, rest = ask(house), ask(house, tag="0")

    both = [figure.name for figure in rest.decision.statistic.figures if figure.groups]
    assert both
    for name in both:
        assert percentile(everybody, name) != percentile(rest, name)


def test_the_same_question_is_told_the_same_by_another_name(house) -> None:
    first = percentile(ask(house), "P50")
    assert first
    assert percentile(ask(house, "BOX_PLOT"), "P50") == first
    assert percentile(ask(house, "HISTOGRAM"), "P50") == first


def test_parts_of_a_population_have_percentiles_of_their_own(house) -> None:
    """Every second of the ten in the middle is in each half: five of one window, and five more."""
    ask(house)
    halves = ask(house, groups=["half"])

    assert verdict(halves) in ("RELEASED", "RELEASED_PROTECTED")
    assert not reasons(halves) or "DIFFERENCING" not in reasons(halves)
    assert percentile(halves, "P50").keys() >= {0}


POOR = "a"
"""A region of 120 people, 61 of whom have no income, as 139 of the 280 elsewhere, who earn more."""


def earners(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    poor, others = np.sort(rng.integers(900, 2500, 59)), rng.integers(2600, 9000, 141)
    income = np.concatenate([np.zeros(61), poor, np.zeros(139), others]).astype(int)
    frame = pd.DataFrame({"region": np.repeat(["a", "b"], [120, 280]), "income": income})
    frame = frame.assign(earns=(income > 0).astype(int)).sample(frac=1, random_state=seed)
    return frame.reset_index(drop=True).reset_index(names="id")


@pytest.mark.parametrize("filters", [[{}, {"region": POOR}], [{"region": POOR}, {}]])
def test_who_of_those_without_income_is_in_a_window_hides_nobody_beside_them(tmp_path, filters) -> None:
    """Windows of five without income and five with, and of six and four: ten times the difference is one's.

    Which of those without are in a window is by chance; here few of them are in both.
    """
    frame = earners(0)
    frame.to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    income = {"name": "income", "lower_bound": 0, "upper_bound": 10000}
    made.engine.register(people_descriptor({"region": "ab", "earns": "01"}, [income], unit={"column": "id"}))
    try:
        counts = made.ask(dataset="people", rows=["region"], columns=["earns"])
        first, then = (percentile(ask(made, **where), "P50") for where in filters)
    finally:
        made.facility.close()

    everybody, poor = (
        np.sort(some.to_numpy()) for some in (frame["income"], frame["income"][frame["region"] == POOR])
    )
    medians = [window(values).mean() for values in (everybody, poor)]
    assert 10 * (medians[0] - medians[1]) == pytest.approx(np.unique(poor)[5])
    assert verdict(counts) == "RELEASED"
    assert first
    assert not then


def test_shares_of_those_without_income_leave_beside_percentiles(tmp_path) -> None:
    """They are 0 whoever these are: nobody's sum, which is kept back for no other."""
    earners(0).to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    income = {"name": "income", "lower_bound": 0, "upper_bound": 10000}
    made.engine.register(people_descriptor({"region": "ab", "earns": "01"}, [income], unit={"column": "id"}))
    try:
        percentiles = [verdict(ask(made, groups=groups)) for groups in ((), ("region",))]
        curve = ask(made, "LORENZ_CURVE")
    finally:
        made.facility.close()
    assert percentiles == ["RELEASED", "RELEASED_PROTECTED"]
    assert [percentile(curve, f"P{point}") for point in (5, 10, 20, 25, 30, 40)] == [{0: 0.0}] * 6
