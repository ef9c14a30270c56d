"""Codes that exclude each other, as the steward says: everybody knows it, so that it discloses no group."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from house import House, build, cells, reasons, verdict
from sdcgate.engine.dataset import EXCLUSIVE_PREFIX
from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor
from sdcgate.engine.exclusive import exclusive_groups
from sdcgate.engine.queries import CellQuery, Condition
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.policies import Policies
from sdcgate.methods.cells import shape_of
from sdcgate.methods.tables.joint_history import Standing
from sdcgate.policy.loading import load_policies

RATING = {"good": 140, "fair": 130, "poor": 80, "excellent": 150}
FLAGS = ("good", "fair", "poor")
ONE_QUESTION = [{"codes": [{"variable": name, "code": "y"} for name in FLAGS]}]


def rated(folder: Path, exclusive: list[dict[str, Any]], also: str = "") -> House:
    """People of two towns by three flags, of which not good does harm, and fair or poor do."""
    people = np.repeat(list(RATING), list(RATING.values()))
    lines = [
        ",".join([*("y" if person == name else "n" for name in FLAGS), f"t{place % 2}"])
        for place, person in enumerate(people)
    ]
    (folder / "ratings.csv").write_text(
        "\n".join([",".join([*FLAGS, "town"]), *lines, *([also] if also else [])])
    )
    flags = [
        {
            "name": name,
            "identifying": "NO",
            "sensitive": True,
            "levels": [{"codes": [{"code": code, "harmless": code == safe} for code in "yn"]}],
        }
        for name, safe in (("good", "y"), ("fair", "n"), ("poor", "n"))
    ]
    town = {"name": "town", "identifying": "NO", "levels": [{"codes": [{"code": f"t{n}"} for n in range(3)]}]}
    described = {"name": "ratings", "data": {"path": "ratings.csv"}, "design": {"coverage": "CENSUS"}}
    house = build(folder)
    house.engine.register(
        parse_descriptor({**described, "variables": [*flags, town], "exclusive": exclusive})
    )
    return house


def zeros(house: House, dimensions: tuple[str, ...], *filters: Condition) -> np.ndarray:
    query = CellQuery(tuple((name, name) for name in dimensions), filters, (), 1)
    computed = house.engine.compute(house.engine.dataset("ratings"), query)
    assert computed.facts.structural_zeros is not None
    assert not computed.facts.records[computed.facts.structural_zeros].any()
    return computed.facts.structural_zeros.reshape(shape_of(computed.axes))


def test_cells_that_take_two_of_them_are_structural_zeros(tmp_path):
    house = rated(tmp_path, ONE_QUESTION)
    # Of each: y, n, missing, total.
    both = zeros(house, ("good", "poor"))
    assert np.argwhere(both).tolist() == [[0, 0]]
    three = zeros(house, FLAGS)
    assert three.sum() == 3 * 4 - 2
    assert three[0, 0, 3]
    assert not three[0, 1, 1]


def test_conditions_count_as_the_axes_do(tmp_path):
    house = rated(tmp_path, ONE_QUESTION)
    poor = Condition("poor", "", ("y",))
    assert zeros(house, ("town", "good"), poor).all(axis=0).tolist() == [True, False, False, False]
    assert not zeros(house, ("town", "good"), Condition("poor", "", ("y", "n"))).any()
    assert zeros(house, ("town",), poor, Condition("fair", "", ("y",))).all()


def test_without_it_nothing_is_known_beforehand(tmp_path):
    house = rated(tmp_path, [])
    computed = house.engine.compute(house.engine.dataset("ratings"), CellQuery((("good", ""),), (), (), 1))
    assert computed.facts.structural_zeros is None


@pytest.mark.parametrize(
    "request_",
    [
        {"rows": ["poor"], "columns": ["good"]},
        {"rows": ["town"], "columns": ["poor"], "good": ["n"]},
        {"rows": ["town"], "good": ["n"], "poor": ["y"]},
    ],
)
def test_that_nobody_in_poor_health_is_in_good_health_tells_nothing_once_it_is_declared(tmp_path, request_):
    for name, exclusive in (("not", []), ("declared", ONE_QUESTION)):
        (tmp_path / name).mkdir()
        house = rated(tmp_path / name, exclusive)
        answer = house.ask(dataset="ratings", **request_)
        if exclusive:
            assert (verdict(answer), reasons(answer)) == ("RELEASED", [])
        else:
            assert verdict(answer) != "RELEASED"


@pytest.mark.parametrize("exclusive", [[], ONE_QUESTION])
def test_an_audit_tells_what_was_withheld_though_everybody_knew_it_unless_it_is_declared(
    tmp_path, exclusive, monkeypatch
):
    """The road refers such a table today; a ledger may have one of before."""
    monkeypatch.setattr("sdcgate.facility.attempt.Attempt._takes_secrets_for_known", lambda _: False)
    house = rated(tmp_path, exclusive)
    for request in ({"rows": ["poor"]}, {"rows": ["poor"], "columns": ["good"]}):
        house.ask(dataset="ratings", **request)
    policies = Policies(house.ledger, load_policies(), "israel-cbs")
    audit = audit_source(house.ledger, house.engine, policies, "ratings", 20_000, 60.0)
    told = sum(one.of(Standing.TOLD_BEFORE) for one in audit.quantities)
    assert (told > 0, audit.refuted) == (not exclusive, False)


def test_all_of_a_town_in_poor_health_are_still_told_of(tmp_path):
    house = rated(tmp_path, ONE_QUESTION, also="\n".join(["n,n,y,t2"] * 30))
    answer = house.ask(dataset="ratings", rows=["town"], columns=["poor"])
    assert verdict(answer) == "RELEASED_PROTECTED"
    assert cells(answer)["t2", "y"] == (None,)


def test_what_is_declared_stays_together_whatever_else_excludes_it_by_chance():
    people = np.repeat([0, 1, 2], [50, 40, 10])
    columns = {name: (people == place).astype(np.uint8) for place, name in enumerate(("a", "b", "c"))}
    columns["rare"] = np.array([0] * 99 + [1], dtype=np.uint8)
    columns["d"] = 1 - columns["a"]
    found = exclusive_groups(columns, dict.fromkeys(columns, 2), [[("b", 1), ("c", 1)]])
    (first, *_) = found
    assert {"b", "c"} <= set(first.removeprefix(EXCLUSIVE_PREFIX).split("+"))


def problems(folder: Path, exclusive: list[dict[str, Any]], also: str = "") -> list[str]:
    with pytest.raises(DescriptorInvalid) as invalid:
        rated(folder, exclusive, also)
    return [str(problem) for problem in invalid.value.problems]


def test_all_that_is_wrong_with_it_is_told_at_once(tmp_path):
    def code(variable: str, code: str = "y") -> dict[str, str]:
        return {"variable": variable, "code": code}

    exclusive = [
        {"codes": [code("good")]},
        {"codes": [code("good"), code("age")]},
        {"codes": [code("fair", "yes"), code("poor", "_U")]},
    ]
    assert problems(tmp_path, exclusive) == [
        "exclusive[0].codes: name two codes at least, each of another variable",
        "exclusive[1].codes[0].variable: 'good' is named already: it excludes others by one of its codes",
        "exclusive[1].codes[1].variable: 'age' is no variable; they are 'fair', 'good', 'poor', 'town'",
        "exclusive[2].codes[0].code: 'yes' is no code of fair; they are 'y', 'n'",
        "exclusive[2].codes[1].code: '_U' is no code of poor; they are 'y', 'n'",
    ]


def test_records_that_have_two_of_them_are_counted(tmp_path):
    found = problems(tmp_path, ONE_QUESTION, also="y,n,y,t0\ny,n,y,t1")
    assert found == ["exclusive[0].codes: good and poor do not exclude each other: 2 records have both codes"]


def test_a_variable_that_is_named_twice_is_told_of_once(tmp_path):
    twice = [{"codes": [{"variable": "good", "code": "y"}, {"variable": "good", "code": "y"}]}]
    assert problems(tmp_path, twice) == [
        "exclusive[0].codes[1].variable: 'good' is named already: it excludes others by one of its codes"
    ]


def test_variables_of_more_codes_are_none_of_yes_and_no(tmp_path):
    (tmp_path / "towns.csv").write_text(
        "town,mill\n" + "\n".join(f"t{n % 3},{'yn'[n % 2]}" for n in range(60))
    )
    towns = {
        "name": "town",
        "identifying": "NO",
        "levels": [{"codes": [{"code": f"t{n}"} for n in range(3)]}],
    }
    mill = {"name": "mill", "identifying": "NO", "levels": [{"codes": [{"code": "y"}, {"code": "n"}]}]}
    described = {"name": "towns", "data": {"path": "towns.csv"}, "design": {"coverage": "CENSUS"}}
    both = [{"codes": [{"variable": "town", "code": "t0"}, {"variable": "mill", "code": "y"}]}]
    with pytest.raises(DescriptorInvalid, match="'town' has 3 codes: name variables that have two"):
        build(tmp_path).engine.register(
            parse_descriptor({**described, "variables": [towns, mill], "exclusive": both})
        )
