"""Random requests under cell keys: what the noise promises of each figure, and of all of them together."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp

from attack.random_requests import census, requests
from attack.solver_intruder import Groups
from attack.told_figures import BEFORE, MINIMUM, SUM, Box, Heard, History

D, ANSWERS = 9, 24
POLICY = f"""
name: tiny
version: "1"
description: Noise for small populations
defaults:
  rules:
    minimum_units: {{units: {MINIMUM}, consequence: protect}}
    dominance: [{{largest: 1, share: 0.6, consequence: protect}}]
  dimensions: {{maximum: 3, maximum_filters: 2, filters_count: false, consequence: refuse}}
  protection:
    method: cell_key
    cell_keys: {{maximum_noise: {D}, variance: 4, sum_shares: [0.2], maximum_answers: {ANSWERS}}}
    sum_width: 0.1
    time_limit_ms: 30000
    unproved: refer
  output: {{digits: 6, maximum_cells: 100000}}
  differencing: {{consequence: refuse}}
access_levels: {{public: {{}}, licensed: {{}}, remote: {{}}, on-site: {{}}}}
"""


class Noisy:
    """What was told, and who is in it."""

    def __init__(self, heard: Heard) -> None:
        self.groups = Groups(heard.world)
        noisy = [one for one in heard.told if one.query != BEFORE]
        self.figures = [(one.box, one.quantity, (one.low + one.high) / 2, one.times) for one in noisy]
        self.exact = {one.box: one.low for one in heard.told if one.query == BEFORE and one.quantity != SUM}
        """Counts that were published elsewhere."""
        plain = [(box, quantity == SUM, told) for box, quantity, told, times in self.figures if not times]
        self.counts = [(box, told) for box, of_sum, told in plain if not of_sum]
        self.sums = [(box, told) for box, of_sum, told in plain if of_sum]
        self.means = [(box, told) for box, quantity, told, times in self.figures if quantity == SUM and times]
        names = [variable.name for variable in heard.world.variables]
        self._people = {
            box: frozenset(heard.world.where(dict(zip(names, map(tuple, box), strict=True)))["id"])
            for box in {box for box, *_ in self.figures}
        }

    def people(self, box: Box) -> frozenset[int]:
        """Who is in a box."""
        return self._people[box]

    def interval(self, box: Box, noisy: bool = True) -> tuple[float, float]:
        """Between what a count lies by what is exact, and by noise of no more than D, nobody being 0."""
        rows = [(part, told, told) for part, told in self.exact.items()]
        for part, told in self.counts if noisy else ():
            rows.append((part, max(told - D, 1) if told > 0 else 0, told + D if self.people(part) else 0))
        matrix = np.array([self.groups.within(part) for part, _, _ in rows], dtype=float)
        within = LinearConstraint(matrix, [low for _, low, _ in rows], [high for _, _, high in rows])
        cost = self.groups.within(box).astype(float)
        ends = []
        for sign in (1, -1):
            found = milp(sign * cost, constraints=within, integrality=np.ones(len(cost)))
            ends.append(sign * (round(found.fun) if found.status == 0 else -np.inf))
        return ends[0], ends[1]


@pytest.fixture(scope="module", params=[(1, 0), (3, 0), (6, 0), (1, 2)], ids=str)
def noisy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Noisy:
    """Of a seed whose measure has many values, and a number of tables that were published elsewhere."""
    seed, published = request.param
    world = census(seed)
    history = History(world, tmp_path_factory.mktemp("noise"), POLICY)
    tables = (one for one in requests(world, seed) if not one.kind)
    for known in islice(tables, published):
        history.enter(known)
    history.ask(islice(tables, 40))
    history.close()
    assert history.heard[1].verdicts["RELEASED_PROTECTED"] > 5
    return Noisy(history.heard[1])


def test_the_same_people_have_the_same_figure_whatever_they_are_called(noisy: Noisy) -> None:
    told: dict[object, set[float]] = {}
    for box, quantity, figure, times in noisy.figures:
        whole = times and noisy.people(times[0])
        told.setdefault((noisy.people(box), quantity == SUM, whole), set()).add(figure)
    assert [figures for figures in told.values() if len(figures) > 1] == []


def test_nobody_is_in_more_noisy_figures_of_a_kind_than_the_policy_says(noisy: Noisy) -> None:
    for of_sums in (False, True):
        groups = {noisy.people(box) for box, quantity, _, _ in noisy.figures if (quantity == SUM) == of_sums}
        answers = Counter(person for group in groups for person in group)
        assert max(answers.values()) <= ANSWERS


def test_no_small_count_is_certain(noisy: Noisy) -> None:
    boxes = {box for box, *_ in noisy.figures if 0 < len(noisy.people(box)) < MINIMUM}
    assert boxes
    for box in sorted(boxes, key=noisy.groups.words)[:40]:
        low, high = noisy.interval(box)
        assert low <= len(noisy.people(box)) <= high
        if high == low:
            known = noisy.interval(box, noisy=False) if noisy.exact else (0, 1)
            assert known == (low, high), noisy.groups.words(box)


def test_a_mean_is_the_noisy_sum_over_the_noisy_count_and_no_second_look(noisy: Noisy) -> None:
    sums, counts = ({noisy.people(box): told for box, told in part} for part in (noisy.sums, noisy.counts))
    for box, mean in noisy.means:
        people = noisy.people(box)
        if counts.get(people) and people in sums:
            assert mean * counts[people] == pytest.approx(sums[people], abs=1e-3)
