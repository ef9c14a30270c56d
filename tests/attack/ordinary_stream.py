"""What caution costs: a stream of ordinary requests, and which of them were held although they were safe."""

import itertools
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels
from scipy.stats import binomtest

from attack.exact_audit import Atoms, Group, History
from attack.publishers import Heard, Question
from attack.served import Sdcgate
from attack.world import Variable, World
from ordinary_queries import ordinary_queries
from served_house import ServedHouse

PART = 100
AUDITING = 0.4
"""Share of the time that audits may take; where they take longer some requests are not audited."""
POLICY_REASONS = {"MINIMUM_BASE", "MAXIMUM_DIMENSIONS", "MAXIMUM_FILTERS", "MAXIMUM_CELLS", "NOT_ALLOWED"}
"""Reasons that a rule about the whole request gives, whatever was asked before."""
EDGES = (0, 10, 18, 20, 30, 40, 50, 60, 65)


def surveyed() -> World:
    """The fourth year of the RAND Health Insurance Experiment by site, sex, age, coinsurance and health."""
    file = Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv"
    rand = pd.read_csv(file).query("year == 4").reset_index(drop=True)
    groups = tuple(f"{low}-{high - 1}" for low, high in itertools.pairwise(EDGES))
    health = np.select(
        [rand.hlthg == 1, rand.hlthf == 1, rand.hlthp == 1], ["good", "fair", "poor"], "excellent"
    )
    made = pd.DataFrame(
        {
            "site": "s" + rand.site.astype(int).astype(str),
            "sex": np.where(rand.female == 1, "f", "m"),
            "age": pd.cut(rand.xage, EDGES, right=False, labels=groups).astype(str),
            "coins": "c" + rand.coins.astype(int).astype(str),
            "health": health,
            "id": rand.zper.astype(str),
        }
    )
    variables = (
        Variable("site", tuple(f"s{site}" for site in range(1, 7))),
        Variable("sex", ("f", "m")),
        Variable(
            "age", groups, {"broad": {"child": groups[:2], "younger": groups[2:5], "older": groups[5:]}}
        ),
        Variable("coins", ("c0", "c25", "c50", "c95", "c100")),
        Variable("health", ("excellent", "good", "fair", "poor")),
    )
    return World(made, variables)


def question_of(body: dict[str, Any]) -> Question:
    """A query of the stream as ours, counts in place of its figures where it is no percentage."""

    def named(item: dict[str, str]) -> str:
        level = item.get("level", "")
        return item["variable"] if level in ("", item["variable"]) else f"{item['variable']}:{level}"

    dimensions = {part: tuple(map(named, body[part])) for part in ("rows", "columns", "layers")}
    figures = tuple(figure["statistic"] for figure in body["figures"] if not figure.get("measure"))
    conditions = {named(condition): tuple(condition["codes"]) for condition in body["filter"]}
    return Question(**dimensions, figures=figures, margins=body["margins"], filter=conditions)


class Stream:
    """Asks one request after the other, and audits by itself those that were not answered as asked."""

    def __init__(self, house: ServedHouse) -> None:
        self._api = Sdcgate(surveyed(), house, "ordinary")
        self._described = house.send("GET", "/v1/datasets/ordinary").json()
        self.history = History(Atoms(surveyed()))
        self._began, self._auditing = time.monotonic(), 0.0
        self.verdicts: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self.shares: list[tuple[int, int]] = []
        """Cells that were shown, and that were asked for."""
        self.audited = self.suspects = 0
        self.false: list[dict[str, Any]] = []

    def run(self, count: int, seconds: float) -> None:
        """Asks so many requests, or as many as the time allows."""
        until = time.monotonic() + seconds
        described = self._described.get("dataset", self._described)
        for body in itertools.islice(ordinary_queries(described, seed=4), count):
            if time.monotonic() > until:
                break
            question = question_of(body)
            asked = {name: getattr(question, name) for name in ("rows", "columns", "layers", "figures")}
            heard = self._api.ask(**asked, margins=question.margins, filter=question.filter)
            self._note(heard)

    def _note(self, heard: Heard) -> None:
        cells = self.history.atoms.requested(heard.question)
        # Totals count as known, whether they were asked for or not.
        with_totals = self.history.atoms.requested(replace(heard.question, margins=True))
        world = self.history.atoms.world
        shown = [self.history.atoms.group(box) for box in heard.boxes(world, shown=True)]
        seen = {group.tobytes() for group in shown}
        self.verdicts[heard.verdict] += 1
        self.shares.append((sum(group.tobytes() in seen for group in cells), len(cells)))
        held = [group for group in cells if group.tobytes() not in seen and not self.history.few(group)]
        codes = {reason["code"] for reason in heard.content.get("reasons", ())}
        if held and not codes & POLICY_REASONS:
            self.suspects += 1
            if self._auditing <= AUDITING * (time.monotonic() - self._began):
                began = time.monotonic()
                self._audit(heard, cells, len(held), sorted(codes))
                self._auditing += time.monotonic() - began
        self.history.add(with_totals, shown)

    def _audit(self, heard: Heard, cells: list[Group], held: int, codes: list[str]) -> None:
        self.audited += 1
        if self.history.may_leave(cells):
            question = heard.question
            self.held[f"{heard.verdict} {' '.join(codes)}"] += 1
            self.false.append(
                {
                    "verdict": heard.verdict,
                    "reasons": codes,
                    "asked": [*question.dimensions, *(f"{n}={list(c)}" for n, c in question.filter.items())],
                    "safe_cells_held": held,
                    "cells": len(cells),
                }
            )


def measured(house: ServedHouse, count: int, seconds: float) -> dict[str, Any]:
    """Verdicts, how many of the held requests were safe, and which share of the cells was shown."""
    stream = Stream(house)
    stream.run(count, seconds)
    asked = len(stream.shares)
    held = stream.suspects / max(asked, 1)
    falsely = len(stream.false) / max(stream.audited, 1)
    within = binomtest(len(stream.false), max(stream.audited, 1)).proportion_ci(0.95)

    def share(part: list[tuple[int, int]]) -> float:
        return round(sum(shown for shown, _ in part) / max(sum(asked for _, asked in part), 1), 4)

    return {
        "requests": asked,
        "verdicts": dict(stream.verdicts),
        "not_answered_as_asked": stream.suspects,
        "of_these_audited": stream.audited,
        "of_these_safe": len(stream.false),
        "estimated_false_share_of_requests": round(falsely * held, 4),
        "false_share_within": [round(end * held, 4) for end in (within.low, within.high)],
        "false_by_verdict": dict(stream.held),
        "share_of_cells_shown_first": share(stream.shares[:PART]),
        "share_of_cells_shown_last": share(stream.shares[-PART:]),
        "examples": stream.false[:12],
    }
