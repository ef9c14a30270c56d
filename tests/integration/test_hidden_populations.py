"""The rule on the size of a filter's population must not count people whose number is withheld.

Who knows how many follow a trade pads a filter with them: at how many does the answer change?
"""

import csv
from pathlib import Path

import pytest

from house import House, build, cells, reasons, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.policy.loading import BUNDLED, load_policies

TOWNS = [f"t{number}" for number in range(3)]
TRADES = [f"k{number}" for number in range(12)]
PADDINGS = [(), ("k2",), ("k3",), ("k8",), ("k10",), ("k11",), ("k2", "k3"), ("k4", "k9"), ("k5", "k6", "k7")]
"""12 to 48 people of t0 whose number is published, in steps."""


def installation(folder: Path, shift: int) -> House:
    """A house in which `shift` people of t0 follow trade k0 rather than k1, and of t1 k1 rather than k0.

    All figures that are shown are the same whatever the shift is.
    """
    counts = {
        (town, trade): 60 + 7 * t + 3 * k for t, town in enumerate(TOWNS) for k, trade in enumerate(TRADES)
    }
    counts |= {("t0", trade): k + 10 for k, trade in enumerate(TRADES)}
    counts |= {("t0", "k0"): 4 + shift, ("t0", "k1"): 30 - shift}
    counts |= {("t1", "k0"): 25 - shift, ("t1", "k1"): 28 + shift}
    folder.mkdir()
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["town", "trade"])
        writer.writerows(pair for pair, number in counts.items() for _ in range(number))
    house = build(folder)
    names = {"town": TOWNS, "trade": TRADES}
    declared = {
        "name": "people",
        "data": {"path": "people.csv"},
        "design": {"coverage": "SAMPLE", "population_size": 1_000_000},
        "variables": [
            {"name": name, "identifying": "NO", "levels": [{"codes": [{"code": code} for code in codes]}]}
            for name, codes in names.items()
        ],
    }
    house.engine.register(parse_descriptor(declared))
    return house


def test_padding_a_filter_finds_no_number_at_which_the_answer_changes(tmp_path):
    told = []
    for shift in (0, 1, 5):
        house = installation(tmp_path / str(shift), shift)
        table = house.ask(dataset="people", rows=["town"], columns=["trade"])
        session = [cells(table)]
        for trade in ("k0", "k1"):
            for padding in PADDINGS:
                answered = house.ask(dataset="people", town=["t0"], trade=[trade, *padding])
                session.append((trade, padding, verdict(answered), reasons(answered), cells(answered)))
        told.append(session)
    assert None in {figure for (figure,) in told[0][0].values()}
    for other in told[1:]:
        assert other == told[0]


def test_an_output_checker_sees_that_it_is_for_the_total(tmp_path):
    house = installation(tmp_path / "house", 0)
    house.ask(dataset="people", rows=["town"], columns=["trade"])
    refused = house.ask(dataset="people", rows=["town"], town=["t0"], trade=["k1", "k11"])
    seen = house.facility.get_query(house.checker, refused.decision.query).checker
    assert [[*finding.cells] for finding in seen.findings] == [[len(seen.facts.units) - 1]]


def test_a_population_whose_size_is_known_is_judged_by_it(tmp_path):
    house = installation(tmp_path / "house", 0)
    house.ask(dataset="people", rows=["town"], columns=["trade"])
    small = house.ask(dataset="people", town=["t0"], trade=["k2", "k3"])
    assert (verdict(small), reasons(small)) == ("REFUSED", ["MINIMUM_BASE"])
    large = house.ask(dataset="people", rows=["trade"], town=["t2"], trade=["k2", "k3"])
    assert (verdict(large), cells(large)["_T",]) == ("RELEASED", (60 + 14 + 6 + 60 + 14 + 9,))


def test_a_refusal_for_risk_does_not_tell_that_somebody_is_alone(tmp_path):
    """One of 600 has the rare code, or two: its table is refused, or its cells are withheld."""
    told = set()
    for rare in (1, 2):
        folder = tmp_path / str(rare)
        folder.mkdir()
        codes = "y" * rare + "x" * (600 - rare)
        (folder / "rare.csv").write_text("\n".join(["code", *codes]))
        house = build(folder)
        variable = {
            "name": "code",
            "identifying": "YES",
            "levels": [{"codes": [{"code": "x"}, {"code": "y"}]}],
        }
        declared = {"name": "rare", "data": {"path": "rare.csv"}, "design": {"coverage": "CENSUS"}}
        house.engine.register(parse_descriptor({**declared, "variables": [variable]}))
        told.add(verdict(house.ask(dataset="rare", rows=["code"])))
    assert len(told) == 1


@pytest.mark.parametrize(("presence", "shown"), [("shown", True), ("hidden", False)])
def test_where_the_few_of_a_trade_live_is_told_only_if_the_policy_lets_it(tmp_path, presence, shown):
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    (tmp_path / "policies").mkdir()
    changed = text.replace("    zeros_withheld: null", f"    presence: {presence}\n    zeros_withheld: null")
    (tmp_path / "policies" / "israel-cbs.yaml").write_text(changed)
    sizes = {("t0", "k0"): 40, ("t1", "k0"): 50, ("t2", "k0"): 60, ("t0", "k1"): 70, ("t1", "k1"): 80}
    sizes |= {("t2", "k1"): 90, ("t0", "rare"): 4}
    rows = [f"{town},{trade}" for (town, trade), number in sizes.items() for _ in range(number)]
    (tmp_path / "people.csv").write_text("\n".join(["town,trade", *rows]))
    house = build(tmp_path, policies=load_policies(tmp_path / "policies"))
    names = {"town": ["t0", "t1", "t2"], "trade": ["k0", "k1", "rare"]}
    variables = [
        {"name": name, "identifying": "NO", "levels": [{"codes": [{"code": code} for code in codes]}]}
        for name, codes in names.items()
    ]
    declared = {"name": "people", "data": {"path": "people.csv"}, "design": {"coverage": "CENSUS"}}
    house.engine.register(parse_descriptor({**declared, "variables": variables}))
    answered = house.ask(dataset="people", rows=["town"], columns=["trade"])
    assert verdict(answered) == "RELEASED_PROTECTED"
    empty = {cells(answered)[town, "rare"] for town in ("t1", "t2")}
    assert empty == {(0,) if shown else (None,)}
    assert cells(answered)["t0", "rare"] == cells(answered)["_T", "rare"] == (None,)
