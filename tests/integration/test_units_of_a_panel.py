"""Units of a panel add up along what does not vary within a unit, though along years they do not.

A person has one age. So the middle-aged of all years are all people less the young and the old, and there are
as many old ones in all years as in any: what a table withholds must stand that.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from house import House, build, cells, people_descriptor, verdict

AGES, WAVES, WIDTH = ("young", "middle", "old"), ("w1", "w2", "w3"), 10
EVERY = ((0, 1, 2), (0, 1), (0, 2), (1, 2), (0,), (1,), (2,))
THREE_MIDDLE_AGED = {
    "young": {(0, 1, 2): 25, (0, 1): 15, (0, 2): 5, (0,): 15},
    "old": {(0, 1, 2): 15, (0, 1): 5, (1, 2): 15, (1,): 15},
    "middle": {(2,): 3},
}
WAVE = {
    "name": "wave",
    "identifying": "NO",
    "varies_within_unit": True,
    "levels": [{"codes": [{"code": wave} for wave in WAVES]}],
}
People = Mapping[str, Mapping[tuple[int, ...], int]]
"""How many people of each age have records in which waves."""


def registered(folder: Path, people: People) -> House:
    """A house with a panel."""
    rows, person = ["id,age,wave"], 0
    for age, kinds in people.items():
        for waves, many in kinds.items():
            for _ in range(many):
                rows += [f"p{person},{age},{WAVES[wave]}" for wave in waves]
                person += 1
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    house = build(folder)
    unit = {"column": "id", "label": "person"}
    described = people_descriptor({"age": AGES}, [], [WAVE], unit=unit, panel=True, wave="wave")
    house.engine.register(described)
    return house


def random_people(seed: int) -> People:
    """People of three ages, few of some kinds."""
    rng = np.random.default_rng(seed)
    many = [0, 0, 1, 2, 4, 12, 15, 30]
    return {age: {waves: int(rng.choice(many)) for waves in EVERY} for age in AGES}


def distances(told: Mapping[tuple[str, ...], tuple[float | None, ...]], people: People) -> list[float]:
    """How far apart the bounds of each withheld count of units are, by SciPy."""
    rows, columns = (*AGES, "_U"), ("_T", *WAVES)
    place = {(age, wave): n for n, (age, wave) in enumerate((a, w) for a in rows for w in columns)}

    def sums(terms):
        row = np.zeros(len(place))
        for cell, sign in terms:
            row[place[cell]] += sign
        return row

    shown = {cell: one[0] for cell, one in told.items() if one[0] is not None and cell[1] != "_U"}
    equal = [sums(((a, w), 1) for a in (rows if age == "_T" else (age,))) for age, w in shown]
    within = [sums([((age, wave), 1), ((age, "_T"), -1)]) for age in rows for wave in WAVES]
    within += [sums([((age, "_T"), 1), *(((age, wave), -1) for wave in WAVES)]) for age in rows]
    truth = np.zeros(len(place))
    for age, kinds in people.items():
        for waves, many in kinds.items():
            for wave in ("_T", *(WAVES[one] for one in waves)):
                truth[place[age, wave]] += many
    assert np.allclose(np.array(equal) @ truth, list(shown.values()))
    assert (np.array(within) @ truth <= 1e-9).all()
    found = []
    for cell in place.keys() - shown.keys():
        if cell not in told:
            continue
        ends = [
            linprog(
                sign * sums([(cell, 1)]),
                A_eq=np.array(equal),
                b_eq=list(shown.values()),
                A_ub=np.array(within),
                b_ub=np.zeros(len(within)),
            )
            for sign in (1, -1)
        ]
        # Where nothing bounds it above there is no greatest value.
        assert ends[0].status == 0
        found.append(np.inf if ends[1].status == 3 else -ends[1].fun - ends[0].fun)
    return found


@pytest.mark.parametrize("people", [THREE_MIDDLE_AGED, *map(random_people, range(14))])
@pytest.mark.parametrize("figures", [["UNITS"], ["UNITS", "RECORDS"]])
def test_no_withheld_count_of_units_is_close(tmp_path, people, figures):
    answer = registered(tmp_path, people).ask(
        dataset="people", rows=["age"], columns=["wave"], figures=figures
    )
    if verdict(answer).startswith("RELEASED"):
        assert min(distances(cells(answer), people), default=np.inf) >= WIDTH - 1e-6
    else:
        assert verdict(answer) in ("REFUSED", "REFERRED")


def test_a_table_of_which_enough_may_be_withheld_still_leaves(tmp_path):
    answers = []
    for place, people in enumerate([THREE_MIDDLE_AGED, *map(random_people, range(14))]):
        folder = tmp_path / str(place)
        folder.mkdir()
        house = registered(folder, people)
        answers.append(
            verdict(house.ask(dataset="people", rows=["age"], columns=["wave"], figures=["UNITS"]))
        )
    assert sum(one.startswith("RELEASED") for one in answers) >= 10
