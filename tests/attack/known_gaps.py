"""Attacks that docs/limits.md says succeed: what the audit does not know, or does not put together yet."""

from dataclasses import replace

import pandas as pd

from attack.claims import NOTHING, SUM, Claim, attack
from attack.hearing import Needs
from attack.knowledge import COUNT, Knowledge
from attack.populations import HEALTH, HIDDEN, flags, panel, small_towns
from attack.publishers import Api, Heard
from attack.subtracting import informed, listen, number
from attack.world import World

POOR: dict[str, tuple[str, ...]] = {"town": ("t2",), "poor": ("yes",)}
SPENDERS: dict[str, tuple[str, ...]] = {"town": ("t2",), "good": ("yes",)}


@attack("Variables that exclude each other", flags, number(POOR), needs=Needs(2))
def exclusive(api: Api) -> Claim:
    """Poor health is what good and fair leave; each is asked for in a table of its own."""
    asked = ({"rows": ["town"], "filter": {name: ["yes"]}} for name in ("good", "fair"))
    neither = {"rows": ["town"], "filter": {"good": ["no"], "fair": ["no"], "poor": ["no"]}}
    known = listen(api, {"rows": ["town"]}, *asked, neither)
    for one in HEALTH:
        for other in HEALTH:
            if one < other:
                known.tell_box(COUNT, {one: ("yes",), other: ("yes",)}, 0)
    known.tell_box(COUNT, dict.fromkeys(HEALTH, ("no",)), 0)
    return known.count(POOR)


def drugs(world: World) -> float:
    """What the people of t2 in good health spend on drugs."""
    return float(world.where(SPENDERS)["drugs"].sum())


@attack("Measures that add up", flags, drugs, of=SUM, needs=Needs(2))
def adding_up(api: Api) -> Claim:
    """Expenses less visits are drugs, of which one person has nearly all."""
    tables = {
        name: api.ask(rows=["town"], columns=["good"], figures=["UNITS", f"SUM:{name}"])
        for name in ("expenses", "visits", "drugs")
    }
    whole, part, _ = (heard.shown("t2", "yes", figure=f"SUM:{name}") for name, heard in tables.items())
    return NOTHING if whole is None or part is None else Claim(whole - part - 0.1, whole - part + 0.1)


def leavers(world: World) -> float:
    """How many people of the third clinic were there in the first year only."""
    years = world.where({"clinic": ("c3",)}).groupby("id")["year"].agg(set)
    return float(sum(one == {"y1"} for one in years))


@attack(
    "Who left a panel",
    panel,
    leavers,
    open="units of nested boxes can be subtracted: who has a record in one year and none in the others",
    closed_by="attrition: hidden",
)
def who_left(api: Api) -> Claim:
    """The people of two years less those of the second are those who left after the first."""
    heard = api.ask(rows=["clinic"], columns=["year"], filter={"year": ["y1", "y2"]})
    both, second = heard.shown("c3", "_T"), heard.shown("c3", "y2")
    return NOTHING if both is None or second is None else Claim(both - second, both - second)


@attack(
    "Replaying how cells were chosen",
    small_towns,
    number(HIDDEN),
    open="which cells are withheld beside the unsafe ones depends on withheld figures",
    not_acro="it withholds no cells beside the unsafe ones",
    needs=Needs(2),
)
def replaying(api: Api) -> Claim:
    """Asks a house of his own about every table that agrees with the answer; it must answer alike."""
    asked = {"rows": ["town"], "columns": ["trade"]}
    known = informed(api)
    heard = known.hear(api.ask(**asked))
    bounds = known.count(HIDDEN)
    kept = []
    for guess in range(int(bounds.low), int(min(bounds.high, 50)) + 1):
        people = agreeing(known, heard, guess)
        if people is None:
            return NOTHING
        if api.laboratory(people).ask(**asked).cells == heard.cells:
            kept.append(float(guess))
    return Claim(min(kept), max(kept)) if kept else NOTHING


def agreeing(known: Knowledge, heard: Heard, guess: int) -> World | None:
    """The one population that agrees with an answer and a guess at a cell; None where there are several."""
    fixed = Knowledge(known.world, known.digits, [*known.rows])
    fixed.tell_box(COUNT, HIDDEN, guess)
    rows = []
    for codes in heard.cells:
        if not {"_T", "_U"} & set(codes):
            found = fixed.count(heard.box(known.world, codes))
            if found.width:
                return None
            rows += [codes] * int(found.low)
    made = pd.DataFrame(rows, columns=["town", "trade"])
    return replace(known.world, records=made.assign(id=[f"p{number}" for number in range(len(made))]))
