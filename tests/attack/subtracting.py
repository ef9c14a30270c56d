"""Attacks that add and subtract counts of several tables."""

import itertools
from typing import Any

from attack.claims import Claim, attack
from attack.hearing import Needs
from attack.knowledge import COUNT, Knowledge
from attack.populations import TOWNS, TRADES, census
from attack.publishers import Api
from attack.world import MISSING, Box

FEW: Box = {"town": ("t2",), "trade": ("k3",)}
"""Three people."""
RARE: Box = {"trade": ("k9",)}
"""Four people."""
SCARCE: Box = {"stage": ("s2",)}
"""Five people."""
NO_SCHOOL: Box = {"town": ("t3",), "school": (MISSING,)}
"""One person."""
THIRD: Box = {"town": ("t2",), "trade": ("k1",), "age": ("3",)}
OTHERS = [trade for trade in TRADES if trade != "k3"]
CROSSED: dict[str, Any] = {"rows": ["town"], "columns": ["trade"]}


def number(box: Box):
    """The true number of people in a box."""
    return lambda world: float(len(world.where(box)))


def informed(api: Api) -> Knowledge:
    """What everybody knows before the first table."""
    known = Knowledge(api.public, api.digits)
    for variable in api.public.variables:
        # Everybody knows that nothing but the school, or what somebody suffers from, is ever missing.
        if variable.name not in ("school", "complaint"):
            known.tell_box(COUNT, {variable.name: (MISSING,)}, 0)
    return known


def listen(api: Api, *questions: dict[str, Any]) -> Knowledge:
    """All that follows from some tables."""
    known = informed(api)
    for question in questions:
        known.hear(api.ask(**question))
    return known


@attack("Subtraction from a margin", census, number(FEW))
def margin(api: Api) -> Claim:
    """Takes the other cells of a row from its total."""
    return listen(api, CROSSED).count(FEW)


@attack("Margins asked for on their own", census, number(FEW), needs=Needs(3))
def own_margins(api: Api) -> Claim:
    """Asks for a table without totals, and for each total as a table."""
    return listen(api, {**CROSSED, "margins": False}, {"rows": ["town"]}, {"rows": ["trade"]}).count(FEW)


@attack("Complement of a small group", census, number(FEW))
def complement(api: Api) -> Claim:
    """Asks for everybody, and for everybody but the small group."""
    return listen(api, {"rows": ["town"]}, {"rows": ["town"], "filter": {"trade": OTHERS}}).count(FEW)


@attack("Nested filters", census, number(FEW))
def nested(api: Api) -> Claim:
    """Two filters of which one has a category more."""
    wide, narrow = (
        {"rows": ["sex"], "filter": {"town": ["t2"], "trade": trades}}
        for trades in (["k1", "k3", "k4"], ["k1", "k4"])
    )
    return listen(api, wide, narrow).count(FEW)


@attack("Individual tracker", census, number(FEW))
def individual_tracker(api: Api) -> Claim:
    """count(A and B) = count(A) - count(A and not B), in tables of one cell (Schlörer)."""
    a: dict[str, Any] = {"town": ["t2"]}
    return listen(api, {"filter": a}, {"filter": {**a, "trade": OTHERS}}).count(FEW)


@attack("General tracker", census, number(RARE), needs=Needs(2))
def general_tracker(api: Api) -> Claim:
    """count(C) = count(C or T) + count(C or not T) - count(everybody) (Denning, Denning and Schwartz)."""
    with_t, without = ["k9", "k1", "k2"], ["k9", "k3", "k4", "k5"]
    return listen(api, {}, {"filter": {"trade": with_t}}, {"filter": {"trade": without}}).count(RARE)


@attack("Double tracker", census, number(RARE), needs=Needs(2))
def double_tracker(api: Api) -> Claim:
    """count(C) = count(U) + count(C or T) - count(T) - count(U without C and T), with T within U."""
    sets = (["k3", "k4"], ["k9", "k3"], ["k3"], ["k4"])
    return listen(api, *({"filter": {"trade": trades}} for trades in sets)).count(RARE)


@attack("Overlapping groupings", census, number(SCARCE), needs=Needs(2))
def overlapping(api: Api) -> Claim:
    """Groups {a, b}, {b, c} and {a, c}: half of the first two less the third is b."""
    pairs = (["s1", "s2"], ["s2", "s3"], ["s1", "s3"])
    return listen(api, *({"rows": ["sex"], "filter": {"stage": pair}} for pair in pairs)).count(SCARCE)


@attack("Two groupings of one variable", census, number(THIRD), needs=Needs(2))
def two_levels(api: Api) -> Claim:
    """Halves and pairs of six ages: the first half less the first pair is the third age."""
    levels = ("age:halves", "age:pairs")
    return listen(api, *({"rows": ["town", "trade"], "columns": [level]} for level in levels)).count(THIRD)


@attack("Refining a level", census, number(FEW), needs=Needs(4))
def refining(api: Api) -> Claim:
    """Provinces first, then their towns, then one town of the two."""
    coarse, fine = {"rows": ["town:province"], "columns": ["trade"]}, {"rows": ["town"], "columns": ["trade"]}
    other = {"rows": ["trade"], "filter": {"town": ["t1"]}}
    north = {"rows": ["trade"], "filter": {"town:province": ["north"]}}
    return listen(api, coarse, fine, other, north).count(FEW)


@attack("One table in three pieces", census, number({**FEW, "sex": ("f",)}), needs=Needs(4))
def pieces(api: Api) -> Claim:
    """The same table for both sexes and for all, so that what each withholds differs."""
    parts = ({**CROSSED, "filter": {"sex": [sex]}} for sex in "fm")
    return listen(api, CROSSED, *parts, {"rows": ["town", "sex"], "columns": ["trade"]}).count(
        {**FEW, "sex": ("f",)}
    )


@attack("Permuted axes", census, number(FEW), needs=Needs(12))
def permuted(api: Api) -> Claim:
    """The same cells in other orders, with and without totals: one that withholds other cells is enough."""
    orders = [
        dict(zip(("rows", "columns", "layers"), ([a] if a else [] for a in order), strict=True))
        for order in itertools.permutations(("town", "trade", ""))
    ]
    return listen(api, *({**order, "margins": m} for order in orders for m in (True, False))).count(FEW)


@attack("Slices of single codes", census, number(FEW), needs=Needs(7))
def slices(api: Api) -> Claim:
    """A table for each town alone and for each trade alone, and the totals."""
    by_town = ({"rows": ["trade"], "filter": {"town": [town]}} for town in TOWNS)
    by_trade = ({"rows": ["town"], "filter": {"trade": [trade]}} for trade in TRADES)
    return listen(api, *by_town, *by_trade, {"rows": ["town"]}, {"rows": ["trade"]}).count(FEW)


@attack("The same variable under another name", census, number(FEW), needs=Needs(2))
def alias(api: Api) -> Claim:
    """Branch is the trade by another name: withheld by one, asked for by the other."""
    by_branch = {"rows": ["town"], "columns": ["branch"]}
    mixed = {**by_branch, "filter": {"trade": ["k1", "k2", "k4", "k5", "k9"]}}
    known = listen(api, CROSSED, by_branch, mixed)
    for trade in TRADES:
        others = tuple(other.replace("k", "b") for other in TRADES if other != trade)
        known.tell_box(COUNT, {"trade": (trade,), "branch": others}, 0)
    return known.count(FEW)


@attack("Padding with a known cell", census, number(FEW), needs=Needs(3))
def padding(api: Api) -> Claim:
    """The small cell together with a published one, in tables that never name it alone."""
    sets = (["k3", "k4"], ["k4"], ["k3", "k2"], ["k2"])
    tables = ({"rows": ["town"], "filter": {"trade": trades}, "margins": False} for trades in sets)
    return listen(api, CROSSED, *tables).count(FEW)


@attack("Missing values", census, number(NO_SCHOOL))
def missing(api: Api) -> Claim:
    """All valid categories against no filter at all."""
    valid = {"rows": ["town"], "filter": {"school": ["e1", "e2", "e3"]}}
    return listen(api, {"rows": ["town"]}, valid).count(NO_SCHOOL)


@attack("A condition that everybody meets", census, number(NO_SCHOOL), needs=Needs(2))
def everybody(api: Api) -> Claim:
    """All sexes against all valid categories: neither population names the other."""
    sexes = {"rows": ["town"], "filter": {"sex": ["f", "m"]}}
    valid = {"rows": ["town"], "filter": {"school": ["e1", "e2", "e3"]}}
    return listen(api, {"rows": ["sex"]}, sexes, valid).count(NO_SCHOOL)
