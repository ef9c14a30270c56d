"""Formulas that would single out a few persons, whose table withholds them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore

import numpy as np
import pandas as pd
import pytest

from house import House, build, person, reasons, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.errors import InvalidRequest, Unavailable
from sdcgate.facility.models import ModelWay
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, table_pb2

PEOPLE, RARE = 400, 3
KINDS = np.where(np.arange(PEOPLE) < RARE, 3, 1 + np.arange(PEOPLE) % 2)
"""Of the third kind are three persons."""


def opened(folder) -> House:
    """400 persons; three have kind 3 and y far above, and points as many as their kind.

    Most have a coin as their sex; one in ten has another, and other points, which would be kind itself else.
    """
    rng = np.random.default_rng(4)
    sex, x = rng.integers(0, 2, PEOPLE), rng.normal(size=PEOPLE).round(2)
    y = (50 + 5 * x + rng.normal(size=PEOPLE) + 30 * (KINDS == 3)).round(2)
    odd = (np.arange(PEOPLE) % 10 == 9) & (KINDS != 3)
    points, coin = np.where(odd, 3 - KINDS, KINDS), np.where(odd, 1 - sex, sex)
    frame = pd.DataFrame(
        {"id": range(PEOPLE), "kind": KINDS, "sex": sex, "points": points, "coin": coin, "x": x, "y": y}
    )
    frame.to_csv(folder / "people.csv", index=False)
    lists = {"kind": "123", "sex": "01"}
    lowest = {"points": 0.0, "coin": 0.0, "x": -99.0, "y": -99.0}
    made = build(folder, policy="five-safes")
    made.engine.register(
        parse_descriptor(
            {
                "name": "people",
                "data": {"path": "people.csv"},
                "unit": {"column": "id", "label": "person"},
                "design": {"coverage": "CENSUS"},
                "variables": [
                    {
                        "name": name,
                        "identifying": "NO",
                        "levels": [
                            {"name": name, "codes": [{"code": code} for code in codes]},
                            {"name": "all", "codes": [{"code": "any", "parts": list(codes)}]},
                        ],
                    }
                    for name, codes in lists.items()
                ],
                "measures": [
                    {"name": name, "decimals": 2, "lower_bound": bound, "upper_bound": 99.0}
                    for name, bound in lowest.items()
                ],
            }
        )
    )
    return made


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = opened(tmp_path_factory.mktemp("house"))
    yield made
    made.facility.close()


@pytest.fixture
def new_house(tmp_path):
    """One of which nothing was asked before."""
    made = opened(tmp_path)
    yield made
    made.facility.close()


def ask(house: House, formula: str, kind: str = "LINEAR", **options):
    named = model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}")
    asked = pb.QueryModelRequest(dataset="people", kind=named, formula=formula, **options)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize(
    "formula",
    [
        # (kind - 1) (kind - 2) / 2 is 1 for three persons and 0 for the others.
        "y ~ numeric(kind) + square(kind) + x",
        # Either tells two sums of y; three sums tell the three cells.
        "y ~ numeric(kind)",
        "y ~ square(kind)",
        "y ~ x + sex:numeric(kind)",
        "y ~ points + square(points) + x",
        "y ~ points",
        "y ~ x + sex:log1p(points)",
    ],
)
def test_numbers_of_few_values_do_not_single_persons_out(house, formula) -> None:
    answered = ask(house, formula)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])


def test_numbers_of_few_values_that_many_have_are_fitted(house) -> None:
    assert verdict(ask(house, "y ~ numeric(sex) + x")) == "RELEASED"
    assert verdict(ask(house, "y ~ coin:x")) == "RELEASED"


@pytest.mark.parametrize("instruments", ["numeric(kind)", "cube(kind)", "kind"])
def test_instruments_do_not_compare_few_persons_with_the_rest(house, instruments) -> None:
    answered = ask(house, "y ~ x", "TWO_STAGE", instruments=instruments)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])


def test_a_code_as_outcome_counts_who_has_it(house) -> None:
    by_sex = ask(house, "numeric(kind) ~ sex")
    table = house.ask(dataset="people", rows=["sex"], columns=["kind"])

    assert table_pb2.CELL_STATUS_WITHHELD in table.decision.table.statuses
    assert (verdict(by_sex), reasons(by_sex)) == ("REFUSED", ["MINIMUM_UNITS"])


@pytest.mark.parametrize("formula", ["points ~ x", "square(points) ~ x + sex"])
def test_an_outcome_of_few_values_does_not_tell_of_who_has_a_rare_one(house, formula) -> None:
    """Slope times spread of x is what x is on average for them."""
    answered = ask(house, formula)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["OUTCOME_CLASS"])
    assert verdict(ask(house, "coin ~ x")) == "RELEASED"


def test_what_a_fit_leaves_unexplained_does_not_tell_a_withheld_coefficient(new_house) -> None:
    """Explained squares are a sum over kinds: known but for one, they tell that one."""
    answered = ask(new_house, "y ~ kind")

    assert verdict(answered) == "RELEASED_PROTECTED"
    assert not answered.decision.model.fit


def test_standard_errors_do_not_tell_how_withheld_categories_differ(new_house) -> None:
    """The squares that kinds explain, and how many are of each, tell the mean of the three, about 80."""
    of_kinds = ask(new_house, "y ~ kind").decision.model.coefficients
    (all_,) = ask(new_house, "y ~ 1").decision.model.coefficients
    (one,) = (found for found in of_kinds if found.status == table_pb2.CELL_STATUS_PUBLISHED)
    hidden = {int(found.name[-2]) for found in of_kinds if found is not one}
    assert (one.name, len(hidden)) == ("Intercept", 2)
    (size,) = (np.count_nonzero(kind == KINDS) for kind in {1, 2, 3} - hidden)
    other, rare = PEOPLE - size - RARE, RARE
    total = (PEOPLE - 1) * PEOPLE * all_.standard_error**2
    unexplained = (PEOPLE - 3) * size * one.standard_error**2
    apart = one.estimate - all_.estimate
    rest, squares = -size * apart, total - unexplained - size * apart**2

    # Deviations d of the other kind and e of the rare: other d + rare e = rest, and so with squares.
    found = np.roots([rare + rare**2 / other, -2 * rare * rest / other, rest**2 / other - squares])

    assert not np.any(np.abs(all_.estimate + found.real - 80) < 5)


def test_one_variable_as_a_number_and_at_a_coarser_level_is_told(house) -> None:
    with pytest.raises(InvalidRequest, match="kind stands at 2 levels"):
        ask(house, 'y ~ numeric(kind) + C(kind, level="all")')


def test_many_models_of_one_person_keep_nobody_else_waiting(house, monkeypatch) -> None:
    """Two are held while they are judged: ada's third is told to come again, another one's is answered."""
    judge, going, free = ModelWay.judge, Semaphore(0), Event()

    def held(way, hand, *rest):
        if hand.plan.formula.canonical().endswith("sex"):
            going.release()
            assert free.wait(60)
        return judge(way, hand, *rest)

    monkeypatch.setattr(ModelWay, "judge", held)
    with ThreadPoolExecutor(2) as pool:
        mine = [pool.submit(ask, house, f"{outcome} ~ sex") for outcome in ("y", "x")]
        try:
            for _ in mine:
                assert going.acquire(timeout=30)
            with pytest.raises(Unavailable, match="Ask again"):
                ask(house, "y ~ x")
            other = House(house.facility, house.engine, house.ledger, researcher=person("researcher", "eve"))
            assert verdict(ask(other, "y ~ x")) == "RELEASED"
        finally:
            free.set()
    assert all(verdict(one.result()).startswith("RELEASED") for one in mine)
