"""What all have in common who came or went between two versions, and that few of them answered or did not."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.policies import Policies
from sdcgate.policy.loading import load_policies

ILL = {
    "name": "ill",
    "identifying": "NO",
    "sensitive": True,
    "levels": [{"codes": [{"code": "no", "harmless": True}, {"code": "yes"}]}],
}
PAY = {"name": "pay", "decimals": 0, "lower_bound": 0, "upper_bound": 10000}
Person = tuple[str, str, str, int | None]
FIRST: list[Person] = [
    (region, "fm"[one % 2], "yes" if one < 80 else "no", 1000 + one * 7 if one % 5 else None)
    for region in ("north", "south")
    for one in range(200)
]


def came(ill: int, well: int, without_pay: int = 0) -> list[Person]:
    """So many who came to the north, and forty who came to the south."""
    north = [("north", "fm"[one % 2], "yes" if one < ill else "no", 900 + one) for one in range(ill + well)]
    south = [("south", "fm"[one % 2], "yes" if one % 4 < 2 else "no", 800 + one) for one in range(40)]
    unpaid = [("north", "fm"[one % 2], "no", None) for one in range(without_pay)]
    return [*north, *south, *unpaid]


def register(house: House, folder: Path, people: list[Person]) -> None:
    """A version; whoever stands first in it stays the same person."""
    frame = pd.DataFrame(people, columns=["region", "sex", "ill", "pay"]).astype({"pay": "Int64"})
    frame.assign(id=frame.index).to_csv(folder / "people.csv", index=False)
    codes = {"region": ["north", "south"], "sex": ["f", "m"]}
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor(codes, [PAY], [ILL], unit=unit))


def ask(house: House, *rows: str, **asked: Any) -> Any:
    return house.ask(dataset="people", rows=rows, **asked)


def shown(answered: Any) -> dict[tuple[str, ...], float | None]:
    return {codes: figures[0] for codes, figures in cells(answered).items() if "_U" not in codes}


@pytest.mark.parametrize(("ill", "well"), [(30, 0), (29, 1), (1, 0)])
def test_that_all_who_came_to_a_region_are_ill_is_not_told(tmp_path: Path, ill: int, well: int) -> None:
    """As many are well as before: whoever knows that somebody came would know that he is ill."""
    house = build(tmp_path)
    register(house, tmp_path, FIRST)
    assert verdict(ask(house, "region", "ill")) == "RELEASED"
    register(house, tmp_path, [*FIRST, *came(ill, well)])

    answered = ask(house, "region", "ill")

    assert (verdict(answered), answered.decision.version) == ("RELEASED_PROTECTED", 2)
    table = shown(answered)
    assert table["north", "no"] is table["north", "yes"] is None
    assert table["south", "no"] is None, "beside the total of the well it would tell those of the north"
    for one in ("no", "yes"):
        assert reasons(ask(house, "region", region=["north"], ill=[one])) == ["DIFFERENCING"]
    policies = Policies(house.ledger, load_policies(), "israel-cbs")
    assert not audit_source(house.ledger, house.engine, policies, "people", 5000, 60.0).refuted


def test_what_those_have_who_came_is_told_where_they_differ(tmp_path: Path) -> None:
    house = build(tmp_path)
    register(house, tmp_path, FIRST)
    ask(house, "region", "ill")
    register(house, tmp_path, [*FIRST, *came(20, 15)])

    answered = ask(house, "region", "ill")

    assert (verdict(answered), answered.decision.version) == ("RELEASED", 2)
    assert shown(answered)["north", "yes"] == 100


def test_what_all_men_have_who_came_is_not_told_by_those_of_women(tmp_path: Path) -> None:
    """Those who came to the north are ill or well, and of the men among them all are ill."""
    house = build(tmp_path)
    register(house, tmp_path, FIRST)
    women: list[Person] = [("north", "f", "no", 900)] * 20
    men: list[Person] = [("north", "m", "yes", 900)] * 20
    ask(house, "region", "ill")
    register(house, tmp_path, [*FIRST, *women, *men, *came(0, 0)])
    assert verdict(ask(house, "region", "ill")) == "RELEASED"

    answered = ask(house, "region", "ill", sex=["f"])

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["DIFFERENCING"])


@pytest.mark.parametrize("figures", [["UNITS", "MEAN:pay"], ["UNITS", "SUM:pay", "MEAN:pay"]])
def test_that_one_of_those_who_came_did_not_tell_his_pay_is_not_told(
    tmp_path: Path, figures: list[str]
) -> None:
    """A sum and a mean are a number of those who did: beside how many there are, of those who did not."""
    house = build(tmp_path)
    register(house, tmp_path, FIRST)
    assert verdict(ask(house, "region", figures=figures)) == "RELEASED"
    register(house, tmp_path, [*FIRST, *came(20, 20, without_pay=1)])

    answered = ask(house, "region", figures=figures)

    assert (verdict(answered), answered.decision.version) == ("RELEASED_PROTECTED", 2)
    assert cells(answered)["north",] == (None,) * len(figures)
