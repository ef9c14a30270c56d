"""Redesigned tables: their facts are those of the units, and what passes is what rules on the units say."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.cells import Axis, Facts, MeasureFacts
from sdcgate.methods.rules import (
    Consequence,
    Dominance,
    EqualValues,
    GroupDisclosure,
    IndividualRisk,
    MinimumHouseholds,
    MinimumUnits,
    Rules,
)
from sdcgate.methods.tables.redesign import partition
from sdcgate.methods.tables.redesigned_cells import designed, finest_cells, groups_of, ladder
from sdcgate.methods.tables.redesigning import redesign_table

PROTECT = Consequence.PROTECT
AREA = Axis("area", "town", ("n1", "n2", "north", "s1", "s2", "south", "_T"), (2, 2, 6, 5, 5, 6, -1))
SEX = Axis("sex", "sex", ("f", "m"), (-1, -1))
RANKS = 2
WHERE = {"n1": ("n1", "north", "_T"), "n2": ("n2", "north", "_T"), "s1": ("s1", "south", "_T"),
         "s2": ("s2", "south", "_T")}  # fmt: skip


def table(people, axes=(AREA, SEX)):
    """The facts of people (town, sex, income), totals at all levels too."""
    columns = {"units": [], "sums": [], "largest": [], "minima": [], "maxima": []}
    for cell in product(*(axis.codes for axis in axes)):
        inside = [
            income for town, sex, income in people
            if all(code in (*WHERE[town], sex) for code in cell)
        ]  # fmt: skip
        columns["units"].append(len(inside))
        columns["sums"].append(sum(inside))
        columns["largest"].append((*sorted(inside, reverse=True), *(0,) * RANKS)[:RANKS])
        columns["minima"].append(min(inside, default=0))
        columns["maxima"].append(max(inside, default=0))
    units = np.array(columns["units"])
    numbers = {name: np.array(columns[name], dtype=np.float64) for name in columns}
    income = MeasureFacts(
        "income", numbers["sums"], units, units, numbers["largest"], numbers["sums"],
        numbers["minima"], numbers["maxima"], 0.0,
    )  # fmt: skip
    return Facts(units, units, measures=(income,))


def persons(sizes):
    """So many people of each town and sex, whose incomes are 1, 2, 3 and so on."""
    return [
        (town, sex, float(number + 1))
        for (town, sex), count in sizes.items()
        for number in range(count)
    ]  # fmt: skip


people_drawn = st.lists(
    st.tuples(st.sampled_from(list(WHERE)), st.sampled_from("fm"), st.integers(1, 9).map(float)), max_size=40
)


@given(people_drawn, st.lists(st.integers(0, 2), min_size=4, max_size=4), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_facts_of_a_design_are_those_of_the_people_in_its_cells(people, areas, sexes):
    finest = finest_cells((AREA, SEX), table(people))
    design = (partition(areas), (0, 1) if sexes else (0, 0))
    axes, facts = designed(finest, design)
    names = [
        dict(zip(["n1", "n2", "s1", "s2"], design[0], strict=True)),
        dict(zip("fm", design[1], strict=True)),
    ]
    kept = [place for place, one in enumerate(design) if max(one) > 0]
    assert [len(axis.codes) for axis in axes] == [max(design[place]) + 2 for place in kept]
    for cell, position in enumerate(np.ndindex(*(len(axis.codes) for axis in axes))):
        inside = [
            income
            for town, sex, income in people
            if all(
                group in (names[place][(town, sex)[place]], max(design[place]) + 1)
                for place, group in zip(kept, position, strict=True)
            )
        ]
        (income,) = facts.measures
        assert facts.units[cell] == len(inside)
        assert income.sums[cell] == sum(inside)
        assert income.largest[cell].tolist() == [*sorted(inside, reverse=True), 0, 0][:RANKS]
        assert (income.minima[cell], income.maxima[cell]) == (min(inside, default=0), max(inside, default=0))


SIZES = {("n1", "f"): 3, ("n1", "m"): 30, ("n2", "f"): 20, ("n2", "m"): 21,
         ("s1", "f"): 22, ("s1", "m"): 23, ("s2", "f"): 24, ("s2", "m"): 25}  # fmt: skip
RULES = Rules(minimum_units=MinimumUnits(5, PROTECT))


def shown(finest, axes, found):
    return [
        [[names for _, names in groups_of(finest, axes, place, one)] for place, one in enumerate(one.design)]
        for one in found.search.designs
    ]


def test_the_designs_of_a_table_with_one_small_cell_are_those_that_lose_least():
    finest = finest_cells((AREA, SEX), table(persons(SIZES)))
    whole = redesign_table(finest, RULES, 3, 5.0)
    towns, sexes = [["n1"], ["n2"], ["s1"], ["s2"]], [["f"], ["m"]]
    regions = [["n1", "n2"], ["s1", "s2"]]
    assert shown(finest, (AREA, SEX), whole) == [[towns, [["f", "m"]]], [regions, sexes]]
    joined = redesign_table(finest, RULES, 3, 5.0, mergeable=("area",))
    assert shown(finest, (AREA, SEX), joined) == [
        [[["n1", "n2"], ["s1"], ["s2"]], sexes],
        [towns, [["f", "m"]]],
    ]
    assert joined.search.designs[0].loss < whole.search.designs[0].loss
    must_stay = redesign_table(finest, RULES, 3, 5.0, kept=("sex",))
    assert shown(finest, (AREA, SEX), must_stay) == [[regions, sexes]]


def test_a_category_has_the_name_of_the_code_that_it_is():
    finest = finest_cells((AREA, SEX), table(persons(SIZES)))
    named = [code for code, _ in groups_of(finest, (AREA, SEX), 0, (0, 0, 1, 2))]
    assert named == ["north", "s1", "s2"]
    assert [code for code, _ in groups_of(finest, (AREA, SEX), 0, (0, 1, 1, 2))] == ["n1", "n2..s1", "s2"]


def test_a_table_that_passes_is_its_own_best_design():
    finest = finest_cells((AREA, SEX), table(persons({**SIZES, ("n1", "f"): 5})))
    (best,) = redesign_table(finest, RULES, 3, 5.0).search.designs
    assert (best.loss, best.design) == (0.0, ((0, 1, 2, 3), (0, 1)))


def test_a_rule_that_cannot_be_judged_proposes_nothing():
    finest = finest_cells((AREA, SEX), table(persons(SIZES)))
    for rules in (
        Rules(minimum_households=MinimumHouseholds(2.0, PROTECT)),
        Rules(individual_risk=IndividualRisk(0.001, False, PROTECT)),
        Rules(dominance=(Dominance(3, 0.9, PROTECT),)),
    ):
        found = redesign_table(finest, rules, 3, 5.0)
        assert not found.search.designs
        assert found.unchecked


def test_what_is_proposed_passes_in_all_cells_and_totals():
    people = [
        ("n1", "f", 60.0),
        ("n1", "f", 50.0),
        *persons({("n1", "m"): 2, ("s1", "f"): 1, ("s1", "m"): 9}),
    ]
    finest = finest_cells((AREA, SEX), table(people))
    rules = Rules(minimum_units=MinimumUnits(2, PROTECT), dominance=(Dominance(1, 0.6, PROTECT),))
    found = redesign_table(finest, rules, 10, 5.0, mergeable=("area",)).search.designs
    assert len(found) == 2
    for one in found:
        _, facts = designed(finest, one.design)
        (income,) = facts.measures
        some = facts.units > 0
        assert np.all(facts.units[some] >= 2)
        assert np.all(income.largest[some, 0] < 0.6 * income.sums[some])


def test_holdings_in_several_parts_are_never_counted_twice():
    facts = table(persons(SIZES))
    together = Facts(facts.units, facts.records, measures=facts.measures, holdings=np.minimum(facts.units, 4))
    finest = finest_cells((AREA, SEX), together)
    assert not redesign_table(finest, RULES, 3, 5.0).search.designs
    dominance = Rules(dominance=(Dominance(1, 0.9, PROTECT),))
    assert redesign_table(finest, dominance, 3, 5.0).absent == ("largest of income",)


def test_joined_codes_are_harmless_only_if_all_of_them_are():
    ill = Axis("ill", "ill", ("no", "cold", "hiv"), (-1, -1, -1), sensitive=True, harmless=("no",))
    finest = finest_cells((ill,), Facts(np.array([95, 3, 2]), np.array([95, 3, 2])))
    (none,), _ = designed(finest, ((0, 0, 1),))
    (one,), _ = designed(finest, ((0, 1, 1),))
    assert (none.harmless, one.harmless) == ((), ("no",))
    rules = Rules(group_disclosure=GroupDisclosure(0.9, PROTECT))
    assert redesign_table(finest, rules, 1, 5.0).search.designs[0].loss == 0


def test_a_class_of_codes_stays_one_where_its_codes_are_joined():
    codes = ("roman", "old", "reformed", "sunni")
    faith = Axis("faith", "church", codes, (-1,) * 4, sensitive=True, classes=((0, 1),))
    finest = finest_cells((faith,), Facts(np.array([20, 18, 1, 1]), np.array([20, 18, 1, 1])))
    joined = [designed(finest, (one,))[0][0] for one in ((0, 1, 2, 2), (0, 0, 1, 2), (0, 1, 1, 2))]
    assert [axis.classes for axis in joined] == [((0, 1),), ((0,),), ((0,),)]


def test_equal_values_are_told_from_empty_cells():
    facts = table([("n1", "f", 4.0), ("n1", "f", 9.0), ("n2", "m", 5.0), ("n2", "m", 7.0)])
    rules = Rules(equal_values=EqualValues(0.0, PROTECT))
    (best,) = redesign_table(finest_cells((AREA, SEX), facts), rules, 1, 5.0).search.designs
    assert best.loss == 0


def test_bands_that_hang_from_branches_of_unequal_length_are_cut_from_below():
    axis = Axis("trade", "trade", ("a", "b1", "b2", "b", "_T"), (4, 3, 3, 4, -1))
    finest = finest_cells((axis,), Facts(np.array([9, 1, 8, 9, 18]), np.array([9, 1, 8, 9, 18])))
    steps = ladder(finest.axes[0], finest.paths[0], mergeable=False, droppable=True)
    assert steps.levels == ((0, 1, 2), (0, 1, 1))


def test_without_time_nothing_is_proposed():
    found = redesign_table(finest_cells((AREA, SEX), table(persons(SIZES))), RULES, 3, 0.0, ("area",))
    assert not found.search.designs
    assert not found.search.finished
