"""Yes-or-no variables that exclude each other are told as one variable that nobody declared."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from house import House, build, reasons, table_request, verdict
from sdcgate.engine.dataset import EXCLUSIVE_PREFIX
from sdcgate.engine.dependencies import dependencies
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.exclusive import exclusive_groups
from sdcgate.facility.audited_quantities import AuditedQuantity
from sdcgate.facility.boxes import as_if_published
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.plan import make_plan
from sdcgate.methods.tables.boxes import Box
from sdcgate.policy.loading import load_policy

NO, YES, MISSING = 0, 1, 2
RATING = {"good": 40, "fair": 30, "poor": 20, "excellent": 60}


def flags(
    ratings: dict[str, int], names: tuple[str, ...] = ("good", "fair", "poor")
) -> dict[str, np.ndarray]:
    """A column for each rating: yes for those who have it."""
    people = np.repeat(list(ratings), list(ratings.values()))
    return {name: np.where(people == name, YES, NO).astype(np.uint8) for name in ("good", "fair", "poor")}


def groups(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return exclusive_groups(columns, dict.fromkeys(columns, MISSING))


def test_ratings_of_which_everybody_has_one_at_most_are_one_variable():
    ((name, codes),) = groups(flags(RATING)).items()
    assert name == f"{EXCLUSIVE_PREFIX}fair+good+poor"
    assert sorted(np.bincount(codes).tolist()) == sorted(RATING.values())


def test_variables_that_occur_in_all_combinations_are_left_alone():
    columns = {"sex": np.array([0, 0, 1, 1] * 30), "smokes": np.array([0, 1, 0, 1] * 30)}
    assert groups(columns) == {}


def test_who_has_the_one_always_has_the_other_is_a_group_too():
    ill = np.array([NO] * 50 + [YES] * 50)
    in_hospital = np.array([NO] * 80 + [YES] * 20)
    ((name, codes),) = groups({"ill": ill, "in_hospital": in_hospital}).items()
    assert (name, np.bincount(codes).tolist()) == (f"{EXCLUSIVE_PREFIX}ill+in_hospital", [50, 30, 20])


def test_what_excludes_each_other_by_chance_does_not_tear_apart_what_always_does():
    columns = flags(RATING)
    columns["astronaut"] = np.array([NO] * 149 + [YES])
    assert [*groups(columns)] == [f"{EXCLUSIVE_PREFIX}astronaut+fair+good+poor"]
    columns["diver"] = np.array([YES] + [NO] * 44 + [YES] + [NO] * 104)
    first = next(iter(groups(columns)))
    assert {"fair", "good", "poor"} <= set(first.removeprefix(EXCLUSIVE_PREFIX).split("+"))


def test_a_missing_answer_is_a_combination_like_any_other():
    columns = flags(RATING)
    columns["good"][:5] = MISSING
    ((_, codes),) = groups(columns).items()
    assert sorted(np.bincount(codes).tolist()) == [5, 20, 30, 35, 60]


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=60))
def test_a_group_tells_each_of_its_variables_and_no_variable_is_in_two(rows):
    columns = {f"v{place}": np.array(column) for place, column in enumerate(zip(*rows, strict=True))}
    found = groups(columns)
    members = [name.removeprefix(EXCLUSIVE_PREFIX).split("+") for name in found]
    named = [name for names in members for name in names]
    assert len(named) == len(set(named))
    for (group, codes), names in zip(found.items(), members, strict=True):
        both = columns | {group: codes}
        decided = dependencies(both, dict.fromkeys(columns, 3) | {group: int(codes.max()) + 1})
        assert group not in decided or decided[group][0] in columns
        for name in names:
            assert len(np.unique(np.column_stack([codes, columns[name]]), axis=0)) == codes.max() + 1


def rated(folder: Path, ratings: dict[str, int]) -> House:
    """People by three flags; nothing tells that who has one has no other."""
    people = flags(ratings)
    rows = ("".join("ny"[flag] for flag in one) for one in zip(*people.values(), strict=True))
    (folder / "ratings.csv").write_text("\n".join([",".join(people), *map(",".join, rows)]))
    variables = [
        {"name": name, "identifying": "NO", "levels": [{"codes": [{"code": "y"}, {"code": "n"}]}]}
        for name in people
    ]
    house = build(folder)
    described = {"name": "ratings", "data": {"path": "ratings.csv"}, "design": {"coverage": "CENSUS"}}
    house.engine.register(parse_descriptor({**described, "variables": variables}))
    return house


@pytest.mark.parametrize(("poor", "told"), [(4, "REFUSED"), (80, "RELEASED")])
def test_the_rating_that_the_others_leave_is_told_only_where_many_have_it(tmp_path, poor, told):
    house = rated(tmp_path, {"good": 140, "fair": 130, "poor": poor, "excellent": 150})
    for one in ({}, {"good": ["y"]}, {"fair": ["y"]}):
        assert verdict(house.ask(dataset="ratings", **one)) == "RELEASED"
    last = house.ask(dataset="ratings", good=["n"], fair=["n"], poor=["n"])
    assert (verdict(last), reasons(last)) == (told, ["DIFFERENCING"] if told == "REFUSED" else [])


def test_nobody_can_ask_for_the_undeclared_variable(tmp_path):
    house = rated(tmp_path, {"good": 140, "fair": 130, "poor": 80, "excellent": 150})
    (name,) = house.engine.dataset("ratings").exclusive
    with pytest.raises(InvalidRequest, match="There is no variable of this name"):
        house.ask(dataset="ratings", rows=[name])


def test_an_audit_names_the_variables_that_it_stands_for(tmp_path):
    house = rated(tmp_path, {"good": 140, "fair": 130, "poor": 80, "excellent": 150})
    ((name, _),) = (box := told(house, poor=["y"]))
    assert name.startswith(EXCLUSIVE_PREFIX)
    audited = AuditedQuantity(house.engine.dataset("ratings"), "records", "records", 10, 0, ())
    assert audited.words(box) == "good n with fair n with poor y"


def told(house: House, **filters) -> Box:
    """What the one cell of a table is as a set."""
    policy = load_policy("israel-cbs").effective("remote", "ratings")
    plan = make_plan(house.engine.dataset("ratings"), policy, table_request("ratings", **filters))
    computed = house.engine.compute(plan.dataset, plan.cells(1, policy.rules.contributions))
    (box,) = as_if_published(plan, computed.axes, computed.facts)[0].boxes
    return box


def test_what_varies_within_a_unit_stands_with_nothing_that_does_not():
    """In the first of two waves nobody smokes: by chance, and units by who smokes would add up no more."""
    columns = {"smokes": np.array([NO] * 60 + [YES] * 40), "wave": np.array([NO] * 50 + [YES] * 50)}
    missing = dict.fromkeys(columns, MISSING)
    assert [*exclusive_groups(columns, missing)] == [f"{EXCLUSIVE_PREFIX}smokes+wave"]
    assert exclusive_groups(columns, missing, varying={"wave"}) == {}
    assert len(exclusive_groups(columns, missing, varying={"smokes", "wave"})) == 1
    declared = [[("smokes", YES), ("wave", NO)]]
    assert len(exclusive_groups(columns, missing, declared, varying={"wave"})) == 1
