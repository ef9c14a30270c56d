"""Every fact of every cell, margins included, is what a plain group-by of the file says."""

from collections.abc import Callable, Sequence
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdcgate.engine import CellQuery, Condition, UnknownName
from sdcgate.methods.tables.fact_checks import fact_problems

REGIONS = ["north", "south", "west"]
AGES = 12


def household_file(units: int = 60, seed: int = 1) -> pd.DataFrame:
    """Persons with up to four records: region and sex stay, job and age change, values may be missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for unit in range(units):
        region = rng.choice([*REGIONS, None])
        sex = rng.choice(["f", "m"])
        household = rng.choice(
            [*map(str, range(units // 3)), None], p=[*[0.9 / (units // 3)] * (units // 3), 0.1]
        )
        weight = round(float(rng.uniform(1, 50)), 3)
        for _ in range(rng.integers(1, 5)):
            rows.append(
                {
                    "id": f"p{unit}",
                    "region": region,
                    "sex": sex,
                    "age": rng.choice([*range(AGES), None]),
                    "job": rng.choice(["a", "b", None]),
                    "h": household,
                    "size": rng.choice([0, 1, 2, 3, 7]),
                    "w": weight,
                    "x": None if rng.random() < 0.2 else round(float(rng.normal(0, 1000)), 2),
                    "y": int(rng.integers(0, 9)),
                }
            )
    return pd.DataFrame(rows).sample(frac=1, random_state=seed)


def declare(**fields: Any) -> dict[str, Any]:
    def listed(*codes: str) -> list[dict[str, str]]:
        return [{"code": code} for code in codes]

    return {
        "name": "households",
        "data": {"path": "people.csv"},
        "unit": {"column": "id"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.25},
        "variables": [
            {"name": "region", "identifying": "YES", "levels": [{"codes": listed(*REGIONS)}]},
            {"name": "sex", "identifying": "YES", "levels": [{"codes": listed("f", "m")}]},
            {
                "name": "age",
                "identifying": "VERY",
                "varies_within_unit": True,
                "floor": True,
                "levels": [
                    {"name": "years", "integers": {"first": 0, "last": AGES - 1}},
                    {"name": "bands", "band_width": 5},
                ],
            },
            {
                "name": "job",
                "identifying": "NO",
                "sensitive": True,
                "varies_within_unit": True,
                "levels": [{"codes": listed("a", "b")}],
            },
        ],
        "measures": [{"name": "x", "decimals": 2}, {"name": "y", "lower_bound": 0}],
        **fields,
    }


def band(age: Any) -> str:
    return "_U" if pd.isna(age) else {0: "0-4", 1: "5-9", 2: "10-11"}[int(age) // 5]


def coded(frame: pd.DataFrame) -> pd.DataFrame:
    """The file with its codes as the descriptor names them."""
    out = frame.copy()
    out["bands"] = out["age"].map(band)
    out["age"] = out["age"].map(lambda age: "_U" if pd.isna(age) else str(int(age)))
    for column in ("region", "sex", "job"):
        out[column] = out[column].fillna("_U")
    return out


def check(
    computed: Any, rows: pd.DataFrame, columns: Sequence[str], measures: Sequence[str], weighted: bool
) -> None:
    """Compares every cell with plain pandas over the same records."""
    facts = computed.facts
    cells = list(product(*(axis.codes for axis in computed.axes)))
    assert fact_problems(facts, len(cells)) == []
    for cell, codes in enumerate(cells):
        inside = rows
        for column, code in zip(columns, codes, strict=True):
            if code != "_T":
                inside = inside[inside[column] == code]
        by_unit = inside.groupby("id")
        weight = inside["w"] if weighted else pd.Series(4.0, index=inside.index)
        assert facts.records[cell] == len(inside)
        assert facts.units[cell] == inside["id"].nunique()
        assert facts.weight_sums[cell] == pytest.approx(weight.sum(), rel=1e-12)
        per_unit = by_unit["w"].min().sum() if weighted else 4.0 * inside["id"].nunique()
        assert facts.unit_weight_sums[cell] == pytest.approx(per_unit, rel=1e-12)
        for fact in facts.measures:
            values = inside[fact.name].dropna()
            sums = inside.dropna(subset=[fact.name]).groupby("id")[fact.name].sum()
            ranked = sorted(sums.abs(), reverse=True)[:3]
            assert fact.sums[cell] == pytest.approx(values.sum(), abs=1e-6)
            assert fact.valid_records[cell] == len(values)
            assert fact.valid_units[cell] == len(sums)
            assert fact.lacking_units[cell] == inside[inside[fact.name].isna()]["id"].nunique()
            assert fact.largest[cell] == pytest.approx([*ranked, *[0.0] * (3 - len(ranked))], abs=1e-6)
            assert fact.absolute_sums[cell] == pytest.approx(sums.abs().sum(), abs=1e-6)
            assert fact.minima[cell] == pytest.approx(values.min() if len(values) else 0)
            assert fact.maxima[cell] == pytest.approx(values.max() if len(values) else 0)
            assert fact.weighted_sums[cell] == pytest.approx((values * weight[values.index]).sum(), abs=1e-6)
            assert fact.valid_weight_sums[cell] == pytest.approx(weight[values.index].sum(), rel=1e-12)
    assert [fact.name for fact in facts.measures] == list(measures)


TABLES: list[tuple[tuple[tuple[str, str], ...], list[str]]] = [
    ((), []),
    ((("region", ""),), ["region"]),
    ((("region", ""), ("sex", "")), ["region", "sex"]),
    ((("age", "bands"),), ["bands"]),
    ((("sex", ""), ("age", "bands"), ("job", "")), ["sex", "bands", "job"]),
    ((("job", ""), ("region", ""), ("age", "")), ["job", "region", "age"]),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dimensions", "columns"), TABLES)
def test_all_facts_of_a_table_with_margins(bench, dimensions, columns, weighted):
    frame = household_file()
    bench.write(frame)
    dataset = bench.register(declare(weight={"column": "w", "decimals": 3}) if weighted else declare())
    computed = bench.engine.compute(dataset, CellQuery(dimensions, measures=("x", "y"), ranks=3))
    check(computed, coded(frame), columns, ("x", "y"), weighted)


def test_the_same_where_every_unit_has_one_record(bench):
    frame = household_file().drop_duplicates("id")
    bench.write(frame)
    dataset = bench.register(declare(weight={"column": "w", "decimals": 3}))
    computed = bench.engine.compute(dataset, CellQuery(TABLES[4][0], measures=("y", "x"), ranks=3))
    check(computed, coded(frame), TABLES[4][1], ("y", "x"), weighted=True)
    assert computed.units_additive


def test_filters_keep_the_codes_that_meet_them(bench):
    frame = household_file()
    bench.write(frame)
    dataset = bench.register(declare())
    filters = (Condition("age", "", ("3", "4", "5", "_U")), Condition("region", "", ("north", "_U")))
    query = CellQuery((("age", "bands"), ("sex", "")), filters, ("x",), ranks=3)
    computed = bench.engine.compute(dataset, query)
    assert computed.axes[0].codes == ("0-4", "5-9", "_U", "_T")
    rows = coded(frame)
    rows = rows[rows["age"].isin(["3", "4", "5", "_U"]) & rows["region"].isin(["north", "_U"])]
    check(computed, rows, ["bands", "sex"], ("x",), weighted=False)


def test_conditions_that_exclude_each_other_leave_an_empty_total(bench):
    bench.write(household_file())
    dataset = bench.register(declare())
    filters = (Condition("sex", "", ("f",)), Condition("sex", "", ("m",)))
    computed = bench.engine.compute(dataset, CellQuery((("sex", ""), ("job", "")), filters, ("x",)))
    assert computed.axes[0].codes == ("_T",)
    assert computed.facts.units.tolist() == [0, 0, 0, 0]
    assert computed.facts.measures[0].minima.tolist() == [0.0] * 4


def test_a_condition_with_every_code_is_no_condition(bench):
    bench.write(household_file())
    dataset = bench.register(declare())
    with_all = CellQuery((), (Condition("sex", "", ("f", "m", "_U")),))
    assert bench.engine.compute(dataset, with_all).facts.marks == bench.engine.compute(
        dataset, CellQuery()
    ).facts.marks  # fmt: skip


def test_axes_carry_what_the_descriptor_says(bench):
    bench.write(household_file())
    dataset = bench.register(declare())
    computed = bench.engine.compute(dataset, CellQuery((("age", "bands"), ("job", ""))))
    age, job = computed.axes
    assert (age.variable, age.level, age.identifying, age.sensitive) == ("age", "bands", True, False)
    assert (job.identifying, job.sensitive) == (False, True)
    assert age.codes == ("0-4", "5-9", "10-11", "_U", "_T")
    assert age.parents == (4, 4, 4, 4, -1)
    assert age.labels == ("0-4", "5-9", "10-11", "missing", "total")
    assert not computed.units_additive


def households_by_id(inside: pd.DataFrame) -> float:
    return inside["h"].nunique()


def households_by_size(inside: pd.DataFrame) -> float:
    sizes = inside["size"].replace(0, 7).groupby(inside["id"]).max()
    return float((1 / sizes).sum())


@pytest.mark.parametrize(
    ("household", "count"),
    [({"column": "h"}, households_by_id), ({"size_column": "size"}, households_by_size)],
)
@pytest.mark.parametrize(("dimensions", "columns"), TABLES)
def test_households_are_counted_once_in_cells_and_margins(
    bench, household: dict[str, str], count: Callable[[pd.DataFrame], float], dimensions, columns
):
    frame = household_file(seed=4)
    bench.write(frame)
    dataset = bench.register(declare(household=household))
    computed = bench.engine.compute(dataset, CellQuery(dimensions))
    rows = coded(frame)
    for cell, codes in enumerate(product(*(axis.codes for axis in computed.axes))):
        inside = rows
        for column, code in zip(columns, codes, strict=True):
            inside = inside if code == "_T" else inside[inside[column] == code]
        assert computed.facts.households[cell] == pytest.approx(count(inside), abs=1e-9)


def test_a_person_who_moved_is_not_more_households_than_persons(bench):
    bench.write("id,sex,h\n1,f,10\n1,f,11\n2,m,12\n")
    declared = declare(
        variables=[
            {"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "f"}, {"code": "m"}]}]}
        ],
        measures=[],
        household={"column": "h"},
    )
    computed = bench.engine.compute(bench.register(declared), CellQuery((("sex", ""),)))
    assert computed.facts.households.tolist() == [1.0, 1.0, 0.0, 2.0]


def test_units_lie_between_the_largest_part_and_the_sum_of_parts(bench):
    bench.write(household_file())
    dataset = bench.register(declare())
    computed = bench.engine.compute(dataset, CellQuery((("region", ""), ("age", ""))))
    units = computed.facts.units.reshape(4 + 1, AGES + 2)
    assert (units[:, :-1].max(axis=1) <= units[:, -1]).all()
    assert (units[:, -1] < units[:, :-1].sum(axis=1)).any()
    assert (units[-1] == units[:-1].sum(axis=0)).all()


def test_marks_tell_populations_apart_and_add_up(bench):
    bench.write(household_file())
    dataset = bench.register(declare())
    facts = bench.engine.compute(dataset, CellQuery((("region", ""), ("job", "")))).facts
    marks = facts.marks.reshape(5, 4)
    assert len(set(facts.marks.tolist())) == len(marks.reshape(-1))
    assert sum(marks[:-1, -1].tolist()) % 2**62 == marks[-1, -1]
    assert sum(marks[-1, :-1].tolist()) % 2**62 == marks[-1, -1]


def test_sums_do_not_depend_on_the_order_of_records_and_are_exact(bench):
    values = ["0.1"] * 10 + ["1e9", "-1e9", "0.3"]
    for order in (1, -1):
        rows = "".join(f"{i},f,{value},0.001\n" for i, value in enumerate(values[::order]))
        bench.write("id,sex,x,w\n" + rows)
        declared = declare(
            variables=[{"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "f"}]}]}],
            measures=[{"name": "x", "decimals": 9}],
            weight={"column": "w", "decimals": 9},
        )
        declared["unit"] = {}
        dataset = bench.register(declared)
        fact = bench.engine.compute(dataset, CellQuery(measures=("x",))).facts.measures[0]
        assert fact.sums.tolist() == [1.3]
        assert fact.weighted_sums.tolist() == [0.0013]


def test_products_of_values_and_weights_beyond_64_bits_are_exact(bench):
    bench.write("id,sex,x,w\n" + "".join(f"{i},f,-123456789012.25,99999.123456\n" for i in range(1000)))
    declared = declare(
        variables=[{"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "f"}]}]}],
        measures=[{"name": "x", "decimals": 2}],
        weight={"column": "w", "decimals": 6},
    )
    dataset = bench.register(declared)
    facts = bench.engine.compute(dataset, CellQuery((("sex", ""),), measures=("x",))).facts
    exact = -12345678901225 * 99999123456 * 1000 / 10**8
    assert facts.measures[0].weighted_sums.tolist() == [exact, 0.0, exact]
    assert facts.measures[0].largest[0].tolist() == [123456789012.25] * 2


@pytest.mark.parametrize(
    ("query", "kind", "suggested"),
    [
        (CellQuery((("regoin", ""),)), "variable", "region"),
        (CellQuery((("age", "band"),)), "level of age", "bands"),
        (CellQuery(filters=(Condition("region", "", ("nort",)),)), "code of region", "north"),
        (CellQuery(filters=(Condition("region", "", ("_T",)),)), "code of region", None),
        (CellQuery(measures=("xx",)), "measure", "x"),
    ],
)
def test_names_that_are_not_declared_are_unknown_with_the_nearest(bench, query, kind, suggested):
    bench.write(household_file())
    dataset = bench.register(declare())
    with pytest.raises(UnknownName) as raised:
        bench.engine.compute(dataset, query)
    assert raised.value.kind == kind
    assert raised.value.suggestions == ((suggested,) if suggested else ())


def test_a_variable_twice_or_a_condition_without_codes_is_refused(bench):
    bench.write(household_file())
    dataset = bench.register(declare())
    with pytest.raises(ValueError, match="age is a dimension twice"):
        bench.engine.compute(dataset, CellQuery((("age", ""), ("age", "bands"))))
    with pytest.raises(ValueError, match="no codes"):
        bench.engine.compute(dataset, CellQuery(filters=(Condition("age", "", ()),)))
    with pytest.raises(ValueError, match="ranks"):
        bench.engine.compute(dataset, CellQuery(ranks=0))
    assert inf not in bench.engine.compute(dataset, CellQuery(measures=("x",))).facts.measures[0].minima
