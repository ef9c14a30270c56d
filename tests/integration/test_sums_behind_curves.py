"""What survival curves tell of those who have the event: how many, the sum of their times, and sums of runs.

Any measure that is never below 0 may be the time, income among them. The height of a step tells how many have
the event in it, and where it stands their mean: together a count and a sum.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, reasons, table_request, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

CODES = {
    "region": "abc",
    "job": ["x", "y", "z", "cook", "nurse", "doctor", "clerk"],
    "status": ["ill", "well"],
}
MINIMUM = 10


class Asker:
    """One researcher of one dataset of people, a census under five-safes."""

    def __init__(self, folder, frame: pd.DataFrame) -> None:
        self.folder, self.engine = folder, None
        frame = frame.sample(frac=1, random_state=2).assign(id=np.arange(len(frame)))
        frame.to_csv(folder / "people.csv", index=False)
        self.house = self._built()
        codes = {name: listed for name, listed in CODES.items() if name in frame}
        measures = [
            {"name": name, "lower_bound": 0, "upper_bound": 50_000}
            for name in ("income", "month")
            if name in frame
        ]
        self.house.engine.register(people_descriptor(codes, measures, unit={"column": "id"}))

    def _built(self, engine=None) -> House:
        return build(self.folder, policy="five-safes", engine=engine)

    def restart(self) -> None:
        """What is known is read from the ledger again."""
        self.house.facility.close()
        self.house = self._built(self.house.engine)

    def table(self, **asked) -> dict[tuple[str, ...], tuple]:
        request = table_request("people", **asked)
        return cells(self.house.facility.query_table(self.house.researcher, request, Pace(60.0)))

    def curve(self, having: tuple[str, str], measure: str = "income", kind: str = "KAPLAN_MEIER", **filters):
        asked = pb.QueryStatisticRequest(
            dataset="people",
            kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"),
            measure=measure,
            having=pb.FilterRequest(variable=having[0], codes=[having[1]]),
        )
        for name, codes in filters.items():
            asked.filter.add(variable=name, codes=codes)
        return self.house.facility.query_statistic(self.house.researcher, asked, Pace(60.0))


@pytest.fixture
def asker(tmp_path) -> Iterator[type]:
    """Makes an asker of a frame."""
    made: list[Asker] = []

    def make(frame: pd.DataFrame) -> Asker:
        made.append(Asker(tmp_path, frame))
        return made[-1]

    yield make
    for one in made:
        one.house.facility.close()


def events(answered, at_risk: int) -> list[tuple[float, int]]:
    """Time and number of the events of each step, of a curve that nobody leaves."""
    (curve,) = [one for one in answered.decision.statistic.curves if one.name == "survival"]
    found, before = [], 1.0
    for time, height in zip(curve.x, curve.y, strict=True):
        found.append((time, round(at_risk * (1 - height / before))))
        before, at_risk = height, at_risk - found[-1][1]
    return found


def nurses_below_doctors() -> pd.DataFrame:
    """Each of 41 nurses earns less than any doctor, so that nobody leaves between their incomes."""
    rng = np.random.default_rng(7)
    nurses = np.arange(200, 200 + 41 * 7, 7)
    nurses[-1] = 571
    income = [*nurses, *rng.integers(580, 990, 60)]
    return pd.DataFrame({"job": ["nurse"] * 41 + ["doctor"] * 60, "income": income})


def test_of_those_who_fall_ill_none_or_enough_do_so_after_the_last_step(asker) -> None:
    """106 are ill, three of them in the last month: 103 in steps and the table of the status told these."""
    ill = np.repeat(np.arange(1, 7), [30, 24, 20, 16, 13, 3])
    frame = pd.DataFrame({"month": [*ill, *[7] * 60], "status": ["ill"] * 106 + ["well"] * 60})
    one = asker(frame)
    told = one.table(rows=["status"])[("ill",)][0]

    answered = one.curve(("status", "ill"), "month")

    assert (verdict(answered), told) == ("RELEASED", 106)
    steps = events(answered, 166)
    assert len(steps) == 5
    assert sum(number for _, number in steps) == 106


def test_the_sum_of_incomes_less_those_of_the_steps_is_not_one_nurses(asker) -> None:
    one = asker(nurses_below_doctors())
    number, total = one.table(rows=["job"], figures=["UNITS", "SUM:income"])[("nurse",)]

    steps = events(one.curve(("job", "nurse")), 101)

    rest = number - sum(count for _, count in steps)
    assert rest == 0 or rest >= MINIMUM
    assert total - sum(round(time * count) for time, count in steps) == pytest.approx(0, abs=40)


def uneven_incomes() -> pd.DataFrame:
    """Of region and job one of twelve has most of what a and x earn."""
    rng, parts = np.random.default_rng(11), []
    for region in "abc":
        for job in "xyz":
            number = {("a", "x"): 12, ("a", "y"): 30, ("b", "x"): 35}.get((region, job), 60)
            income = np.round(rng.uniform(100, 400, number))
            if (region, job) == ("a", "x"):
                income[3] = 9000
            parts.append(pd.DataFrame({"region": region, "job": job, "income": income}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("jobs", [["y"], ["y", "z"], ["x", "y", "z"]])
def test_no_curve_tells_a_sum_that_a_table_withholds(asker, jobs: list[str]) -> None:
    one = asker(uneven_incomes())
    one.table(rows=["region"], columns=["job"])
    sums = one.table(rows=["region"], columns=["job"], figures=["SUM:income"])
    assert sums[("a", "x")] == sums[("a", "y")] == (None,)
    assert None not in (*sums[("a", "z")], *sums[("a", "_T")])

    answered = one.curve(("job", "y"), region=["a"], job=jobs)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])


def test_a_sum_that_a_curve_told_is_reckoned_with_by_later_tables(asker) -> None:
    one = asker(uneven_incomes())
    one.table(rows=["region"], columns=["job"])
    assert verdict(one.curve(("job", "y"), region=["a"], job=["y"])) == "RELEASED"
    one.restart()

    sums = one.table(rows=["region"], columns=["job"], figures=["SUM:income"])

    assert sums[("a", "x")] == (None,)
    assert (None,) in (sums[("a", "z")], sums[("a", "_T")])


@pytest.mark.parametrize("kind", ["KAPLAN_MEIER", "NELSON_AALEN"])
def test_a_group_whose_sum_is_mostly_one_persons_has_no_curve(asker, kind: str) -> None:
    rng = np.random.default_rng(11)
    income = [np.round(rng.uniform(10, 40, number)) for number in (52, 80, 80)]
    income[0][5] = 2000
    frame = pd.DataFrame({"region": np.repeat([*"abc"], (52, 80, 80)), "income": np.concatenate(income)})
    one = asker(frame)

    dominated = one.curve(("region", "a"), kind=kind, region=["a"])
    even = one.curve(("region", "b"), kind=kind, region=["b"])

    assert (verdict(dominated), reasons(dominated)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert verdict(even) == "RELEASED"


def cooks_among_others() -> pd.DataFrame:
    """The incomes of three jobs overlap: whom a curve of cooks is asked beside decides where steps end."""
    rng = np.random.default_rng(1)
    jobs = {"cook": (45, 300), "nurse": (45, 330), "clerk": (50, 340)}
    return pd.concat(
        [
            pd.DataFrame({"job": job, "income": np.round(rng.normal(mean, 60, number)).clip(120)})
            for job, (number, mean) in jobs.items()
        ],
        ignore_index=True,
    )


@pytest.mark.parametrize("restarted", [False, True])
def test_steps_of_the_same_cooks_end_at_the_same_or_the_curve_is_refused(asker, restarted: bool) -> None:
    """After 10 and after 16 cooks: the sums of both would tell that of six, and others those of one."""
    one = asker(cooks_among_others())
    first = one.curve(("job", "cook"), job=["cook"])
    assert verdict(first) == "RELEASED"
    assert [number for _, number in events(first, 45)] == [10, 10, 10, 15]
    if restarted:
        one.restart()

    for others in (["nurse"], ["clerk"]):
        again = one.curve(("job", "cook"), job=["cook", *others])
        assert (verdict(again), reasons(again)) == ("REFUSED", ["DIFFERENCING"])


def test_whatever_curves_of_cooks_leave_no_run_of_few_follows_from_their_steps(asker) -> None:
    """Each step is a run of cooks by income; those of all curves are subtracted from each other."""
    frame = cooks_among_others()
    one, incomes = asker(frame), np.sort(frame.income[frame.job == "cook"])
    ends = {0, len(incomes)}
    for others in [*combinations(["nurse", "clerk"], 1), ("nurse", "clerk")]:
        for curve in one.curve(("job", "cook"), job=["cook", *others]).decision.statistic.curves:
            if curve.name == "survival":
                ends |= ends_of_runs(list(curve.x), incomes)

    assert len(ends) > 3
    assert np.diff(sorted(ends)).min() >= MINIMUM


def ends_of_runs(means: list[float], values: np.ndarray) -> set[int]:
    """After how many values runs end that have these means, to the digits told."""
    found, first = set(), 0
    for mean in means:
        lengths = range(MINIMUM, len(values) - first + 1)
        first += min(lengths, key=lambda length: abs(values[first : first + length].mean() - mean))
        found.add(first)
    return found
