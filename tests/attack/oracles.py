"""Attacks that listen to everything but the figures: errors, reasons, refusals, digests, noise, marks."""

import hashlib
import json
import re
from functools import partial
from typing import Any

import numpy as np

from attack.claims import NOTHING, PRESENCE, Claim, attack, exactly
from attack.hearing import Needs
from attack.knowledge import COUNT, Contradiction, Knowledge, Row
from attack.populations import HIDDEN, TOWNS, census, small_towns
from attack.publishers import Api, Careless, Heard
from attack.subtracting import CROSSED, FEW, RARE, SCARCE, informed, number
from attack.world import Box


def present(box: Box):
    """1 if there is somebody, else 0."""
    return lambda world: float(len(world.where(box)) > 0)


@attack("Category names in error texts", census, present(RARE), of=PRESENCE, needs=Needs(errors=(400,)))
def error_texts(api: Api) -> Claim:
    """Misspelt codes: what is said of one that four people have, and of one that nobody has."""
    api.ask(rows=["town"])

    def told(code: str, misspelt: str) -> str:
        text = api.ask(rows=["town"], filter={"trade": [misspelt]}).visible()
        return text.replace(misspelt, "?").replace(code, "?")

    few, none = (
        [told(code, misspelt) for misspelt in (code + code[1], code.upper())] for code in ("k9", "k5")
    )
    unknown = told("?", "k77")
    return exactly(1.0) if few != none or ("k9" in unknown) != ("k5" in unknown) else NOTHING


@attack("Empty or nearly empty", census, present(RARE), of=PRESENCE)
def nearly_empty(api: Api) -> Claim:
    """The answers to a filter that four people meet and to one that nobody meets are compared."""
    api.ask(rows=["sex"])
    filters = ({"trade": ["k9"]}, {"trade": ["k5"]})
    few, none = (api.ask(rows=["sex"], filter=one).visible().replace("k9", "k5") for one in filters)
    return exactly(1.0) if few != none else NOTHING


@attack("Reasons that count", census, number(RARE))
def reasons_that_count(api: Api) -> Claim:
    """A refusal for too few people, with a known number of others among them."""
    padded = api.ask(rows=["sex"], filter={"town": ["t1"], "trade": ["k1", "k9"]})
    known = api.ask(rows=["town"], filter={"trade": ["k1"]}).shown("t1")
    told = [float(found) for found in re.findall(r"\b\d+\b", " ".join(padded.reasons))]
    within = [value - known for value in told if known is not None and 0 < value - known < 10]
    return exactly(within[0]) if within else NOTHING


@attack("Digests of the withheld table", small_towns, number(HIDDEN))
def digests(api: Api) -> Claim:
    """Every table that agrees with the answer, hashed, is looked for in headers, ids and certificates."""
    heard = api.ask(**CROSSED)
    held = "\n".join([heard.text, *map(str, heard.headers.values())])
    known = informed(api)
    known.hear(heard)
    for guess in range(1, 10):
        filled = _filled(heard, known, guess)
        if filled and any(
            hashlib.sha256(text.encode()).hexdigest() in held for text in _spelt(heard, filled)
        ):
            return exactly(float(guess))
    return NOTHING


def _filled(heard: Heard, known: Knowledge, guess: int) -> list[dict[str, float]]:
    """The whole table if the cell were the guess and all else that is withheld follows; else nothing."""
    other = Knowledge(known.world, known.digits, [*known.rows, Row(((1.0, COUNT, HIDDEN),), guess, guess)])
    filled = []
    for codes, figures in heard.cells.items():
        value = figures["UNITS"]
        if value is None:
            try:
                found = other.count(heard.box(known.world, codes))
            except Contradiction:
                return []
            if found.width:
                return []
            value = found.low
        filled.append({"RECORDS": value, "UNITS": value})
    return filled


def _spelt(heard: Heard, filled: list[dict[str, float]]) -> list[str]:
    units = [figures["UNITS"] for figures in filled]
    table = heard.content.get("table", {})
    whole = {**table, "columns": {**table.get("columns", {}), "units": units}}
    decision = {**heard.content, "table": whole}
    texts = [repr(filled), repr(units), json.dumps(units), json.dumps(list(map(int, units)))]
    for content in (whole, decision):
        texts += [json.dumps(content), json.dumps(content, separators=(",", ":"), sort_keys=True)]
    return texts


@attack("Averaging fresh noise", census, number(FEW), careless=partial(Careless, noise=0.3), needs=Needs(18))
def averaging(api: Api) -> Claim:
    """The same cell again and again, in other orders and under filters that mean the same, and their mean."""
    orders: list[dict[str, Any]] = [
        CROSSED,
        {"rows": ["trade"], "columns": ["town"]},
        {"rows": ["town", "trade"]},
    ]
    filters: list[dict[str, Any]] = [{}, {"sex": ["f", "m"]}, {"town": list(TOWNS)}]
    found = []
    for _ in range(2):
        for order in orders:
            for condition in filters:
                heard = api.ask(**order, filter=condition)
                codes = ("k3", "t2") if order is orders[1] else ("t2", "k3")
                found.append(heard.shown(*codes))
    drawn = [value for value in found if value is not None]
    if len(set(drawn)) < 2:
        # Never shown, or always the same: that is no noise that averages out.
        return exactly(drawn[0]) if drawn and api.digits is None and len(drawn) == len(found) else NOTHING
    if len(drawn) < len(found):
        return NOTHING
    mean, error = float(np.mean(drawn)), float(np.std(drawn)) / len(drawn) ** 0.5
    return exactly(float(round(mean))) if 2 * error < 0.5 else NOTHING


@attack(
    "Refusals as inequalities",
    census,
    number({**SCARCE, "town": ("t1",)}),
    narrowest=8.0,
    exception="a refusal of a difference says that it has one to nine people, and no more is to be found",
    needs=Needs(4),
)
def refusals(api: Api) -> Claim:
    """A refusal of a difference says that it has one to nine people; all together may leave one number."""
    known = informed(api)
    for towns in ([town] for town in TOWNS):
        for stages in (["s1", "s2", "s3"], ["s1", "s3"]):
            heard = known.hear(api.ask(rows=["sex"], filter={"town": towns, "stage": stages}))
            if heard.verdict == "REFUSED" and "DIFFERENCING" in "".join(heard.reasons):
                few = Row(((1.0, COUNT, {**SCARCE, "town": tuple(towns)}),), 1.0, 9.0)
                known.rows.append(few)
    known.hear(api.ask(rows=["stage"]))
    known.hear(api.ask(rows=["town"], columns=["stage"]))
    return known.count({**SCARCE, "town": ("t1",)})


@attack(
    "Presence by a mark",
    census,
    present({"town": ("t1",), **RARE}),
    open="a withheld cell is not empty where zeros are published, and a mark says so",
    closed_by="presence: hidden",
    of=PRESENCE,
)
def presence(api: Api) -> Claim:
    """A withheld cell among published zeros is not empty."""
    heard = api.ask(rows=["town"], columns=["trade"])
    zeros = [heard.shown(town, "k9") == 0 for town in TOWNS[1:]]
    held = ("t1", "k9") in heard.cells and heard.shown("t1", "k9") is None
    return exactly(1.0) if held and any(zeros) else NOTHING
