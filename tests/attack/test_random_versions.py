"""A file that changes by a few people, and by a few more: what random tables of both versions tell of them.

The intruder adds and subtracts what he was told of each version. A box whose number or sum follows in both
tells how many of its people changed: nobody, or as many as a cell needs.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, islice, permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attack.random_requests import MEASURE, MOST, census, requests
from attack.solver_intruder import Groups, Intruder, span_of
from attack.told_figures import MINIMUM, RECORDS, SUM, Box, Heard, History, Told
from attack.world import MISSING, World
from sdcgate.facility import judging

HISTORIES = int(os.environ.get("RANDOM_HISTORIES", "10"))
FIRST = secrets.randbelow(10**6) if os.environ.get("FRESH_EXAMPLES", "0") != "0" else 20_000


def changed(world: World, rng: np.random.Generator, people: int) -> World:
    """Some people leave, others come, move to another code, or have another value."""
    records = world.records.copy()
    for person in rng.choice(records["id"], people, replace=False):
        place = records.index[records["id"] == person][0]
        variable = world.variables[int(rng.integers(len(world.variables)))]
        code, value = rng.choice([*variable.codes, MISSING]), int(rng.integers(0, MOST + 1))
        match rng.choice(["leaves", "comes", "moves", "earns"]):
            case "leaves":
                records = records.drop(index=place)
            case "comes":
                new = records.loc[place].to_dict() | {"id": records["id"].max() + 1, variable.name: code}
                records = pd.concat([records, pd.DataFrame([new]).astype(records.dtypes)], ignore_index=True)
            case "moves":
                records.loc[place, variable.name] = code
            case "earns":
                records.loc[place, MEASURE] = value
    made = World(records, world.variables, world.measures, world.least, world.most)
    # Versions in which other codes occur are not compared: what is asked of them is referred.
    return made if _codes(made) == _codes(world) else changed(world, rng, people)


def _codes(world: World) -> list[set[str]]:
    return [set(world.records[variable.name]) for variable in world.variables]


class Between:
    """Who is where in two versions, person by person."""

    def __init__(self, one: Heard, other: Heard) -> None:
        self.versions, self.groups = (one, other), Groups(one.world)
        parts = []
        for world in (one.world, other.world):
            atoms = Groups(world).of_records
            parts.append(
                pd.DataFrame({"atom": atoms, "value": world.records[MEASURE].to_numpy()}, world.records["id"])
            )
        both = parts[0].join(parts[1].add_suffix(" after"), how="outer")
        self._there = [both["atom"].notna().to_numpy(), both["atom after"].notna().to_numpy()]
        self._atoms = [both[name].fillna(0).to_numpy(dtype=int) for name in ("atom", "atom after")]
        self._values = [both[name].fillna(0).to_numpy() for name in ("value", "value after")]

    def changed(self, box: Box, quantity: str) -> int:
        """People whose part of a box's number, or sum, is another one in the other version."""
        group = self.groups.within(box)
        ins = [there & group[atoms] for there, atoms in zip(self._there, self._atoms, strict=True)]
        if quantity == SUM:
            return int((ins[0] * self._values[0] != ins[1] * self._values[1]).sum())
        return int((ins[0] != ins[1]).sum())

    def told(self) -> Iterator[str]:
        """Boxes whose number or sum follows in both versions, and changed by too few people."""
        for quantity in (RECORDS, SUM):
            follows = [_follows(self.groups, heard, quantity) for heard in self.versions]
            for box in self.groups.boxes():
                few = self.changed(box, quantity)
                if 0 < few < MINIMUM and all(known(self.groups.within(box)) for known in follows):
                    yield f"{quantity} of {self.groups.words(box)}: {few} changed"

    def unchanged(self) -> list[Told]:
        """What was told of the other version of boxes in which nothing changed."""
        parts = [
            (told, [(told.box, told.quantity), *([told.times] if told.times else [])])
            for told in self.versions[1].told
        ]
        return [told for told, each in parts if not any(self.changed(*part) for part in each)]


def _follows(groups: Groups, heard: Heard, quantity: str) -> Callable[[np.ndarray], bool]:
    """Whether a quantity of a group follows from what was told of a version."""
    counted = {one.box for one in heard.told if one.quantity != SUM and not one.times}
    boxes = counted
    if quantity == SUM:
        boxes = {
            one.box for one in heard.told if one.quantity == SUM and (not one.times or one.box in counted)
        }
    return span_of([groups.within(box) for box in boxes])


def history_of(folder: Path, seed: int, queries: int) -> History:
    """Two people change, and the first version goes on answering; then four more. Half is asked anew."""
    rng = np.random.default_rng(seed)
    world = census(seed)
    tables = (one for one in requests(world, seed) if not one.kind)
    asked = list(islice(tables, 2 * queries))
    history = History(world, folder)
    try:
        history.ask(asked[:queries])
        second = changed(world, rng, 2)
        history.change(second)
        history.ask(asked[queries // 2 : queries + 2])
        assert not history.heard[2].told
        history.change(changed(second, rng, 4))
        again = [asked[place] for place in rng.permutation(queries)[: queries // 2]]
        history.ask([*again, *asked[queries + 2 :]])
    finally:
        history.close()
    return history


def learnt(history: History) -> Iterator[str]:
    """What the intruder learns of any version, or of who changed between two.

    He knows more than anybody does: which figures of the other version are those of this one, too.
    """
    versions = [told for told in history.heard.values() if told.told]
    for one, other in permutations(versions, 2):
        intruder = Intruder(replace(one, told=[*one.told, *Between(one, other).unchanged()]))
        assert intruder.untrue() == []
        yield from map(str, intruder.learnt())
    for one, other in combinations(versions, 2):
        yield from Between(one, other).told()


@pytest.mark.parametrize("seed", [5, pytest.param(3, marks=pytest.mark.long)])
def test_random_tables_of_two_versions_do_not_tell_of_few_who_changed(tmp_path: Path, seed: int) -> None:
    history = history_of(tmp_path, seed, 14)
    assert history.heard[3].told
    assert list(learnt(history)) == []


def test_the_intruder_learns_who_changed_where_nobody_counts_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        judging, "few_changed_cells", lambda _, new, __: np.zeros(len(new[0].boxes), dtype=bool)
    )
    monkeypatch.setattr(judging, "few_changed_differences", lambda *_: (False, False))
    assert any("changed" in told for told in learnt(history_of(tmp_path, 10, 14)))


@pytest.mark.long
@pytest.mark.parametrize("number", range(HISTORIES))
def test_long_histories_of_versions_do_not_tell_of_few_who_changed(tmp_path: Path, number: int) -> None:
    history = history_of(tmp_path, FIRST + number, 25)
    assert list(learnt(history)) == [], FIRST + number
