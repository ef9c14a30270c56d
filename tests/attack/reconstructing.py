"""Attacks by programs over many tables at once: what no subtraction tells, bounds may."""

import itertools
import random
from typing import Any

from attack.claims import SUM, Claim, attack
from attack.hearing import Needs
from attack.populations import AGES, SITES, TOWNS, TRADES, census, health_insurance, pupils
from attack.publishers import Api
from attack.subtracting import FEW, OTHERS, informed, listen, number
from attack.world import Box, World

FEW_WOMEN: Box = {**FEW, "sex": ("f",)}
FEW_OF_TWO: Box = {"town": ("t2",), "trade": ("k3", "k9")}
FOUR: Box = {"town": ("t4",), "trade": ("k4",), "sex": ("f",), "school": ("e1",)}
FEW_OLD: Box = {"age": ("old",), "town": ("t1",)}
ONE_MAN: Box = {**FEW, "sex": ("m",)}
TOWN = {"town": [town for town in TOWNS if town != "t2"]}
TRADE = {"trade": OTHERS}


def complements(*conditions: dict[str, list[str]]) -> list[dict[str, list[str]]]:
    """Every choice among conditions that the few do not meet, none and all among them."""
    sizes = range(len(conditions) + 1)
    chosen = (some for size in sizes for some in itertools.combinations(conditions, size))
    return [{name: codes for one in some for name, codes in one.items()} for some in chosen]


def his_income(world: World) -> float:
    """The true income of the one man."""
    (income,) = world.where(ONE_MAN)["income"]
    return float(income)


@attack("All two-way tables of a three-way one", census, number(FEW_WOMEN), needs=Needs(4))
def two_way(api: Api) -> Claim:
    """Whole numbers that agree with every pair of three variables, and with the three-way table."""
    names = ("town", "trade", "sex")
    pairs = ({"rows": [a], "columns": [b]} for a, b in itertools.combinations(names, 2))
    return listen(api, *pairs, {"rows": ["town", "trade"], "columns": ["sex"]}).count(FEW_WOMEN)


@attack("Means near the ends of a score", pupils, number(FEW_OLD), needs=Needs(2))
def means_near_ends(api: Api) -> Claim:
    """Of scores of 10 to 20 the old have nearly 20 and those of a town nearly 10: few can be both."""
    means = ({"rows": [name], "figures": ["UNITS", "MEAN:score"]} for name in ("age", "town"))
    return listen(api, {"rows": ["age"], "columns": ["town"]}, *means).count(FEW_OLD)


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


@attack("Inclusion and exclusion", census, number(FEW), needs=Needs(3))
def inclusion_exclusion(api: Api) -> Claim:
    """Everybody, those not in the town, those not in the trade, those in neither: no table names the few."""
    return listen(api, *({"filter": one} for one in complements(TOWN, TRADE))).count(FEW)


@attack("Inclusion and exclusion of two trades", census, number(FEW_OF_TWO), needs=Needs(5))
def two_trades(api: Api) -> Claim:
    """The same where each trade has its table, and a trade that nobody has there is left out, too."""
    others = {"trade": [trade for trade in OTHERS if trade != "k9"]}
    asked = ({"filter": one} for one in complements(TOWN, others))
    return listen(api, {"rows": ["trade"]}, {"rows": ["town"]}, *asked).count(FEW_OF_TWO)


@attack("One man's income by eight tables", census, his_income, of=SUM, needs=Needs(6))
def eight_tables(api: Api) -> Claim:
    """The same with three conditions, all of which only one man meets, and with sums."""
    figures = ["UNITS", "SUM:income"]
    asked = ({"filter": one, "figures": figures} for one in complements(TOWN, TRADE, {"sex": ["f"]}))
    return listen(api, *asked).value("income", ONE_MAN)


@attack("Inclusion and exclusion by a row", census, number(FOUR), needs=Needs(7))
def four_conditions(api: Api) -> Claim:
    """Eight tables by school, of which one row is the fourth condition: any three of them are met by many."""
    conditions = {"town": ["t1", "t2", "t3"]}, {"trade": ["k1", "k2", "k3", "k5", "k9"]}, {"sex": ["m"]}
    return listen(api, *({"rows": ["school"], "filter": one} for one in complements(*conditions))).count(FOUR)


@attack("Reconstruction from random tables", census, number(FEW), needs=Needs(12))
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


@attack("Bounds from several tables", health_insurance, number({}), needs=Needs(10))
def bounds(api: Api) -> Claim:
    """Overlapping tables need not tell a small count: it is enough to know it to within nine."""
    known = informed(api)
    heard = [known.hear(api.ask(**question)) for question in session(10, 14)]
    withheld = {repr(sorted(box.items())): box for one in heard for box in one.boxes(api.public, shown=False)}
    for one in heard:
        for box in one.boxes(api.public, shown=True):
            withheld.pop(repr(sorted(box.items())), None)
    return known.tightest(list(withheld.values()), below=10)
