"""Random requests to small populations: an intruder with linear programs must not learn what is withheld.

Nobody thought of asking these tables together. `make test-long` asks sixty of each of many populations,
others each time unless FRESH_EXAMPLES is 0; RANDOM_HISTORIES says how many. A failure names the fewest
requests that tell something.
"""

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from attack.random_requests import Asked, census, panel, requests
from attack.solver_intruder import Intruder, Learnt
from attack.told_figures import Heard, History
from attack.world import World
from sdcgate.facility.told_together import Together

OPEN = pytest.mark.xfail(
    strict=False,
    reason="docs/limits.md: marked cells that are taken for known, and codes that exclude each other",
)
MORE = pytest.mark.long
"""Further histories of a kind: one of each is enough whenever anything changes."""
HISTORIES = int(os.environ.get("RANDOM_HISTORIES", "10"))
FIRST = secrets.randbelow(10**6) if os.environ.get("FRESH_EXAMPLES", "0") != "0" else 10_000
Made = Callable[[int], World]


def heard(folder: Path, world: World, asked: list[Asked], published: Sequence[Asked] = ()) -> Heard:
    """What a house of its own answers."""
    folder.mkdir()
    history = History(world, folder)
    try:
        for known in published:
            history.enter(known)
        history.heard[1].know_unused_codes()
        history.ask(asked)
        return history.heard[1]
    finally:
        history.close()


def learnt(folder: Path, world: World, asked: list[Asked]) -> list[Learnt]:
    """What the intruder learns, once all that he was told holds in truth, and something was withheld."""
    answers = heard(folder, world, asked)
    intruder = Intruder(answers)
    assert intruder.untrue() == []
    return intruder.learnt()


def fewest(folder: Path, world: World, asked: list[Asked]) -> str:
    """The fewest requests found by which something is learnt, and what: every request is needed."""
    trials = (folder / f"trial-{number}" for number in range(10**6))
    size = max(1, len(asked) // 2)
    while True:
        places = range(0, len(asked), size)
        shorter = ([*asked[:at], *asked[at + size :]] for at in places)
        found = next((few for few in shorter if few and learnt(next(trials), world, few)), None)
        if found is not None:
            asked = found
        elif size == 1:
            told = learnt(next(trials), world, asked)
            return "\n".join(map(str, [*told, *asked]))
        size = size if found is not None else size // 2


@pytest.mark.parametrize(
    ("made", "seed"),
    [
        (census, 1),
        (panel, 3),
        *(pytest.param(made, seed, marks=MORE) for made, seed in ((census, 3), (census, 5), (panel, 1))),
    ],
)
def test_random_requests_tell_nothing_that_is_withheld(tmp_path: Path, made: Made, seed: int) -> None:
    world = made(seed)
    asked = list(islice(requests(world, seed), 20))
    assert not learnt(tmp_path / "house", world, asked), fewest(tmp_path, world, asked)


@pytest.mark.parametrize(("made", "seed"), [(census, 2011), (panel, 2002)])
def test_withheld_sums_rest_on_withheld_cells_being_somebody(tmp_path: Path, made: Made, seed: int) -> None:
    world = made(seed)
    asked = list(islice(requests(world, seed), 40))
    assert not learnt(tmp_path / "house", world, asked), fewest(tmp_path, world, asked)


def test_what_is_shown_first_is_news_though_it_was_perhaps_told(tmp_path: Path) -> None:
    world = census(10_009)
    asked = list(islice(requests(world, 10_009), 60))
    assert not learnt(tmp_path / "house", world, asked), fewest(tmp_path, world, asked)


def test_what_totals_of_statistics_told_is_reckoned_with_as_tables_leave(tmp_path: Path) -> None:
    world = panel(21_003)
    asked = list(islice(requests(world, 21_003), 26))
    assert not learnt(tmp_path / "house", world, asked), fewest(tmp_path, world, asked)


@pytest.mark.parametrize(
    ("made", "seed", "mostly_ratios"),
    [(census, 10_000, False), pytest.param(census, 50_018, True, marks=MORE), (panel, 50_010, True)],
)
def test_shares_and_means_tell_no_more_once_their_groups_are_counted(
    tmp_path: Path, made: Made, seed: int, mostly_ratios: bool
) -> None:
    world = made(seed)
    asked = list(islice(requests(world, seed, mostly_ratios), 40))
    assert not learnt(tmp_path / "house", world, asked), fewest(tmp_path, world, asked)


@pytest.mark.parametrize(("seed", "mostly_ratios"), [(10_000, False), pytest.param(50_018, True, marks=MORE)])
def test_weighted_means_of_people_who_all_weigh_the_same_tell_no_more_than_means(
    tmp_path: Path, seed: int, mostly_ratios: bool
) -> None:
    world = census(seed)
    plain = islice(requests(world, seed, mostly_ratios), 40)
    asked = [replace(one, figures=tuple(map(_weighted, one.figures))) for one in plain]
    assert not learnt(tmp_path / "house", world, asked), fewest(tmp_path, world, asked)


def _weighted(figure: str) -> str:
    return figure.replace("MEAN:", "WEIGHTED_MEAN:")


def test_random_requests_tell_nothing_more_beside_what_was_published_elsewhere(tmp_path: Path) -> None:
    world = census(5)
    asked = (one for one in requests(world, 5) if not one.kind)
    published, requested = list(islice(asked, 2)), list(islice(asked, 16))
    answers = heard(tmp_path / "house", world, requested, published)
    assert Intruder(answers).untrue() == []
    assert Intruder(answers).learnt() == []


def test_the_intruder_learns_where_nobody_looks_at_all_tables_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of records and of units in a panel, and of sums: a test that could not fail would show nothing."""
    monkeypatch.setattr(Together, "telling", lambda _, left, *__: np.zeros(len(left[0].boxes), dtype=bool))
    found = set[str]()
    for seed in (3, 13):
        world = panel(seed)
        told = learnt(tmp_path / f"house-{seed}", world, list(islice(requests(world, seed), 20)))
        found |= {one.what for one in told}
    assert found >= {"records by records", "units by units", "sum by records and sum"}


def test_the_intruder_learns_counts_where_nobody_looks_at_them_beside_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = census(4015)
    asked = list(islice(requests(world, 4015), 40))
    assert learnt(tmp_path / "house", world, asked) == []
    monkeypatch.setattr(
        Together, "_counts_told_by_sums", lambda _, left, *__: np.zeros(len(left[0].boxes), dtype=bool)
    )
    found = learnt(tmp_path / "other", world, asked)
    assert {one.what for one in found} == {"records by records and sum"}


@OPEN
@pytest.mark.long
@pytest.mark.parametrize("number", range(HISTORIES))
@pytest.mark.parametrize("mostly_ratios", [False, True])
@pytest.mark.parametrize("made", [census, panel])
def test_long_histories_tell_nothing_that_is_withheld(
    tmp_path: Path, made: Made, mostly_ratios: bool, number: int
) -> None:
    seed = FIRST + number
    world = made(seed)
    asked = list(islice(requests(world, seed, mostly_ratios), 60))
    assert not learnt(tmp_path / "house", world, asked), f"{seed}\n{fewest(tmp_path, world, asked)}"


@OPEN
@pytest.mark.long
@pytest.mark.parametrize("number", range(HISTORIES))
def test_long_histories_tell_nothing_more_beside_publications(tmp_path: Path, number: int) -> None:
    seed = FIRST + number
    world = census(seed)
    asked = (one for one in requests(world, seed) if not one.kind)
    published, requested = list(islice(asked, 3)), list(islice(asked, 50))
    assert Intruder(heard(tmp_path / "house", world, requested, published)).learnt() == [], seed
