"""Attacks by sums of what everybody knows of everybody: weights, and measures that are variables."""

from attack.claims import SUM, Claim, attack
from attack.hearing import Needs
from attack.knowledge import WEIGHT
from attack.magnitudes import total
from attack.populations import WEEKS, admitted, drawn, drawn_and_paid, drawn_in_four
from attack.publishers import Api
from attack.subtracting import listen, number
from attack.world import Box

OF_TRADE: Box = {"town": ("t1",), "trade": ("k3",)}
"""Five people."""
THIRD_WEEK: Box = {"ward": ("east",), "week": ("3",)}
"""Six people."""


def weighed(api: Api, towns: tuple[str, ...], trades: tuple[str, ...]) -> Claim:
    """How many of each trade there are, with weights and without; what a person of a town weighs is known."""
    counts = {"figures": ["UNITS", "WEIGHTED_UNITS"]}
    known = listen(api, {"rows": ["town"], "columns": ["trade"]}, {"rows": ["trade"], **counts})
    by_town = known.hear(api.ask(rows=["town"], **counts))
    for town in towns:
        people, weight = by_town.shown(town), by_town.shown(town, figure="WEIGHTED_UNITS")
        if people is not None and weight is not None:
            for trade in trades:
                known.tell_each(WEIGHT, {"town": (town,), "trade": (trade,)}, weight / people, 0.05 / people)
    return known.count(OF_TRADE)


@attack("Weights of towns against counts", drawn, number(OF_TRADE), needs=Needs(3))
def weights_of_towns(api: Api) -> Claim:
    """The towns of a trade are two equations of the same counts: with weights and without."""
    return weighed(api, ("t1", "t2", "t3"), ("k1", "k2", "k3"))


@attack("Weights of four towns against counts", drawn_in_four, number(OF_TRADE), needs=Needs(3))
def weights_of_four_towns(api: Api) -> Claim:
    """Three counts are withheld, and two equations leave a single solution in whole numbers."""
    return weighed(api, ("t1", "t2", "t3", "t4"), ("k1", "k2", "k3", "k4"))


@attack(
    "Weighted sums of towns",
    drawn_and_paid,
    total("pay", OF_TRADE),
    of=SUM,
    needs=Needs(4),
    not_acro="it has no weighted sums",
)
def weighted_sums(api: Api) -> Claim:
    """What a trade earns, with weights and without, are two equations of what its towns do."""
    sums = {"figures": ["SUM:pay", "WEIGHTED_SUM:pay"]}
    by_both = {"rows": ["town"], "columns": ["trade"]}
    known = listen(api, by_both, {**by_both, "figures": ["SUM:pay"]})
    by_trade = known.hear(api.ask(rows=["trade"], **sums))
    by_town = api.ask(rows=["town"], figures=["UNITS", "WEIGHTED_UNITS"])
    each = {}
    for town in ("t1", "t2", "t3"):
        people, weight = by_town.shown(town), by_town.shown(town, figure="WEIGHTED_UNITS")
        if people is None or weight is None:
            return known.value("pay", OF_TRADE)
        each[town] = weight / people, 0.05 / people
    off = max(rounding for _, rounding in each.values())
    for trade in ("k1", "k2", "k3"):
        paid, weighted = (
            by_trade.shown(trade, figure="SUM:pay"),
            by_trade.shown(trade, figure="WEIGHTED_SUM:pay"),
        )
        if paid is not None and weighted is not None:
            parts = [(weight, {"town": (town,), "trade": (trade,)}) for town, (weight, _) in each.items()]
            known.tell_parts("pay", parts, weighted, 0.05 + off * paid)
    return known.value("pay", OF_TRADE)


@attack("A week that is a measure as well", admitted, number(THIRD_WEEK), needs=Needs(2))
def mean_weeks(api: Api) -> Claim:
    """Counts by ward and week, and the sum of weeks of each ward: two equations of the same counts."""
    by_ward = {"rows": ["ward"], "figures": ["UNITS", "SUM:since"]}
    known = listen(api, {"rows": ["ward"], "columns": ["week"]}, by_ward)
    for ward in ("east", "west", "north"):
        for week in WEEKS:
            known.tell_each("since", {"ward": (ward,), "week": (week,)}, float(week))
    return known.count(THIRD_WEEK)
