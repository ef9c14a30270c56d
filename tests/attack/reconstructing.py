"""Attacks by programs over many tables at once: what no subtraction tells, bounds may."""

import itertools
import random
from typing import Any

from attack.claims import Claim, attack
from attack.populations import AGES, SITES, TOWNS, TRADES, census, health_insurance
from attack.publishers import Api
from attack.subtracting import FEW, informed, listen, number


@attack("All two-way tables of a three-way one", census, number({**FEW, "sex": ("f",)}))
def two_way(api: Api) -> Claim:
    """Whole numbers that agree with every pair of three variables, and with the three-way table."""
    names = ("town", "trade", "sex")
    pairs = ({"rows": [a], "columns": [b]} for a, b in itertools.combinations(names, 2))
    return listen(api, *pairs, {"rows": ["town", "trade"], "columns": ["sex"]}).count({**FEW, "sex": ("f",)})


def random_tables(seed: int, tables: int) -> list[dict[str, Any]]:
    """Tables of one to three variables, half of them under one or two random filters."""
    rng = random.Random(seed)
    codes = {"town": TOWNS, "trade": TRADES, "sex": ("f", "m"), "age": AGES}
    found = []
    for _ in range(tables):
        names = rng.sample(
            ["town", "trade", "sex", rng.choice(["age:halves", "age:pairs"])], rng.randint(1, 3)
        )
        filters = {
            name: sorted(rng.sample(codes[name], rng.randint(1, len(codes[name]) - 1)))
            for name in rng.sample(sorted(codes), rng.choice([0, 0, 1, 2]))
        }
        question = {"rows": names[:1], "columns": names[1:2], "layers": names[2:], "filter": filters}
        found.append({**question, "margins": rng.random() < 0.7})
    return found


@attack("Reconstruction from random tables", census, number(FEW))
def reconstruction(api: Api) -> Claim:
    """Two dozen random tables, and an integer program over all of them."""
    return listen(api, *random_tables(3, 24)).count(FEW)


def session(seed: int, tables: int) -> list[dict[str, Any]]:
    """Tables of site, sex and age in overlapping groups, half of them under a filter."""
    rng = random.Random(seed)
    shapes = [["site", "sex"], ["site", "age"], ["sex", "age"], ["site", "sex", "age"]]
    shapes += [["age"], ["site"], ["sex"]]
    codes = {"site": SITES, "sex": ("f", "m")}
    found = []
    for _ in range(tables):
        names = list(rng.choice(shapes))
        level = rng.choice(["broad", "twenty_years", "ten_years"])
        names = [f"age:{level}" if name == "age" else name for name in names]
        filters = {}
        if rng.random() < 0.5:
            name = rng.choice(sorted(codes))
            filters = {name: sorted(rng.sample(codes[name], rng.randint(1, len(codes[name]) - 1)))}
        question = {"rows": names[:1], "columns": names[1:2], "layers": names[2:], "filter": filters}
        found.append({**question, "margins": rng.random() < 0.6})
    return found


@attack("Bounds from several tables", health_insurance, number({}), tolerance=9.0)
def bounds(api: Api) -> Claim:
    """Overlapping tables need not tell a small count: it is enough to know it to within nine."""
    known = informed(api)
    heard = [known.hear(api.ask(**question)) for question in session(10, 14)]
    withheld = {repr(sorted(box.items())): box for one in heard for box in one.boxes(api.public, shown=False)}
    for one in heard:
        for box in one.boxes(api.public, shown=True):
            withheld.pop(repr(sorted(box.items())), None)
    return known.tightest(list(withheld.values()), below=10)
