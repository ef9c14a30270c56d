"""Models of one population that leave without the same units: together they would tell of all of them."""

import numpy as np
import pandas as pd

from house import build, model_request, people_descriptor, reasons, verdict
from sdcgate.engine.engine import Engine
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.types.v1 import model_pb2

PEOPLE, ILL, LACKING = 2000, 800, 3
RESIDUAL_STANDARD_ERROR = model_pb2.FIT_STATISTIC_RESIDUAL_STANDARD_ERROR
TRAINED = ["no", "yes"]


def opened(folder, alone: int):
    """2,000 people, three of whom did not say whether they are trained; `alone` are ill and have no card."""
    at = np.arange(PEOPLE)
    ill, card = at < ILL, (at >= alone) & (at < ILL)
    y = (100 + np.random.default_rng(3).normal(0, 10, PEOPLE) + 40 * ill + 300 * (at == 0)).round(2)
    frame = pd.DataFrame({"id": at, "ill": ill * 1, "card": card * 1, "sex": at % 2, "y": y})
    frame["trained"] = np.where(at >= PEOPLE - LACKING, None, np.where(at % 3, "no", "yes"))
    frame.to_csv(folder / "people.csv", index=False)
    # Who is left out rests on the engine's secret: a fixed one, so that it is not the person who is alone.
    engine = Engine(folder, folder / "snapshots", bytes(range(32)))
    house = build(folder, policy="five-safes", engine=engine)
    codes = {"ill": "01", "card": "01", "sex": "01", "trained": TRAINED}
    measures = [{"name": "y", "decimals": 2, "lower_bound": 0, "upper_bound": 1000}]
    house.engine.register(people_descriptor(codes, measures, unit={"column": "id", "label": "person"}))
    return house, frame


def ask(house, formula, **filters):
    asked = model_request(formula, dataset="people", **filters)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def sum_of(answered, term: str) -> float:
    """Sum of y of who is left of a category, by its mean and its number: errors tell that."""
    found = {one.name: one for one in answered.decision.model.coefficients}
    (spread,) = (one.value for one in answered.decision.model.fit if one.statistic == RESIDUAL_STANDARD_ERROR)
    mine, others = found[f"{term}[T.1]"], found["Intercept"]
    number = spread**2 / (mine.standard_error**2 - others.standard_error**2)
    return round(number) * (others.estimate + mine.estimate)


def test_two_models_without_the_same_units_do_not_tell_of_the_one_who_makes_the_difference(tmp_path) -> None:
    house, frame = opened(tmp_path, alone=1)
    assert verdict(house.ask(dataset="people", rows=["sex"], figures=["MEAN:y"])) == "RELEASED"

    first = ask(house, "y ~ ill", trained=TRAINED)
    second = ask(house, "y ~ card", trained=TRAINED)

    assert verdict(first) == "RELEASED_PROTECTED"
    assert reasons(first) == ["DIFFERENCING"]
    if second.decision.HasField("model"):
        assert abs(sum_of(first, "ill") - sum_of(second, "card") - frame.y[0]) > 0.1 * frame.y[0]
    assert (verdict(second), reasons(second)) == ("REFUSED", ["DIFFERENCING"])
    house.facility.close()


def test_where_enough_make_the_difference_both_leave(tmp_path) -> None:
    house, _ = opened(tmp_path, alone=40)
    assert verdict(house.ask(dataset="people", rows=["sex"], figures=["MEAN:y"])) == "RELEASED"

    first = ask(house, "y ~ ill", trained=TRAINED)
    second = ask(house, "y ~ card", trained=TRAINED)

    assert verdict(first) == verdict(second) == "RELEASED_PROTECTED"
    house.facility.close()
