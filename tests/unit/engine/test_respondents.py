"""Whose contributions are ranked: those of units or of holdings, with waivers, shifts and weights."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from sdcgate.engine import CellQuery
from sdcgate.engine.queries import Region
from sdcgate.methods.rules import ABSOLUTE_VALUES, Contributions, NegativeValues
from sdcgate.methods.tables.fact_checks import fact_problems

SHIFTED = Contributions(NegativeValues.SHIFTED)
WEIGHTED = Contributions(weighted=True)
BOUND = -500.0
RANKS = 3
DIMENSIONS = {"kind": "kind", "region": "region", "year": "year"}


def plants(years: int, seed: int = 3) -> pd.DataFrame:
    """Plants of companies: the kind is the company's, the region the plant's, the year a record's."""
    rng = np.random.default_rng(seed)
    rows = []
    for plant in range(40):
        company = None if plant % 7 == 0 else plant % 9
        kind = "lone" if company is None else ["a", "b"][company % 2]
        waived, weight = rng.choice(["yes", "no", None]), round(float(rng.uniform(1, 20)), 2)
        region = rng.choice(["n", "s"])
        for year in range(years):
            profit = None if rng.random() < 0.2 else round(float(rng.normal(40, 200)), 1)
            rows.append([f"p{plant}", company, kind, region, year, waived, weight, profit])
    names = ["id", "company", "kind", "region", "year", "agreed", "w", "profit"]
    return pd.DataFrame(rows, columns=names).sample(frac=1, random_state=seed)


def declare(people, **fields):
    def codes(*listed):
        return [{"codes": [{"code": code} for code in listed]}]

    return people(
        name="plants",
        weight={"column": "w", "decimals": 2},
        variables=[
            {"name": "kind", "identifying": "NO", "levels": codes("a", "b", "lone")},
            {"name": "region", "identifying": "YES", "levels": codes("n", "s")},
            {"name": "year", "identifying": "NO", "varies_within_unit": True, "levels": codes("0", "1", "2")},
        ],
        measures=[{"name": "profit", "decimals": 1, "lower_bound": BOUND}],
        **fields,
    )


HOLDING = {"holding": {"column": "company"}}
WAIVER = {"waiver": {"column": "agreed", "codes": ["yes"]}}


def contributions(rows: pd.DataFrame, how: Contributions) -> pd.Series:
    if how == SHIFTED:
        return rows["profit"] - BOUND
    return rows["profit"] * rows["w"] if how == WEIGHTED else rows["profit"]


def expected(rows: pd.DataFrame, declared, how: Contributions):
    """Holdings, those with a value, the largest, the largest without waivers, the total; by plain pandas."""
    respondent = rows["id"]
    if "holding" in declared:
        respondent = rows["company"].map(lambda one: f"c{one:.0f}", na_action="ignore")
        respondent = respondent.astype(object).fillna(rows["id"])
    summed = contributions(rows, how).groupby(respondent).sum(min_count=1).dropna().abs()
    waived = (rows["agreed"] == "yes").groupby(respondent).min()
    protected = summed[~waived[summed.index].astype(bool)]

    def top(values):
        return [*sorted(values, reverse=True)[:RANKS], *[0.0] * RANKS][:RANKS]

    return respondent.nunique(), len(summed), top(summed), top(protected), summed.sum()


def check(facts, groups, declared, how: Contributions) -> None:
    assert fact_problems(facts, len(groups)) == []
    (profit,) = facts.measures
    assert (facts.holdings is None) == ("holding" not in declared)
    for cell, rows in enumerate(groups):
        respondents, valid, largest, protected, total = expected(rows, declared, how)
        if facts.holdings is not None:
            assert (facts.holdings[cell], profit.valid_holdings[cell]) == (respondents, valid)
        for kind, found in ((SHIFTED, profit.shifted), (WEIGHTED, profit.weighted)):
            assert (found is not None) == (kind == how)
        found = {SHIFTED: profit.shifted, WEIGHTED: profit.weighted}.get(how)
        if found is None:
            ranked, unwaived, totals = profit.largest, profit.unwaived_largest, profit.absolute_sums
        else:
            ranked, unwaived, totals = found.largest, found.unwaived, found.totals
        assert ranked[cell] == pytest.approx(largest, abs=1e-6)
        assert totals[cell] == pytest.approx(total, abs=1e-6)
        assert (unwaived is None) == ("waiver" not in declared)
        if unwaived is not None:
            assert unwaived[cell] == pytest.approx(protected, abs=1e-6)


BOTH = {**HOLDING, **WAIVER}
CASES = {
    "units with waivers": (1, WAIVER, SHIFTED),
    "units of a panel with waivers": (3, WAIVER, WEIGHTED),
    "holdings": (3, HOLDING, ABSOLUTE_VALUES),
    "one record a unit": (1, BOTH, WEIGHTED),
    "absolute": (3, BOTH, ABSOLUTE_VALUES),
    "shifted": (3, BOTH, SHIFTED),
    "weighted": (3, BOTH, WEIGHTED),
}


@pytest.mark.parametrize(("years", "extra", "how"), CASES.values(), ids=CASES)
def test_contributions_of_every_cell_and_region_are_those_of_a_plain_group_by(
    bench, people, extra, how, years
):
    frame = plants(years)
    bench.write(frame)
    dataset = bench.register(declare(people, **extra))
    for names in (("kind",), ("kind", "region", "year")):
        query = CellQuery(tuple((name, "") for name in names), (), ("profit",), RANKS, how)
        computed = bench.engine.compute(dataset, query)
        cells = list(product(*(axis.codes for axis in computed.axes)))
        chosen = [
            np.logical_and.reduce(
                [
                    (frame[name].astype(str) == code) | (code == "_T")
                    for name, code in zip(names, cell, strict=True)
                ]
            )
            for cell in cells
        ]
        check(computed.facts, [frame[rows] for rows in chosen], extra, how)
    regions = [Region(((),), ((("region", 0b01),),)), Region(((("kind", 0b011),),)), Region(((),))]
    groups = [frame[frame["region"] == "s"], frame[frame["kind"] != "lone"], frame]
    check(bench.engine.region_facts(dataset, regions, ("profit",), RANKS, how), groups, extra, how)


def test_weighted_contributions_that_64_bits_do_not_hold_are_ranked(bench, people):
    frame = plants(3).assign(profit=lambda rows: rows["profit"].abs() * 1e11, w=1e6)
    bench.write(frame)
    declared = declare(people, **HOLDING)
    declared["measures"][0]["lower_bound"] = 0
    dataset = bench.register(declared)
    facts = bench.engine.compute(dataset, CellQuery((), (), ("profit",), RANKS, WEIGHTED)).facts
    _, _, largest, _, total = expected(frame, HOLDING, WEIGHTED)
    assert facts.measures[0].weighted.largest[0] == pytest.approx(largest, rel=1e-9)
    assert facts.measures[0].weighted.totals[0] == pytest.approx(total, rel=1e-9)


def test_a_lower_bound_with_more_places_than_the_values_gives_no_shift(bench, people):
    bench.write(plants(1))
    declared = declare(people)
    declared["measures"][0]["lower_bound"] = -500.25
    dataset = bench.register(declared)
    (profit,) = bench.engine.compute(dataset, CellQuery((), (), ("profit",), RANKS, SHIFTED)).facts.measures
    assert profit.shifted is None


def test_the_most_records_of_one_respondent_are_those_of_its_largest_holding(bench, people):
    frame = plants(3)
    bench.write(frame)
    assert bench.register(declare(people)).records_per_respondent == 3
    dataset = bench.register(declare(people, **HOLDING))
    largest = int(frame.groupby("company").size().max())
    assert dataset.records_per_respondent == largest > 3
    again = bench.engine.__class__(bench.data_root, bench.store, bytes(range(32)))
    assert again.dataset("plants").records_per_respondent == largest
    assert again.dataset("plants").variation["kind"].within_holding == (False,)
    assert again.dataset("plants").variation["region"].within_holding == (True,)
    again.close()


def test_all_that_is_wrong_with_holdings_and_waivers_is_told(bench, people):
    bench.write(plants(3).assign(company=range(120)))
    found = bench.problems(declare(people, **HOLDING))
    assert found == {"holding.column": "40 units belong to several holdings: a unit has one at most"}
    assert bench.problems(declare(people, holding={}, waiver={})).keys() == {
        "holding.column",
        "waiver.column",
        "waiver.codes",
    }
    missing = declare(people, holding={"column": "firm"}, waiver={"column": "agree", "codes": ["yes"]})
    assert bench.problems(missing).keys() == {"holding.column", "waiver.column"}


def test_weighted_contributions_beyond_64_bits_are_ranked_with_and_without_waivers(bench, people):
    """Three units of 1, 2 and 3 times 10^12 with weights of 10^5, of which the largest gave a waiver."""
    # A second record of each unit makes its contribution a sum.
    rows = [
        f"p{unit},n,{value},100000.5,{'yes' if unit == 2 else 'no'}"
        for unit in range(3)
        for value in (f"{unit + 1}e12", "0")
    ]
    bench.write("id,region,x,w,agreed\n" + "\n".join(rows) + "\n")
    region = {"name": "region", "identifying": "YES", "levels": [{"codes": [{"code": "n"}]}]}
    declared = people(
        variables=[region],
        measures=[{"name": "x", "decimals": 2}],
        weight={"column": "w", "decimals": 6},
        waiver={"column": "agreed", "codes": ["yes"]},
    )
    query = CellQuery(measures=("x",), ranks=2, contributions=WEIGHTED)
    contributed = bench.engine.compute(bench.register(declared), query).facts.measures[0].weighted
    assert contributed.largest.tolist() == [[3.000015e17, 2.00001e17]]
    assert contributed.unwaived.tolist() == [[2.00001e17, 1.000005e17]]
