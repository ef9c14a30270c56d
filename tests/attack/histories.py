"""Attacks over time, names, people and replicas: what one has heard is put together with what another has."""

from functools import partial
from typing import Any

from attack.claims import NOTHING, SUM, Claim, attack, exactly
from attack.hearing import Needs
from attack.populations import census, one_more
from attack.publishers import Api
from attack.subtracting import CROSSED, FEW, OTHERS, informed, number

NEWCOMER = 3210.57
CHANGED = partial(one_more, id="newcomer", town="t1", trade="k1", branch="b1", income=NEWCOMER)


def difference(one: float | None, other: float | None, within: float) -> Claim:
    """Of two figures that are both shown."""
    return NOTHING if one is None or other is None else Claim(one - other - within, one - other + within)


@attack("One person more in a new version", census, lambda _: NEWCOMER, later=CHANGED, of=SUM, needs=Needs(2))
def new_version(api: Api) -> Claim:
    """The same sum before and after one person has joined is his income."""
    asked: dict[str, Any] = {"rows": ["town"], "figures": ["UNITS", "SUM:income"]}
    before = api.ask(**asked)
    after = api.ask(**asked, dataset=api.change())
    return difference(
        after.shown("t1", figure="SUM:income"), before.shown("t1", figure="SUM:income"), within=0.1
    )


def by_both_names(api: Api, again: str | None) -> Claim:
    """Everybody by the old name, the complement by the new one."""
    if again is None:
        return NOTHING
    known = informed(api)
    known.hear(api.ask(rows=["town"]))
    known.hear(api.ask(rows=["town"], filter={"trade": OTHERS}, dataset=again))
    known.hear(api.ask(**CROSSED, dataset=again))
    return known.count(FEW)


@attack("The same people under another name", census, number(FEW))
def renamed(api: Api) -> Claim:
    """A steward registers the file again: everybody by the old name, the complement by the new one."""
    return by_both_names(api, api.rename())


@attack("The same people as another source", census, number(FEW))
def another_source(api: Api) -> Claim:
    """The same where the steward errs and declares the file to be about other people."""
    api.ask(rows=["town"])
    return by_both_names(api, api.rename(declared=False))


@attack("Two researchers together", census, number(FEW), needs=Needs(2))
def two_researchers(api: Api) -> Claim:
    """One asks for the totals, the other for the complement, and they put their tables side by side."""
    known = informed(api)
    known.hear(api.ask(rows=["town"], who="ada"))
    known.hear(api.ask(rows=["town"], filter={"trade": OTHERS}, who="bob"))
    known.hear(api.ask(**CROSSED, who="bob"))
    return known.count(FEW)


@attack("Two projects of one researcher", census, number(FEW))
def two_projects(api: Api) -> Claim:
    """The halves of a differencing pair are asked for in two projects."""
    known = informed(api)
    for project, trades in (("alpha", ["k1", "k3", "k4"]), ("beta", ["k1", "k4"])):
        known.hear(api.ask(rows=["sex"], filter={"town": ["t2"], "trade": trades}, project=project))
    return known.count(FEW)


@attack("A race of two requests", census, number(FEW), needs=Needs(4))
def race(api: Api) -> Claim:
    """Both halves of a pair at the same instant, each to another replica, eight times over."""
    found = []
    for turn in range(8):
        fresh = api.anew()
        known = informed(api)
        rows = ["sex", "illness", "age:halves", "stage"][turn % 4]
        pair = (
            {"rows": [rows], "filter": {"town": ["t2"], "trade": trades}}
            for trades in (["k1", "k3", "k4"], ["k1", "k4"])
        )
        for heard in fresh.at_once(*pair):
            known.hear(heard)
        api.requests += fresh.requests
        found.append(known.count(FEW))
    return min(found, key=lambda claim: claim.width)


@attack(
    "Alternatives of refused tables",
    census,
    number({**FEW, "sex": ("f",)}),
    not_acro="it proposes nothing",
    needs=Needs(4),
)
def alternatives(api: Api) -> Claim:
    """Follows every proposal for another table, of refused tables and of those with withheld cells."""
    known = informed(api)
    asked: list[dict[str, Any]] = [
        {"rows": ["town", "trade"], "columns": ["sex"], "layers": ["illness"]},
        {"rows": ["town", "trade"], "columns": ["sex"]},
        {"rows": ["town", "trade"], "columns": ["sex"], "filter": {"age:halves": ["old"]}},
        {"rows": ["town", "trade"], "columns": ["sex"], "filter": {"age:halves": ["young"]}},
    ]
    for question in asked:
        heard = known.hear(api.ask(**question))
        for proposed in heard.content.get("alternatives", ()):
            dimensions = {
                name: [_named(one) for one in proposed[name]] for name in ("rows", "columns", "layers")
            }
            known.hear(api.ask(**dimensions, filter=question.get("filter")))
    return known.count({**FEW, "sex": ("f",)})


def _named(dimension: dict[str, str]) -> str:
    variable, level = dimension["variable"], dimension.get("level", "")
    return variable if level in ("", variable) else f"{variable}:{level}"


@attack(
    "Guesses handed in as outputs",
    census,
    number(FEW),
    not_acro="it takes no outputs for a comparison",
    needs=Needs(1),
)
def guesses(api: Api) -> Claim:
    """Hands in the withheld cell with each number that it could be: the right one may be treated apart."""
    said: dict[str, list[int]] = {}
    question = api.ask(**CROSSED).question
    for guess in range(1, 10):
        heard = api.submit(question, {("t2", "k3"): float(guess)})
        alike = repr((heard.verdict, heard.status, heard.codes, heard.cells))
        said.setdefault(alike, []).append(guess)
    alone = [found[0] for found in said.values() if len(found) == 1]
    return exactly(float(alone[0])) if len(said) == 2 and len(alone) == 1 else NOTHING


@attack(
    "Another door to the same query",
    census,
    number(FEW),
    not_acro="there is one session and no roles",
    needs=Needs(errors=(200, 400, 403, 404)),
)
def other_doors(api: Api) -> Claim:
    """As a colleague, by the checker's view, by approving it himself, by assessing the file."""
    asked = api.ask(**CROSSED)
    return next((exactly(got) for heard in api.peek(asked) if (got := heard.shown("t2", "k3"))), NOTHING)
