"""That nobody is in good and in poor health bounds who is in one of them: a table's own proof knows of it."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.policies import Policies
from sdcgate.policy.loading import load_policies

CODES = ("y", "n", "_U")
CELLS = list(product(CODES, CODES))
WIDTH = 10
BOTH = [{"codes": [{"variable": "good", "code": "y"}, {"variable": "poor", "code": "y"}]}]


def registered(folder: Path, seed: int, declared: bool, finer: bool, blank: bool = False) -> House:
    """People by two flags, of which nobody has both, and some have none; `finer` variables decide them.

    `blank`: a flag is yes or missing.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for good, poor in CELLS:
        many = 0 if (good, poor) == ("y", "y") else int(rng.choice([3, 5, 8, 20, 60, 120]))
        if not blank or "n" not in (good, poor):
            told = ["" if code == "_U" else code for code in (good, poor)]
            rows += [
                [*told, *(f"{code}{n % 2}" if code == "y" else code for code in told)] for n in range(many)
            ]
    (folder / "people.csv").write_text("\n".join(map(",".join, [["good", "poor", "g", "p"], *rows])))
    listed = {"good": "yn", "poor": "yn"} | (
        {"g": ("y0", "y1", "n"), "p": ("y0", "y1", "n")} if finer else {}
    )
    variables = [
        {"name": name, "identifying": "NO", "levels": [{"codes": [{"code": code} for code in codes]}]}
        for name, codes in listed.items()
    ]
    described = {"name": "people", "data": {"path": "people.csv"}, "design": {"coverage": "CENSUS"}}
    exclusive = BOTH if declared else []
    house = build(folder)
    house.engine.register(parse_descriptor({**described, "variables": variables, "exclusive": exclusive}))
    return house


def closest(table: dict[tuple[str, ...], tuple[float | None, ...]]) -> float:
    """How far apart the closest bounds of a withheld cell are, by SciPy, of those that somebody can be in."""
    shown = {cell: figures[0] for cell, figures in table.items() if figures[0] is not None}
    rows = [
        [float(all(t in ("_T", c) for t, c in zip(told, cell, strict=True))) for cell in CELLS]
        for told in shown
    ]
    ends = [(0, 0) if cell == ("y", "y") else (0, None) for cell in CELLS]
    apart = [np.inf]
    for place, cell in enumerate(CELLS):
        if cell not in shown and cell != ("y", "y"):
            way = np.eye(len(CELLS))[place]
            least, most = (
                sign * linprog(sign * way, A_eq=np.array(rows), b_eq=list(shown.values()), bounds=ends).fun
                for sign in (1, -1)
            )
            apart.append(most - least)
    return min(apart)


@pytest.mark.parametrize("seed", [7, 10, 16, 21, 28])
@pytest.mark.parametrize(
    ("declared", "finer"), [(False, False), (True, False), (True, True)], ids=["found", "declared", "finer"]
)
def test_no_withheld_cell_is_close_for_who_knows_that_nobody_has_both(tmp_path, seed, declared, finer):
    house = registered(tmp_path, seed, declared, finer)
    answer = house.ask(dataset="people", rows=["good"], columns=["poor"])
    assert verdict(answer) == "RELEASED_PROTECTED"
    assert closest(cells(answer)) >= WIDTH
    policies = Policies(house.ledger, load_policies(), "israel-cbs")
    assert audit_source(house.ledger, house.engine, policies, "people", 20_000, 60.0).proved


@pytest.mark.parametrize(("finer", "blank"), [(False, False), (True, False), (False, True)])
def test_what_is_declared_decides_its_variables_whatever_else_does(tmp_path, finer, blank):
    dataset = registered(tmp_path, 10, declared=True, finer=finer, blank=blank).engine.dataset("people")
    (name,) = dataset.exclusive
    assert {dataset.variation[one].determined_by for one in ("good", "poor")} == {name}


def with_illness(tmp_path, groups, declared=False) -> House:
    """People of each age, ill and well: that somebody is well is harmless."""
    people = [
        f"{age},{ill}"
        for age, of in groups.items()
        for ill, many in zip("yn", of, strict=True)
        for _ in range(many)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,ill", *people]))
    codes = [{"code": "y"}, {"code": "n", "harmless": True}]
    ill = {"name": "ill", "identifying": "NO", "sensitive": True, "levels": [{"codes": codes}]}
    both = [{"variable": "age", "code": "young"}, {"variable": "ill", "code": "n"}]
    exclusive = [{"codes": both}] if declared else []
    house = build(tmp_path)
    house.engine.register(people_descriptor({"age": groups}, variables=[ill], exclusive=exclusive))
    return house


ALL_YOUNG_ILL = {"young": (30, 0), "old": (40, 50)}
ONE_AGE_ILL = {"young": (30, 0), "middle": (0, 40), "old": (0, 50)}


@pytest.mark.parametrize(
    "asked",
    [
        {"rows": ["age"], "columns": ["ill"]},
        {"rows": ["age"], "ill": ["n"]},
        {"rows": ["age"], "columns": ["ill"], "ill": ["n"]},
        {"rows": ["age"], "ill": ["y"]},
        {"rows": ["ill"], "age": ["old"]},
    ],
)
@pytest.mark.parametrize("groups", [ALL_YOUNG_ILL, ONE_AGE_ILL], ids=["exclude", "decides"])
def test_that_all_of_the_young_are_ill_is_a_secret_that_no_table_tells(tmp_path, asked, groups):
    """Of 50 healthy people 50 are old; of 70 that are ill 40 are, and there are 30 others."""
    house = with_illness(tmp_path, groups)
    assert verdict(house.ask(dataset="people", rows=["age"])) == "RELEASED"
    assert verdict(house.ask(dataset="people", rows=["ill"])) == "RELEASED"
    answer = house.ask(dataset="people", **asked)
    assert verdict(answer) in ("REFERRED", "REFUSED")
    assert reasons(answer) in (["UNPROVED"], ["DIFFERENCING"])


def test_what_is_declared_to_exclude_each_other_is_told(tmp_path):
    house = with_illness(tmp_path, ALL_YOUNG_ILL, declared=True)
    for asked in ({"columns": ["ill"]}, {"ill": ["n"]}, {"columns": ["ill"], "ill": ["n"]}):
        answer = house.ask(dataset="people", rows=["age"], **asked)
        assert verdict(answer) in ("RELEASED", "RELEASED_PROTECTED")


def test_that_none_of_the_young_is_ill_is_no_secret(tmp_path):
    house = with_illness(tmp_path, {"young": (0, 30), "old": (40, 50)})
    answer = house.ask(dataset="people", rows=["age"], columns=["ill"])
    assert cells(answer)[("young", "n")] == (30,)
    assert cells(answer)[("old", "y")] == (40,)
