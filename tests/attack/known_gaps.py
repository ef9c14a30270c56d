"""Attacks that docs/limits.md says succeed: what the audit does not know, or does not put together yet."""

import random
from typing import Any

from attack.claims import NOTHING, Claim, attack
from attack.knowledge import COUNT
from attack.populations import HEALTH, SITES, flags, health_insurance, panel
from attack.publishers import Api
from attack.subtracting import informed, listen, number
from attack.world import World

POOR: dict[str, tuple[str, ...]] = {"town": ("t2",), "poor": ("yes",)}
SPENDERS: dict[str, tuple[str, ...]] = {"town": ("t2",), "good": ("yes",)}


@attack(
    "Variables that exclude each other",
    flags,
    number(POOR),
    open="that exactly one of several yes-or-no variables is yes is not known to the audit",
)
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


@attack(
    "Measures that add up",
    flags,
    drugs,
    tolerance=100.0,
    open="that some measures make up another one is not known to the audit",
)
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
)
def who_left(api: Api) -> Claim:
    """The people of two years less those of the second are those who left after the first."""
    heard = api.ask(rows=["clinic"], columns=["year"], filter={"year": ["y1", "y2"]})
    both, second = heard.shown("c3", "_T"), heard.shown("c3", "y2")
    return NOTHING if both is None or second is None else Claim(both - second, both - second)


def session(seed: int, tables: int) -> list[dict[str, Any]]:
    """Tables of site, sex and age in overlapping groups, half of them under a filter."""
    rng = random.Random(seed)
    shapes = [["site", "female"], ["site", "age"], ["female", "age"], ["site", "female", "age"]]
    shapes += [["age"], ["site"], ["female"]]
    codes = {"site": SITES, "female": ("0", "1")}
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


@attack(
    "Bounds from several tables",
    health_insurance,
    number({}),
    tolerance=9.0,
    open="what several tables together bound, and do not tell, is not audited",
)
def bounds(api: Api) -> Claim:
    """Overlapping tables need not tell a withheld count: it is enough to know it to within nine."""
    known = informed(api)
    heard = [known.hear(api.ask(**question)) for question in session(10, 14)]
    withheld = {repr(sorted(box.items())): box for one in heard for box in one.boxes(api.public, shown=False)}
    for one in heard:
        for box in one.boxes(api.public, shown=True):
            withheld.pop(repr(sorted(box.items())), None)
    return known.tightest(list(withheld.values()))
