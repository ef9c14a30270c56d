"""A refusal for too few people tells that a group has fewer than the policy wants: an inequality to use.

The intruder puts it into linear programs with all counts that he has heard. Nothing withheld may be bounded
more tightly than by ten.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from house import build, cells, people_descriptor, reasons, verdict

TOWNS, TRADES = ("t0", "t1", "t2"), ("k0", "k1", "k2", "k3")
LEAST_POPULATION, WIDTH = 50, 10


def people_of(seed):
    """Persons by town and trade: two cells of few that add up to ten, one of 41 to 48, all others of more."""
    rng = np.random.default_rng(seed)
    persons = rng.integers(60, 90, (len(TOWNS), len(TRADES)))
    few = rng.integers(3, 8)
    persons[0, :2] = few, 10 - few
    persons[1, 1] = rng.integers(41, 49)
    return persons


def house_of(folder, persons):
    rows = [f"{TOWNS[t]},{TRADES[k]}" for (t, k), number in np.ndenumerate(persons) for _ in range(number)]
    (folder / "people.csv").write_text("\n".join(["town,trade", *rows]) + "\n")
    house = build(folder)
    house.engine.register(people_descriptor({"town": TOWNS, "trade": TRADES}))
    return house


class Intruder:
    """Equations and inequalities over the twelve cells.

    The same is said of a group whose number is withheld, be it large or small. He is told which are small.
    """

    def __init__(self, persons):
        self.persons = persons.reshape(-1)
        self.equal, self.counts, self.most = [], [], []
        self.withheld = set()

    def hear(self, answered, town=TOWNS, trade=TRADES, rows=(), columns=()):
        if verdict(answered) == "REFUSED" and reasons(answered) == ["MINIMUM_BASE"]:
            group = self.group(town, trade)
            if group @ self.persons < LEAST_POPULATION:
                self.most.append(group)
            return
        axes = [*rows, *columns]
        for codes, (figure,) in (cells(answered) if answered.decision.HasField("table") else {}).items():
            if "_U" in codes:
                continue
            given = {name: (code,) for name, code in zip(axes, codes, strict=True) if code != "_T"}
            group = self.group(given.get("town", town), given.get("trade", trade))
            if figure is None:
                self.withheld.add(tuple(group))
            else:
                self.equal.append(group)
                self.counts.append(figure)

    @staticmethod
    def group(town, trade):
        inside = [[t in town and k in trade for k in TRADES] for t in TOWNS]
        return np.array(inside, dtype=float).reshape(-1)

    def widths(self):
        """How far apart the bounds of each withheld cell are."""
        for group in self.withheld:
            ends = []
            for way in (1.0, -1.0):
                found = linprog(
                    way * np.array(group),
                    A_eq=self.equal or None,
                    b_eq=self.counts or None,
                    A_ub=self.most or None,
                    b_ub=[LEAST_POPULATION - 1] * len(self.most) or None,
                )
                assert found.status in (0, 3)
                ends.append(way * found.fun if found.status == 0 else np.inf)
            yield np.floor(ends[1] + 1e-6) - np.ceil(ends[0] - 1e-6)


def session(folder, persons, order):
    """Filters of one or two cells, and the table of all: the table first, in between or last."""
    house, intruder = house_of(folder, persons), Intruder(persons)
    filters = [{"town": ["t1"], "trade": ["k1"]}]
    filters += [{"town": list(two), "trade": ["k1"]} for two in itertools.combinations(TOWNS, 2)]
    filters += [{"town": ["t1"], "trade": list(two)} for two in itertools.combinations(TRADES, 2)]
    filters += [{"town": ["t0"], "trade": [code]} for code in TRADES[1:]]
    asked = [({"rows": ["town"]}, one) for one in filters]
    asked.insert(
        {"first": 0, "between": 4, "last": len(asked)}[order], ({"rows": ["town"], "columns": ["trade"]}, {})
    )
    for table, filtered in asked:
        intruder.hear(house.ask(dataset="people", **table, **filtered), **table, **filtered)
    return intruder


@pytest.mark.parametrize("order", ["first", "between", "last"])
@pytest.mark.parametrize("seed", range(6))
def test_what_refusals_say_of_sizes_bounds_nothing_withheld(tmp_path, seed, order):
    intruder = session(tmp_path, people_of(seed), order)
    assert min(intruder.widths(), default=np.inf) >= WIDTH
