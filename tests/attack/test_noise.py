"""Intruders at a policy with cell keys: what averaging and reconstruction make of noisy tables."""

from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear
from scipy.sparse import csr_array

from census_people import AGES, JOBS, REGIONS, census, with_census
from house import cells, reasons, verdict
from sdcgate.engine.engine import Engine
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import parse_policy

CODES = {"region": REGIONS, "sex": ("f", "m"), "age": AGES, "job": JOBS}
PEOPLE = census(1500)
D = 15
ATOMS = list(product(*CODES.values()))
TRUE = np.zeros(len(ATOMS))
for one in PEOPLE:
    TRUE[ATOMS.index(tuple(one[name] for name in CODES))] += 1


def house_with(folder, most: str, secret: int = 1):
    """A census under the bundled policy with another limit of answers, and the same noise each time."""
    text = (BUNDLED / "cell-key.yaml").read_text().replace("maximum_answers: 36", f"maximum_answers: {most}")
    engine = Engine(folder, folder / "snapshots", bytes([secret]) * 32)
    return with_census(folder, PEOPLE, engine=engine, policies={"cell-key": parse_policy(text)})


@dataclass
class Intruder:
    """Asks what a researcher may ask, and keeps each figure with the people that it counts."""

    house: object
    boxes: list[np.ndarray] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    refused: int = 0

    def asks(self, dimensions, **filters) -> None:
        """A table with its totals; nobody has a missing code, as everybody may know."""
        answer = self.house.ask(dataset="census", rows=dimensions, **filters)
        if verdict(answer) != "RELEASED_PROTECTED":
            self.refused += 1
            return
        for codes, (count,) in cells(answer).items():
            if "_U" not in codes:
                named = {name: {code} for name, code in zip(dimensions, codes, strict=True) if code != "_T"}
                self.boxes.append(members({**{name: set(c) for name, c in filters.items()}, **named}))
                self.told.append(count)

    def everything(self, filters=()) -> None:
        """All tables of three variables, and each within each of some filters on the fourth."""
        for dimensions in combinations(CODES, 3):
            self.asks(dimensions)
        for name, codes in filters:
            self.asks([other for other in CODES if other != name], **{name: list(codes)})

    def least_squares(self) -> np.ndarray:
        """The numbers in all combinations that fit what was told best."""
        fitted = lsq_linear(csr_array(np.array(self.boxes)), np.array(self.told), bounds=(0, np.inf))
        return fitted.x

    def bounds(self, box: np.ndarray) -> tuple[float, float]:
        """Between which numbers a count lies for certain, as no noise is more than D."""
        matrix, told = csr_array(np.array(self.boxes)), np.array(self.told)
        both = csr_array(np.concatenate([matrix.toarray(), -matrix.toarray()]))
        limits = np.concatenate([told + D, D - told])
        ends = [linprog(sign * box, both, limits, method="highs").fun for sign in (1, -1)]
        return ends[0], -ends[1]


def members(conditions) -> np.ndarray:
    """Which combinations are in a box."""
    chosen = [
        all(code in conditions.get(name, {code}) for name, code in zip(CODES, atom, strict=True))
        for atom in ATOMS
    ]
    return np.array(chosen, dtype=np.float64)


def small_cells(names):
    """Cells by some variables with one to nine people."""
    for codes in product(*(CODES[name] for name in names)):
        box = members({name: {code} for name, code in zip(names, codes, strict=True)})
        if 0 < box @ TRUE < 10:
            yield box


def right(intruder) -> float:
    """The share of small cells whose number he gets right by rounding."""
    found = intruder.least_squares()
    small = list(small_cells(["region", "age", "job"]))
    return float(np.mean([round(box @ found) == box @ TRUE for box in small]))


SUBSETS_OF_JOBS = [("job", chosen) for size in (1, 2, 3) for chosen in combinations(JOBS, size)]


def test_asking_the_same_people_by_other_names_averages_nothing(tmp_path):
    house = house_with(tmp_path, "null")
    everybody = {name: [*codes, "_U"] for name, codes in CODES.items()}
    told = set()
    for size in range(3):
        for dimensions in combinations(["sex", "age", "job"], size):
            for names in combinations(everybody, 2):
                filters = {
                    name: everybody[name][:-1] for name in names if name not in ("region", *dimensions)
                }
                answer = house.ask(dataset="census", rows=["region", *dimensions], **filters)
                told.add(cells(answer)["e", *["_T"] * size])
    assert len(told) == 1


def test_who_asks_all_tables_is_certain_of_no_small_cell(tmp_path):
    intruder = Intruder(house_with(tmp_path, "null"))
    intruder.everything()
    assert not intruder.refused
    for box in list(small_cells(["region", "age"]))[:4]:
        low, high = intruder.bounds(box)
        assert high - low >= 1
        assert low - 1e-6 <= box @ TRUE <= high + 1e-6


def test_pairs_with_and_without_a_group_are_cut_off_by_the_limit_of_answers(tmp_path):
    house = house_with(tmp_path, "36")
    estimates, refused = [], []
    for chosen in (chosen for size in range(2, 6) for chosen in combinations(REGIONS[:5], size)):
        pair = [house.ask(dataset="census", rows=["sex"], region=[*chosen, *more]) for more in ((), "f")]
        if all(verdict(answer) == "RELEASED_PROTECTED" for answer in pair):
            without, having = (cells(answer)["f",][0] for answer in pair)
            estimates.append(having - without)
        else:
            refused.append({reason for answer in pair for reason in reasons(answer)})
    # Each pair takes two of the answers with people of f: of the women among them, and of all.
    assert len(estimates) <= 18
    assert len(estimates) + len(refused) == 26
    assert all("DIFFERENCING" in why for why in refused)
    assert np.std(estimates) > 3


@pytest.mark.parametrize(("most", "filters", "share"), [("36", SUBSETS_OF_JOBS, 0.45), ("null", [], 0.45)])
def test_reconstruction_by_least_squares_stays_a_guess(tmp_path, most, filters, share):
    intruder = Intruder(house_with(tmp_path, most))
    intruder.everything(filters)
    assert right(intruder) < share
