"""Intruders who subtract a version of a dataset from the next one, to learn who came, left or moved.

The intruder knows all tables that left, of each version, and takes their figures for equations. A box whose
figure follows from them in both versions tells how many changed in it: nobody, or as many as a cell needs.
"""

from collections.abc import Sequence
from itertools import chain, combinations, product
from pathlib import Path

import numpy as np
import pytest

from house import House, build, cells, verdict
from registered_again import ATOMS, CODES, People, register

MINIMUM = 10
"""Units that a cell needs under the policy."""


def made(rng: np.random.Generator, size: int) -> People:
    """People of whom some combinations are rare."""
    often = rng.dirichlet(np.full(len(ATOMS), 0.5))
    return {f"p{at}": ATOMS[int(rng.choice(len(ATOMS), p=often))] for at in range(size)}


def changed(rng: np.random.Generator, people: People, share: float, moving: bool) -> People:
    """Some of the people leave, as many others come, in a few towns more than elsewhere; some move."""
    likely = rng.dirichlet(np.full(len(ATOMS), 0.3))
    leaving = {
        name for name, codes in people.items() if rng.random() < share * likely[ATOMS.index(codes)] * 24
    }
    after = {name: codes for name, codes in people.items() if name not in leaving}
    for at in range(len(leaving)):
        after[f"n{at}-{rng.integers(10**9)}"] = ATOMS[int(rng.choice(len(ATOMS), p=likely))]
    if moving:
        for name in rng.choice(list(after), size=int(share * len(after)), replace=False).tolist():
            after[name] = (CODES["region"][int(rng.integers(3))], *after[name][1:])
    return after


def tables():
    """Each table of one, two and three variables, whole and filtered by one code of another variable."""
    for rows in chain.from_iterable(combinations(CODES, number) for number in (0, 1, 2, 3)):
        yield list(rows), {}
        for name in CODES.keys() - set(rows):
            for code in CODES[name]:
                yield list(rows), {name: [code]}


class Intruder:
    """Keeps the boxes that were published of a version, as rows over the atoms."""

    def __init__(self) -> None:
        self.rows: dict[int, list[np.ndarray]] = {}

    def ask(self, house: House, rows: list[str], filters: dict[str, list[str]]) -> str:
        answered = house.ask(dataset="people", rows=rows, **filters)
        if answered.decision.HasField("table"):
            for codes, (units, *_) in cells(answered).items():
                if units is not None:
                    box = {**filters, **dict(zip(rows, ([code] for code in codes), strict=True))}
                    self.rows.setdefault(answered.decision.version, []).append(atoms_of(box))
        return verdict(answered)

    def follows(self, version: int, boxes: list[np.ndarray], more: Sequence[np.ndarray] = ()) -> list[bool]:
        """Which boxes' figures follow from what was published of a version, and from `more` boxes of it."""
        known = np.array([*self.rows[version], *more])
        rank = np.linalg.matrix_rank(known)
        left, values, _ = np.linalg.svd(known.T, full_matrices=False)
        span = left[:, :rank]
        assert values[rank - 1] > 1e-9
        return [bool(np.abs(box - span @ (span.T @ box)).max() < 1e-8) for box in boxes]


def atoms_of(box: dict[str, list[str]]) -> np.ndarray:
    """Which atoms lie in a box; `_T` is all codes."""
    asked = [set(box.get(name, ["_T"])) for name in CODES]
    return np.array(
        [all("_T" in one or code in one for code, one in zip(atom, asked, strict=True)) for atom in ATOMS],
        dtype=np.float64,
    )


def boxes(unions: bool) -> list[np.ndarray]:
    """All boxes of one code or all of each variable; with unions of codes, too."""
    sides = []
    for codes in CODES.values():
        numbers = range(1, len(codes)) if unions else (1,)
        parts = chain.from_iterable(combinations(codes, number) for number in numbers)
        sides.append([["_T"], *map(list, parts)])
    return [atoms_of(dict(zip(CODES, side, strict=True))) for side in product(*sides)]


def changed_in(before: People, after: People, box: np.ndarray) -> int:
    """People who are in a box in one version only."""
    inside = {atom for atom, chosen in zip(ATOMS, box, strict=True) if chosen}
    names = before.keys() | after.keys()
    return sum((before.get(name) in inside) != (after.get(name) in inside) for name in names)


def of_three_versions(folder: Path, seed: int, moving: bool) -> tuple[list[People], Intruder]:
    """Asks fourteen tables of each of three versions."""
    rng = np.random.default_rng(seed)
    people = [made(rng, 2400)]
    house, intruder = build(folder), Intruder()
    asked = list(tables())
    said: list[str] = []
    for version in (1, 2, 3):
        if version > 1:
            people.append(changed(rng, people[-1], 0.12, moving))
        assert register(house, folder, people[-1]) == version
        for place in rng.permutation(len(asked))[:14].tolist():
            said.append(intruder.ask(house, *asked[place]))
    assert set(intruder.rows) == {1, 2, 3}
    assert "REFERRED" not in said
    return people, intruder


SEEDS = [
    (1, False),
    (3, True),
    *(pytest.param(seed, moving, marks=pytest.mark.long) for seed, moving in ((2, False), (4, True))),
]


@pytest.mark.parametrize(("seed", "moving"), SEEDS)
def test_no_small_group_follows_from_several_versions_where_all_else_stayed_as_it_was(tmp_path, seed, moving):
    """The intruder knows more than anybody does: which figures of other versions are those of this one."""
    people, intruder = of_three_versions(tmp_path, seed, moving)
    looked_at = boxes(unions=False)
    small = 0
    for version, own in enumerate(people, 1):
        unchanged = [
            row
            for other, rows in intruder.rows.items()
            for row in rows
            if other != version and changed_in(people[other - 1], own, row) == 0
        ]
        for box, follows in zip(looked_at, intruder.follows(version, looked_at, unchanged), strict=True):
            number = sum(bool(box[ATOMS.index(codes)]) for codes in own.values())
            small += 0 < number < MINIMUM
            assert not (follows and 0 < number < MINIMUM), (version, box)
    assert small


@pytest.mark.parametrize(("seed", "moving"), SEEDS)
def test_no_box_that_follows_from_two_versions_tells_of_few_who_changed(tmp_path, seed, moving):
    people, intruder = of_three_versions(tmp_path, seed, moving)
    looked_at = boxes(unions=not moving)
    known = {version: intruder.follows(version, looked_at) for version in intruder.rows}
    told = [
        (first, second, number)
        for first, second in combinations(sorted(known), 2)
        for place, box in enumerate(looked_at)
        if known[first][place] and known[second][place]
        if (number := changed_in(people[first - 1], people[second - 1], box))
    ]
    assert len(told) > 10, "the intruder learns of large changes"
    assert [one for one in told if one[2] < MINIMUM] == []
