"""What is refused of one version of a dataset and answered of the next tells nothing of who changed."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import House, build, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

REGIONS = ("north", "south", "west")
PAY = {"name": "pay", "decimals": 0, "lower_bound": 0, "upper_bound": 100000}
People = list[tuple[str, str, int]]


def people() -> People:
    """Nine women are in the north, and nine men of the north have no pay."""
    rng = np.random.default_rng(1)
    rows = [(REGIONS[one % 3], "fm"[one // 3 % 2], int(rng.integers(1000, 3000))) for one in range(600)]
    women = [row for row in rows if row[:2] == ("north", "f")][:9]
    men = [row for row in rows if row[:2] == ("north", "m")]
    rest = [row for row in rows if row[0] != "north"]
    return [*women, *(("north", "m", 0 if one < 9 else row[2]) for one, row in enumerate(men)), *rest]


def register(house: House, folder: Path, rows: People) -> None:
    """A version; whoever stands first in it stays the same person."""
    frame = pd.DataFrame(rows, columns=["region", "sex", "pay"])
    frame.assign(id=frame.index).to_csv(folder / "people.csv", index=False)
    codes, unit = {"region": REGIONS, "sex": ["f", "m"]}, {"column": "id", "label": "person"}
    house.engine.register(people_descriptor(codes, [PAY], unit=unit))


def least(house: House, *sexes: str) -> Any:
    """The least pay of the north, of some sexes where any are named."""
    north = [pb.FilterRequest(variable="region", codes=["north"])]
    if sexes:
        north.append(pb.FilterRequest(variable="sex", codes=sexes))
    asked = pb.QueryStatisticRequest(
        dataset="people", kind="STATISTIC_KIND_MINIMUM", measure="pay", filter=north
    )
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def crossed(house: House) -> Any:
    """A model that tells how many women are in the north."""
    asked = model_request("pay ~ region*sex", dataset="people")
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize("others", [0, 30])
@pytest.mark.parametrize(
    ("ask", "reason", "came"),
    [(least, "EXTREME_VALUE", ("north", "m", 0)), (crossed, "MINIMUM_UNITS", ("north", "f", 1777))],
)
def test_that_what_was_refused_is_not_any_more_does_not_tell_who_came(
    tmp_path: Path, ask: Any, reason: str, came: tuple[str, str, int], others: int
) -> None:
    """Nine had the least value and ten have it: whoever knows who came to the north would know his pay."""
    house = build(tmp_path, policy="five-safes")
    register(house, tmp_path, people())
    refused = ask(house)
    assert (verdict(refused), reasons(refused)) == ("REFUSED", [reason])
    more = [("south", "fm"[one % 2], 1500 + one) for one in range(others)]
    register(house, tmp_path, [*people(), came, *more])

    answer = ask(house)

    house.facility.close()
    assert (verdict(answer), reasons(answer)) == ("REFERRED", ["VERSION_DIFFERENCE"])


def test_the_second_refusal_of_a_version_makes_nothing_known_and_moves_no_head(tmp_path: Path) -> None:
    house = build(tmp_path)
    register(house, tmp_path, people())
    assert reasons(least(house)) == ["EXTREME_VALUE"]
    (first,) = house.ledger.releases("people")
    assert reasons(least(house, "m")) == ["EXTREME_VALUE"]
    assert house.ledger.releases("people") == [first]
    assert house.ledger.source_sequence("people") == first.sequence
