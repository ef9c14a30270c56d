"""Attacks on sums, means, percentages and weights, and on those who contribute to them."""

import math
from functools import partial
from typing import Any

from attack.claims import NOTHING, SUM, Claim, attack, exactly
from attack.hearing import Needs
from attack.knowledge import COUNT, WEIGHT
from attack.populations import (
    CHILDREN,
    COALITION,
    DOMINATED,
    EQUAL,
    FAMILIES,
    NEGATIVE,
    census,
    earners,
    families,
    firms,
    granted,
    ill,
    paid,
    panel,
    parents,
    singletons,
    traders,
)
from attack.publishers import Api
from attack.subtracting import CROSSED, FEW, listen, number
from attack.world import Box, World

FIRMS: dict[str, Any] = {"rows": ["region"], "columns": ["branch"]}
SUMS: dict[str, Any] = {**FIRMS, "figures": ["UNITS", "SUM:turnover"]}
VICTIM: Box = {"region": ("r2",), "branch": ("b4",)}
WOMEN_OF_T2: Box = {"town": ("t2",), "sex": ("f",)}
SELF: Box = {"region": ("r2",), "branch": ("b3",)}
FAMILY: Box = {"district": ("d2",), "faith": ("z",)}
TWO_PEOPLE: Box = {"clinic": ("c2",), "drug": ("g3",)}
SILENT: Box = {"town": ("t3",), "trade": ("k1",)}
OLD_WOMEN: Box = {"town": ("t2",), "trade": ("k4",), "sex": ("f",), "age": ("4", "5", "6")}
OLD_AND_WELL: Box = {"town": ("t1",), "age": ("old",), "illness": ("none", "flu")}
FOURTEEN: Box = {"town": ("t1",), "trade": ("k1",)}
WELL: Box = {**OLD_WOMEN, "illness": ("none", "flu")}


def cell(place: tuple[str, str]) -> Box:
    """A region and a branch."""
    return {"region": (place[0],), "branch": (place[1],)}


def total(measure: str, box: Box):
    """The true sum of a measure over a box."""
    return lambda world: float(world.where(box)[measure].sum())


def largest(place: tuple[str, str]):
    """The true value of the largest firm of a cell."""
    return lambda world: float(world.where(cell(place))["turnover"].max())


def less(claim: Claim, *own: float) -> Claim:
    """What is left of a sum when some contributors take out what is theirs."""
    return Claim(claim.low - sum(own), claim.high - sum(own))


@attack("Sum from its margins", partial(firms, (DOMINATED,)), total("turnover", cell(DOMINATED)), of=SUM)
def sum_from_margins(api: Api) -> Claim:
    """The totals of a table of sums less the cells that are shown."""
    return listen(api, SUMS).value("turnover", cell(DOMINATED))


@attack(
    "Mean times count",
    partial(firms, (DOMINATED,)),
    total("turnover", cell(DOMINATED)),
    of=SUM,
    needs=Needs(2),
)
def mean_times_count(api: Api) -> Claim:
    """No sum is asked for: each is a mean times a number of units."""
    means = {**FIRMS, "figures": ["MEAN:turnover"]}
    return listen(api, {**FIRMS, "figures": ["UNITS"]}, means).value("turnover", cell(DOMINATED))


@attack("A sum between tables", traders, total("turnover", WOMEN_OF_T2), of=SUM, needs=Needs(4))
def between_tables(api: Api) -> Claim:
    """All of t1 are in one trade, whose men have little: t1's sum is nearly all its women's."""
    asked = {"figures": ["UNITS", "SUM:turnover"]}
    towns, trades = {**asked, "rows": ["town"]}, {**asked, "rows": ["trade"]}
    women, men = ({"filter": {"sex": [sex]}} for sex in ("f", "m"))
    crossed = {**towns, "columns": ["trade"]}
    return listen(api, towns, crossed, {**trades, **men}, {**towns, **women}).value("turnover", WOMEN_OF_T2)


@attack("The second largest against the largest", partial(firms, (DOMINATED,)), largest(DOMINATED), of=SUM)
def second_largest(api: Api) -> Claim:
    """A firm takes its own turnover from the cell's and knows its only large competitor's to 5%."""
    known = listen(api, SUMS)
    rest = less(known.value("turnover", cell(DOMINATED)), 500.0)
    return Claim(rest.low - 500.0, rest.high)


@attack("One negative contribution", partial(firms, (NEGATIVE,)), largest(NEGATIVE), of=SUM)
def negative(api: Api) -> Claim:
    """The same where one firm of the cell made a loss, which nobody lost more than 150."""
    rest = less(listen(api, SUMS).value("turnover", cell(NEGATIVE)), 400.0)
    return Claim(rest.low - 400.0, rest.high + 150.0)


@attack(
    "The largest value", partial(firms, (DOMINATED,)), largest(DOMINATED), of=SUM, needs=Needs(errors=(400,))
)
def maximum(api: Api) -> Claim:
    """Asks for the maximum of each cell, beside a table of counts."""
    api.ask(**FIRMS)
    return exactly(api.ask(**FIRMS, figures=["MAX:turnover"]).shown(*DOMINATED))


@attack("Equal values", partial(firms, (EQUAL,)), largest(EQUAL), of=SUM)
def equal_values(api: Api) -> Claim:
    """One of twelve firms knows that none has less than he has; if the mean is his, it is everybody's."""
    known = listen(api, {**FIRMS, "figures": ["MEAN:turnover"]}).rows
    mean = [row for row in known if row.terms[0][2] == cell(EQUAL)]
    return (
        exactly(777.0) if any(math.isclose(-row.terms[1][0], 777.0, abs_tol=0.1) for row in mean) else NOTHING
    )


@attack("The only other one of a row", singletons, total("turnover", VICTIM), of=SUM, needs=Needs(2))
def singleton(api: Api) -> Claim:
    """Two firms are alone in their branches: one of them takes itself out of what is withheld together."""
    known = listen(api, SUMS, {**FIRMS, "figures": ["MEAN:turnover"], "margins": False})
    known.tell_box("turnover", SELF, 612.5)
    known.tell_box(COUNT, SELF, 1)
    known.tell_box(COUNT, VICTIM, 1)
    return known.value("turnover", VICTIM)


@attack("Two contributors against a third", partial(firms, (COALITION,)), largest(COALITION), of=SUM)
def coalition(api: Api) -> Claim:
    """The second and the third take both their turnovers from a published sum."""
    rest = less(listen(api, SUMS).value("turnover", cell(COALITION)), 480.0, 480.0)
    return Claim(rest.low - 99.0, rest.high)


@attack("One family of twelve", families, total("income", FAMILY), of=SUM, needs=Needs(2))
def family(api: Api) -> Claim:
    """Twelve persons are enough for a threshold of ten; they are one household with one income."""
    asked = {"rows": ["district"], "columns": ["faith"], "figures": ["UNITS", "SUM:income"]}
    return listen(api, asked, {**asked, "figures": ["MEAN:income"]}).value("income", FAMILY)


@attack("Two people with twelve records", panel, total("cost", TWO_PEOPLE), of=SUM)
def two_people(api: Api) -> Claim:
    """Records are more than people: two people with six years each pass a threshold on records."""
    asked = {"rows": ["clinic"], "columns": ["drug"], "figures": ["RECORDS", "SUM:cost"]}
    return listen(api, asked).value("cost", TWO_PEOPLE)


@attack("Percentages with one known total", census, number(FEW), needs=Needs(2))
def percentages(api: Api) -> Claim:
    """No count of a cell is asked for: a percentage to one decimal is a whole number of 636 people."""
    shares = {**CROSSED, "figures": ["TOTAL_PERCENT"]}
    return listen(api, {"rows": []}, shares).count(FEW)


@attack("Rational reconstruction of percentages", census, number(FEW))
def rational_reconstruction(api: Api) -> Claim:
    """Percentages alone: the one denominator that makes whole numbers of all shares of a column and a row."""
    heard = api.ask(**CROSSED, figures=["ROW_PERCENT"])
    half = 1e-9 if api.digits is None else 0.5 * 10**-api.digits + 1e-9
    row = {codes[1]: figures["ROW_PERCENT"] for codes, figures in heard.cells.items() if codes[0] == "t2"}
    shown = [share for code, share in row.items() if share is not None and code not in ("_T", "k3")]
    hidden = [code for code, share in row.items() if share is None and code not in ("_T", "k3")]
    if hidden or not shown:
        return NOTHING
    # He knows the town's population to a third of itself.
    found = [
        size - sum(round(share * size / 100) for share in shown)
        for size in range(90, 160)
        if all(abs(round(share * size / 100) * 100 / size - share) <= half for share in shown)
    ]
    return Claim(min(found), max(found)) if found else NOTHING


@attack("Weights against counts", census, number(FEW), needs=Needs(2))
def reweighting(api: Api) -> Claim:
    """Only weighted numbers are asked for; everybody in a town has the same weight, as the design says."""
    weighted = {**CROSSED, "figures": ["WEIGHTED_UNITS"]}
    known = listen(api, weighted, {"rows": ["town"], "figures": ["WEIGHTED_UNITS"]})
    least, most = known.interval(WEIGHT, FEW)
    return Claim(math.ceil(least / 110 - 0.01), math.floor(most / 110 + 0.01)) if most < 1e6 else NOTHING


CHILDLESS: Box = {"town": ("t1",), "children": ("0",)}
"""Eight people."""
WIDOWED: Box = {"town": ("t1",), "widowed": ("yes",)}
"""Five people."""


@attack("A measure that is a variable", parents, number(CHILDLESS))
def sums_of_codes(api: Api) -> Claim:
    """Counts by number of children, and sums of these numbers: two equations of the same counts."""
    by_town = {"rows": ["town"], "figures": ["UNITS", "SUM:offspring"]}
    known = listen(api, {"rows": ["town"], "columns": ["children"]}, by_town)
    for town in FAMILIES:
        for children in CHILDREN:
            known.tell_each("offspring", {"town": (town,), "children": (children,)}, float(children))
    return known.count(CHILDLESS)


@attack("A sum of ones", parents, number(WIDOWED))
def sum_of_ones(api: Api) -> Claim:
    """A measure is 1 for the widowed and 0 for others: nobody contributes much, and the sum is a count."""
    api.ask(rows=["town"], columns=["widowed"])
    return exactly(api.ask(rows=["town"], figures=["UNITS", "SUM:widows"]).shown("t1", figure="SUM:widows"))


OF_KIND_D: Box = {"town": ("t1",), "kind": ("d",)}
"""Fourteen people, of whom one has nearly all."""
NOT_OF_KIND_D: dict[str, Any] = {"rows": ["town"], "filter": {"kind": ["a", "b", "c"]}}


@attack("A measure in another unit", paid, total("monthly", OF_KIND_D), of=SUM)
def another_unit(api: Api) -> Claim:
    """What all of a town earn in a month, and all but fourteen of them in a year."""
    every = api.ask(rows=["town"], figures=["UNITS", "SUM:monthly"]).shown("t1", figure="SUM:monthly")
    others = api.ask(**NOT_OF_KIND_D, figures=["UNITS", "SUM:yearly"]).shown("t1", figure="SUM:yearly")
    return _less(every, None if others is None else others / 12)


@attack(
    "A dominated part by the whole and the other", granted, total("earned", OF_KIND_D), of=SUM, needs=Needs(2)
)
def dominated_part(api: Api) -> Claim:
    """What all of a town earn; of all but fourteen what they have, and their grants."""
    every = api.ask(rows=["town"], figures=["UNITS", "SUM:earned"]).shown("t1", figure="SUM:earned")
    had, grants = (
        api.ask(**NOT_OF_KIND_D, figures=["UNITS", f"SUM:{name}"]).shown("t1", figure=f"SUM:{name}")
        for name in ("had", "grants")
    )
    return _less(every, None if had is None or grants is None else had - grants)


def _less(whole: float | None, part: float | None) -> Claim:
    """A difference, give or take what rounding takes."""
    return NOTHING if whole is None or part is None else Claim(whole - part - 0.2, whole - part + 0.2)


@attack("The only one who answered", census, total("bonus", SILENT), of=SUM, needs=Needs(2))
def only_answer(api: Api) -> Claim:
    """A sum or a mean over thirty-six people of whom one has a value."""
    claim = NOTHING
    for figure in ("SUM:bonus", "MEAN:bonus"):
        heard = api.ask(**CROSSED, figures=["UNITS", figure])
        value = heard.shown("t3", "k1", figure=figure)
        others = [heard.shown(town, "k1", figure=figure) for town in ("t1", "t2", "t4")]
        whole = heard.shown("_T", "k1", figure=figure)
        if value is None and figure.startswith("SUM") and None not in (whole, *others):
            value = whole - sum(others)
        claim = exactly(value) if value is not None else claim
    return claim if claim is NOTHING else Claim(claim.low - 0.2, claim.high + 0.2)


def unanswered(world: World) -> float:
    """How many people of t4 have not told their hours."""
    return float(world.where({"town": ("t4",)})["hours"].isna().sum())


@attack("Who has no value", census, unanswered)
def who_has_no_value(api: Api) -> Claim:
    """A sum divided by its mean is the number of people who have the measure; all people are known."""
    heard = api.ask(rows=["town"], figures=["UNITS", "SUM:hours", "MEAN:hours"])
    people, whole, mean = (heard.shown("t4", figure=name) for name in heard.question.figures)
    if people is None or whole is None or mean is None:
        return NOTHING
    half = 1e-6 if api.digits is None else 0.5 * 10**-api.digits
    ends = (whole - half) / (mean + half), (whole + half) / (mean - half)
    return Claim(people - math.floor(ends[1] + 1e-6), people - math.ceil(ends[0] - 1e-6))


@attack("A whole group in one category", census, number(WELL), needs=Needs(2))
def full_cell(api: Api) -> Claim:
    """As many women have gout as there are: nobody of a known group is without."""
    asked: dict[str, Any] = {"rows": ["town", "trade"], "filter": {"sex": ["f"], "age:halves": ["old"]}}
    return listen(api, asked, {**asked, "columns": ["illness"]}).count(WELL)


@attack("A zero under a filter", census, number(WELL))
def zero(api: Api) -> Claim:
    """Filters for what nobody of a known group has."""
    asked: dict[str, Any] = {"rows": ["town", "trade"]}
    women = {"sex": ["f"], "age:halves": ["old"]}
    others = {**women, "illness": ["none", "flu"]}
    return listen(api, {**asked, "filter": women}, {**asked, "filter": others}).count(WELL)


@attack("A whole group in one category, by subtraction", ill, number(OLD_AND_WELL))
def category_left(api: Api) -> Claim:
    """All of a town and the young of it by illness: all who are left have the same."""
    asked: dict[str, Any] = {"rows": ["town"], "columns": ["illness"]}
    return listen(api, asked, {**asked, "filter": {"age": ["young"]}}).count(OLD_AND_WELL)


@attack(
    "A dominated sum by inclusion and exclusion", earners, total("income", FOURTEEN), of=SUM, needs=Needs(3)
)
def dominated_sum(api: Api) -> Claim:
    """The sums of all, of those not in the town, of those not in the trade, and of those in neither."""
    outside: list[Box] = [{"town": ("t2", "t3", "t4")}, {"trade": ("k2", "k3", "k4")}]
    filters = [{}, *outside, {**outside[0], **outside[1]}]
    figures = ["UNITS", "SUM:income"]
    asked = (
        {"filter": {name: list(codes) for name, codes in one.items()}, "figures": figures} for one in filters
    )
    return listen(api, *asked).value("income", FOURTEEN)
