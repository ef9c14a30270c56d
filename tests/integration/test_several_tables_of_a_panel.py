"""What several tables of a panel tell together, of people and of their records, by years and in all of them.

There are as many people in all years as in any one, one record of each in a year, and somebody in every
withheld cell. The intruder knows in how many ways people can be in years and asks a linear program.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from house import House, build, cells, people_descriptor, table_request, verdict, with_randhie
from sdcgate.cli.ledger_audit import describe
from sdcgate.facility import joint_audit
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.policy.loading import parse_policy
from sdcgate_proto.sdcgate.types.v1 import table_pb2

POLICY = parse_policy("""
name: panel
version: "1"
description: Three people and more
defaults:
  rules:
    minimum_units: {units: 3, consequence: protect}
  dimensions: {maximum: 3, maximum_filters: 3, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 30000, unproved: refer}
  output: {digits: 1, maximum_cells: 100000}
  differencing: {consequence: refuse}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
""")
WIDTH = 3
TOLD_BY_BOTH = (17, 19, 22, 36, 44, 45, 47)
"""People and tables of which records and units, looked at apart, told something."""
SEXES, REGIONS, WAVES = ("f", "m"), ("north", "south", "west"), ("w1", "w2")
WAVE_LEVELS = [{"codes": [{"code": code} for code in WAVES]}]
PATTERNS = ((0,), (1,), (0, 1))
KINDS = [*product(range(len(SEXES)), range(len(REGIONS)), range(len(PATTERNS)))]
Cell = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""Sexes, regions and waves."""


def registered(folder: Path, people: np.ndarray) -> House:
    """A house with a panel: how many people there are of each of `KINDS`."""
    rows, person = ["id,sex,region,wave"], 0
    for (sex, region, pattern), many in zip(KINDS, people, strict=True):
        for _ in range(many):
            rows += [f"p{person},{SEXES[sex]},{REGIONS[region]},{WAVES[one]}" for one in PATTERNS[pattern]]
            person += 1
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    house = build(folder, policies={"panel": POLICY}, policy="panel")
    wave = {
        "name": "wave",
        "identifying": "NO",
        "varies_within_unit": True,
        "levels": WAVE_LEVELS,
    }
    unit = {"column": "id", "label": "person"}
    described = people_descriptor(
        {"sex": SEXES, "region": REGIONS}, [], [wave], unit=unit, panel=True, wave="wave"
    )
    house.engine.register(described)
    return house


def people_of(seed: int) -> np.ndarray:
    """Some ninety people at most, of some kinds many."""
    rng = np.random.default_rng(seed)
    of_each = [rng.dirichlet([1.0] * size) for size in (len(SEXES), len(REGIONS), len(PATTERNS))]
    shares = np.einsum("i,j,k->ijk", *of_each).reshape(-1)
    return rng.multinomial(int(rng.integers(20, 90)), shares)


@dataclass(frozen=True)
class Request:
    """Dimensions, filters and figures of a table."""

    dims: list[str]
    filters: dict[str, list[str]]
    figures: list[str]
    margins: bool


def requests(seed: int) -> Iterator[Request]:
    """Tables that somebody asks."""
    rng = np.random.default_rng(seed)
    codes = {"sex": SEXES, "region": REGIONS, "wave": WAVES}
    figures = [["UNITS"], ["RECORDS"], ["UNITS", "RECORDS"], ["UNITS", "RECORDS"]]
    while True:
        names = [str(name) for name in rng.permutation([*codes])]
        many = int(rng.choice([1, 1, 2, 2, 3]))
        filters = {
            name: [str(code) for code in rng.permutation(codes[name])[: rng.integers(1, len(codes[name]))]]
            for name in names[many:]
            if rng.random() < 0.35
        }
        yield Request(names[:many], filters, figures[int(rng.integers(4))], bool(rng.random() < 0.75))


def sums(cell: Cell, units: bool) -> np.ndarray:
    """How often people of each kind count in a cell."""
    row = np.zeros(len(KINDS))
    for place, (sex, region, pattern) in enumerate(KINDS):
        if SEXES[sex] in cell[0] and REGIONS[region] in cell[1]:
            records = sum(WAVES[one] in cell[2] for one in PATTERNS[pattern])
            row[place] = min(records, 1) if units else records
    return row


class Intruder:
    """Who writes down what answers say, in their order."""

    def __init__(self) -> None:
        self.shown: list[tuple[int, Cell, bool, float]] = []
        self.withheld: dict[tuple[Cell, bool], int] = {}

    def hears(self, turn: int, asked: Request, answer) -> None:
        table = answer.decision.table
        axes = [[dimension.codes[code] for code in dimension.cells] for dimension in table.dimensions]
        every = {"sex": SEXES, "region": REGIONS, "wave": WAVES}
        for place, codes in enumerate(zip(*axes, strict=True)):
            if "_U" in codes:
                continue
            said = {name: [code] for name, code in zip(asked.dims, codes, strict=True) if code != "_T"}
            cell = tuple(frozenset(said.get(name, asked.filters.get(name, every[name]))) for name in every)
            if table.statuses[place] == table_pb2.CELL_STATUS_WITHHELD:
                for units in (True, False):
                    self.withheld.setdefault((cell, units), turn)
                continue
            for name, figure in zip(asked.figures, table.figures, strict=True):
                self.shown.append((turn, cell, name == "UNITS", figure.values[place]))

    def distance(self, cell: Cell, units: bool, before: int) -> float:
        """How far apart two whole values of a cell can be, by what was said before a turn."""
        known = [(sums(one, of), value) for turn, one, of, value in self.shown if turn < before]
        marked = {one for (one, _), turn in self.withheld.items() if turn < before}
        more = {
            "A_eq": np.array([row for row, _ in known]) if known else None,
            "b_eq": [value for _, value in known] if known else None,
            "A_ub": -np.array([sums(one, True) for one in marked]) if marked else None,
            "b_ub": -np.ones(len(marked)) if marked else None,
        }
        ends = [linprog(sign * sums(cell, units), **more) for sign in (1, -1)]
        assert ends[0].status == 0
        if ends[1].status == 3:
            return np.inf
        return np.floor(-ends[1].fun + 1e-6) - np.ceil(ends[0].fun - 1e-6)

    def learnt(self) -> list[tuple[Cell, bool]]:
        """Withheld counts that are close, and were not before they were withheld."""
        return [
            (cell, units)
            for (cell, units), turn in self.withheld.items()
            if self.distance(cell, units, before=1_000) < WIDTH <= self.distance(cell, units, before=turn)
        ]


def asked(house: House, seed: int, many: int = 14) -> tuple[Intruder, list[str]]:
    """An intruder who has asked some tables, and the verdicts."""
    intruder, verdicts = Intruder(), []
    for turn, one in zip(range(many), requests(seed), strict=False):
        request = table_request("people", one.dims, figures=one.figures, margins=one.margins, **one.filters)
        answer = house.facility.query_table(house.researcher, request, Pace(60.0))
        verdicts.append(verdict(answer))
        if verdicts[-1].startswith("RELEASED"):
            intruder.hears(turn, one, answer)
    return intruder, verdicts


@pytest.mark.parametrize("seed", [*TOLD_BY_BOTH, *range(5)])
def test_no_withheld_count_of_people_or_records_is_told_by_both(tmp_path, seed):
    intruder, _ = asked(registered(tmp_path, people_of(seed)), seed)
    assert intruder.withheld
    assert intruder.learnt() == []


def test_most_tables_of_a_panel_leave(tmp_path):
    verdicts = []
    for seed in range(8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        verdicts += asked(registered(folder, people_of(seed)), seed)[1]
    assert sum(one.startswith("RELEASED") for one in verdicts) >= 0.85 * len(verdicts)


def test_who_has_a_place_in_as_many_records_as_waves_has_it_in_each(tmp_path):
    """Ten people have p1 in twenty records: with that withheld waves of p1 and p3 follow, and two of p2."""
    moves = [
        ("p1", "p1", 10),
        ("p2", "", 2),
        ("", "p2", 5),
        ("p3", "p3", 10),
        ("p3", "", 20),
        ("", "p3", 30),
        ("p3", "p2", 3),
    ]
    people = [where for *where, many in moves for _ in range(many)]
    rows = [
        f"i{person},{place},w{wave}"
        for person, places in enumerate(people)
        for wave, place in enumerate(places, start=1)
        if place
    ]
    (tmp_path / "people.csv").write_text("\n".join(["id,place,wave", *rows]) + "\n")
    house = build(tmp_path, policies={"panel": POLICY}, policy="panel")
    big = {"name": "big", "codes": [{"code": "x", "parts": ["p1", "p2"]}, {"code": "z", "parts": ["p3"]}]}
    levels = {
        "place": [{"name": "place", "codes": [{"code": code} for code in ("p1", "p2", "p3")]}, big],
        "wave": WAVE_LEVELS,
    }
    variables = [
        {"name": name, "identifying": "NO", "varies_within_unit": True, "levels": own}
        for name, own in levels.items()
    ]
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor({}, [], variables, unit=unit, panel=True, wave="wave"))
    answers = [
        house.ask(dataset="people", rows=["place:big"], columns=["wave"], figures=["RECORDS"]),
        house.ask(dataset="people", rows=["wave"], figures=["RECORDS"], place=["p1", "p3"]),
        house.ask(dataset="people", rows=["place"], figures=["RECORDS"]),
        house.ask(dataset="people", rows=["place"], figures=["UNITS"]),
    ]
    assert cells(answers[1])["w1",] == (None,)
    assert cells(answers[2])["p1",] == (20,)
    assert cells(answers[3]).get(("p1",), (None,)) == (None,)


def audited(house: House) -> str:
    """What the audit of the ledger says."""
    policies = Policies(house.ledger, {"panel": POLICY}, "panel")
    return describe(audit_source(house.ledger, house.engine, policies, "people", 20_000, 60.0))


def test_the_audit_of_the_ledger_finds_what_both_told_and_says_how(tmp_path, monkeypatch):
    house, seed = registered(tmp_path, people_of(TOLD_BY_BOTH[0])), TOLD_BY_BOTH[0]
    with monkeypatch.context() as without:
        without.setattr(joint_audit, "together", lambda *_: [])
        intruder, _ = asked(house, seed)
    learnt = intruder.learnt()
    assert learnt
    said = audited(house)
    assert said.count("REFUTED: ") >= len(learnt)
    arithmetic = [line for line in said.splitlines() if line.strip().startswith(("at least", "at most"))]
    assert any("(units of" in line and "(records of" in line for line in arithmetic)


@pytest.mark.parametrize("seed", TOLD_BY_BOTH[:4])
def test_of_what_left_the_audit_of_the_ledger_refutes_nothing(tmp_path, seed):
    house = registered(tmp_path, people_of(seed))
    asked(house, seed)
    said = audited(house)
    assert "counts of units published" in said
    assert "REFUTED" not in said


def test_a_year_of_a_table_that_left_is_protected_though_nearly_all_are_in_it(tmp_path):
    """Of each plan and site few people are missing in the third year, so one more cell hides very little."""
    house = with_randhie(tmp_path)
    by_both = {"rows": ["plan"], "columns": ["site"]}
    assert verdict(house.ask(**by_both)) == "RELEASED_PROTECTED"
    assert verdict(house.ask(rows=["female"], columns=["site"])) == "RELEASED"
    answer = house.ask(figures=["UNITS", "SUM:mdvis"], year=["3"], **by_both)
    assert verdict(answer) == "RELEASED_PROTECTED"
    told = cells(answer).values()
    assert sum(figures[0] is not None for figures in told) > len(told) / 2
