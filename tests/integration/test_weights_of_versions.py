"""Weights that a variable decided in one version tell of its counts, whatever they do in the next one."""

from pathlib import Path

import pandas as pd
import pytest

from house import House, build, cells, people_descriptor

WEIGHTS = {"a": 103.37, "b": 117.91, "c": 131.05, "d": 98.20}
FEW = {"a": 30, "b": 4, "c": 5, "d": 40}
"""People of the first trade by town."""


def people(came: int = 0, odd: bool = False) -> list[tuple[str, str, float]]:
    """Each town's people weigh the same, but for some of the second trade who came to it in the end."""
    sizes = {("t", town): size for town, size in FEW.items()}
    sizes |= {(trade, town): 50 for trade in "uvx" for town in WEIGHTS}
    rows = [(town, trade, WEIGHTS[town]) for (trade, town), size in sizes.items() for _ in range(size)]
    return rows + [(town, "u", WEIGHTS[town] + odd * (one % 3)) for town in WEIGHTS for one in range(came)]


def register(house: House, folder: Path, rows: list[tuple[str, str, float]]) -> None:
    """A version; whoever stands first in it stays the same person."""
    frame = pd.DataFrame(rows, columns=["town", "trade", "weight"])
    frame.assign(id=frame.index).to_csv(folder / "people.csv", index=False)
    house.engine.register(
        people_descriptor(
            {"town": [*WEIGHTS], "trade": [*"tuvx"]},
            unit={"column": "id", "label": "person"},
            weight={"column": "weight", "decimals": 2},
            design={"coverage": "SAMPLE", "sampling_fraction": 0.01},
        )
    )


@pytest.mark.parametrize(("came", "odd"), [(0, False), (24, False), (24, True)])
def test_withheld_towns_of_a_trade_are_not_told_by_its_weights_in_a_version_where_others_weigh_otherwise(
    tmp_path: Path, came: int, odd: bool
) -> None:
    """Of 39 in three towns who weigh 4228 in all thirty, four and five are in each, and no other numbers."""
    house = build(tmp_path)
    register(house, tmp_path, people())
    first = cells(house.ask(dataset="people", rows=["trade"], columns=["town"]))
    assert [first["t", town] for town in WEIGHTS] == [(None,), (None,), (None,), (40,)]
    assert first["t", "_T"] == (79,)
    if came:
        register(house, tmp_path, people(came, odd))

    weights = house.ask(dataset="people", rows=["trade"], figures=["WEIGHTED_UNITS"])

    assert weights.decision.version == (2 if came else 1)
    assert cells(weights)["t",] == (None,)
