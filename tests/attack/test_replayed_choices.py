"""Who has the software can ask of each table that agrees with an answer whether it would be answered so."""

from pathlib import Path

import numpy as np
import pytest

from house import build, cells
from sdcgate.engine.descriptor import parse_descriptor

ROWS, COLUMNS = 4, 4
PERSONS = np.array([[18, 25, 25, 25], [14, 40, 5, 40], [12, 5, 18, 14], [14, 40, 7, 18]])
"""Persons by town and trade; three cells have fewer than the ten that the policy wants."""
Shown = dict[tuple[str, ...], tuple[float | None, ...]]


def is_open(reason: str) -> pytest.MarkDecorator:
    """The attack succeeds today."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


def answered(persons: np.ndarray, folder: Path) -> Shown:
    """What a house of one's own answers if these are the persons."""
    folder.mkdir()
    lines = [f"t{town},k{trade}" for (town, trade), count in np.ndenumerate(persons) for _ in range(count)]
    (folder / "people.csv").write_text("\n".join(["town,trade", *lines]) + "\n")
    levels = {
        "town": [{"codes": [{"code": f"t{number}"} for number in range(ROWS)]}],
        "trade": [{"codes": [{"code": f"k{number}"} for number in range(COLUMNS)]}],
    }
    house = build(folder)
    house.engine.register(
        parse_descriptor(
            {
                "name": "people",
                "data": {"path": "people.csv"},
                "design": {"coverage": "CENSUS"},
                "variables": [
                    {"name": name, "identifying": "NO", "levels": of_it} for name, of_it in levels.items()
                ],
            }
        )
    )
    shown = cells(house.ask(dataset="people", rows=["town"], columns=["trade"]))
    house.engine.close()
    return shown


def agreeing(shown: Shown) -> list[np.ndarray]:
    """All tables that agree with an answer: its withheld cells lie on one cycle, so one number tells them."""
    hidden = np.array(
        [[shown[f"t{row}", f"k{column}"][0] is None for column in range(COLUMNS)] for row in range(ROWS)]
    )
    step = np.zeros(hidden.shape, dtype=int)
    row, column = (int(place[0]) for place in np.nonzero(hidden))
    while not step[row, column]:
        step[row, column] = 1
        (column,) = [other for other in np.flatnonzero(hidden[row]) if other != column]
        step[row, column] = -1
        (row,) = [other for other in np.flatnonzero(hidden[:, column]) if other != row]
    if np.abs(step).sum() != hidden.sum():
        raise ValueError("the withheld cells lie on more than one cycle")
    return [candidate for by in range(-50, 51) if (candidate := PERSONS + by * step).min() >= 0]


@is_open("which cells are withheld beside the unsafe ones depends on withheld figures")
def test_a_withheld_count_is_not_told_by_replaying_how_the_withheld_cells_were_chosen(tmp_path):
    shown = answered(PERSONS, tmp_path / "agency")
    candidates = agreeing(shown)
    if len(candidates) != 11:
        raise ValueError("by addition alone every withheld count can vary by ten, as the policy wants")
    replayed = [
        persons
        for number, persons in enumerate(candidates)
        if answered(persons, tmp_path / f"intruder{number}") == shown
    ]
    widths = np.ptp(np.array(replayed), axis=0)[PERSONS < 10]
    assert (widths >= 10).all(), f"bounded to {widths.tolist()}"
