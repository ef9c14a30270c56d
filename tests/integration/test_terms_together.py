"""What estimates tell of two terms together: the sums of products of their columns."""

import numpy as np
import pandas as pd
import pytest

from house import build, cells, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.policy.loading import BUNDLED, load_policies, parse_policy

PEOPLE, EACH = 1000, 60
STRICT = parse_policy(
    (BUNDLED / "five-safes.yaml")
    .read_text()
    .replace("counts_base: 10", "counts_base: 10\n    crossed_factors: true")
)


def opened(folder, both: int, policy=None):
    """1,000 people, 60 who are ill, 60 who are old, `both` of them both; y is known of each group."""
    ill = (np.arange(PEOPLE) < EACH).astype(int)
    old = ((np.arange(PEOPLE) >= EACH - both) & (np.arange(PEOPLE) < 2 * EACH - both)).astype(int)
    rng = np.random.default_rng(1)
    x = rng.normal(50, 10, PEOPLE).round(2)
    y = (100 + 3 * x * ill + 40 * old + rng.normal(0, 20, PEOPLE)).round(2)
    z = (100 + 30 * ill + 40 * old + rng.normal(0, 20, PEOPLE)).round(2)
    frame = pd.DataFrame({"id": range(PEOPLE), "ill": ill, "old": old, "x": x, "y": y, "z": z})
    frame.to_csv(folder / "people.csv", index=False)
    policies = load_policies() if policy is None else {**load_policies(), "five-safes": policy}
    house = build(folder, policy="five-safes", policies=policies)
    measures = [{"name": name, "decimals": 2, "lower_bound": 1, "upper_bound": 1000} for name in "xyz"]
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor({"ill": "01", "old": "01"}, measures, unit=unit))
    return house, frame


def ask(house, formula, kind="LINEAR", **options):
    asked = model_request(formula, kind, dataset="people", **options)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def estimates(answered) -> dict[str, float]:
    return {one.name: one.estimate for one in answered.decision.model.coefficients}


def test_a_slope_of_a_group_does_not_tell_the_value_of_the_one_who_is_in_another_group_too(tmp_path) -> None:
    """The row of the old in X'Xb = X'y has the sum of x over who is old and ill: over one person."""
    house, frame = opened(tmp_path, both=1)
    (own,) = frame[(frame.ill == 1) & (frame.old == 1)].x
    (_, y), (_, x) = (
        cells(house.ask(dataset="people", rows=["old"], figures=["UNITS", f"MEAN:{name}"]))["1",]
        for name in "yx"
    )

    answered = ask(house, "y ~ ill:x + old")

    found = estimates(answered)
    if found:
        rest = EACH * (y - found["Intercept"] - found["old[T.1]"] - found["ill[0]:x"] * x)
        assert abs(rest / (found["ill[1]:x"] - found["ill[0]:x"]) - own) > 0.1 * own
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])
    house.facility.close()


@pytest.mark.parametrize(
    ("kind", "formula", "options"),
    [
        ("LINEAR", "z ~ ill + x:old", {}),
        ("LINEAR", "z ~ ill:log1p(x) + old:y", {}),
        ("GAMMA", "z ~ ill:x + old", {}),
        ("FIXED_EFFECTS", "z ~ ill:x", {"groups": "old"}),
        ("MIXED", "z ~ ill:x", {"groups": "old"}),
        ("TWO_STAGE", "z ~ y + old", {"instruments": "ill:x + old"}),
    ],
)
def test_so_it_is_in_every_kind_of_model(tmp_path, kind, formula, options) -> None:
    house, _ = opened(tmp_path, both=1)

    answered = ask(house, formula, kind, **options)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])
    house.facility.close()


def test_so_it_is_after_the_table_of_both_groups_has_been_asked(tmp_path) -> None:
    house, _ = opened(tmp_path, both=1)
    table = house.ask(dataset="people", rows=["ill"], columns=["old"], figures=["UNITS", "MEAN:x"])
    assert cells(table)["1", "1"] == (None, None)

    answered = ask(house, "y ~ ill:x + old")

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])
    house.facility.close()


def test_where_enough_are_in_both_groups_the_model_leaves(tmp_path) -> None:
    house, _ = opened(tmp_path, both=20)

    assert verdict(ask(house, "y ~ ill:x + old")) == "RELEASED"
    house.facility.close()


def test_the_sums_of_both_together_count_as_known_afterwards(tmp_path) -> None:
    house, frame = opened(tmp_path, both=20)
    assert verdict(ask(house, "y ~ ill:x + old")) == "RELEASED"

    (kept,) = map(left_of, house.ledger.releases("people"))

    sums = [
        one.facts.measures[0].sums for one in kept.tables if one.quantity == "x" and len(one.table.axes) == 2
    ]
    both = frame[(frame.ill == 1) & (frame.old == 1)].x.sum()
    assert any(np.isclose(cells, both).any() for cells in sums)
    house.facility.close()


def test_a_policy_may_have_the_counts_of_every_two_factors_judged(tmp_path) -> None:
    """Of 60 ill and 60 old people three are both, which their table withholds."""
    house, _ = opened(tmp_path, both=3, policy=STRICT)
    table = cells(house.ask(dataset="people", rows=["ill"], columns=["old"]))
    (_, z) = cells(house.ask(dataset="people", rows=["ill"], figures=["UNITS", "MEAN:z"]))["1",]

    answered = ask(house, "z ~ ill + old")

    assert table["1", "1"] == (None,)
    found = estimates(answered)
    if found:
        told = EACH * (z - found["Intercept"] - found["ill[T.1]"]) / found["old[T.1]"]
        assert round(told) != 3
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])
    house.facility.close()
