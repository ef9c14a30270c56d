"""The demonstration data, as shipped with statsmodels: known facts, and cells against plain pandas.

Counts of persons and records in the first tests were taken from the file itself by plain group-bys.
"""

from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from sdcgate.engine import Box, CellQuery, Condition, Dataset, Engine, Region, parse_descriptor


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("randhie")
    made = Engine(folder / "data", folder / "store", b"r" * 32)
    text = files("sdcgate.engine").joinpath("demonstration/randhie.yaml").read_text(encoding="utf-8")
    registered = made.register(parse_descriptor(yaml.safe_load(text)))
    assert registered.created
    yield made
    made.close()


@pytest.fixture(scope="module")
def randhie(engine: Engine) -> Dataset:
    return engine.dataset("randhie")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    file = Path(str(files("statsmodels"))) / "datasets" / "randhie" / "src" / "randhie.csv"
    read = pd.read_csv(file)
    read["ten_years"] = np.floor(read["xage"]).astype(int) // 10
    return read


def box(dataset: Dataset, **codes: str | list[str]) -> Box:
    chosen = {name: [code] if isinstance(code, str) else code for name, code in codes.items()}
    return tuple(sorted((name, dataset.mask(name, "", listed)) for name, listed in chosen.items()))


def test_the_file_is_what_the_documentation_says(randhie: Dataset) -> None:
    assert (randhie.n_records, randhie.n_units, randhie.records_per_unit) == (20_190, 5_912, 5)
    assert (randhie.weighted, randhie.weight_bounds) == (False, (1000.0, 1000.0))
    assert [level.name for level in randhie.levels("age")] == ["years", "ten_years", "twenty_years", "broad"]
    assert randhie.level("age", "broad").codes == ("0-17", "18-39", "40-64", "_U")


def test_site_by_plan_by_sex_has_12_cells_of_less_than_ten_persons(engine: Engine, randhie: Dataset) -> None:
    computed = engine.compute(randhie, CellQuery((("site", ""), ("plan", ""), ("female", ""))))
    inner = computed.facts.units.reshape(8, 21, 4)[:-1, :-1, :-1]
    assert (inner > 0).sum() == 140
    assert ((inner > 0) & (inner < 10)).sum() == 12
    assert computed.units_additive
    assert computed.axes[0].labels[:2] == ("Dayton", "Seattle")


def test_six_persons_have_a_record_in_a_difference_of_two_cells_of_44(
    engine: Engine, randhie: Dataset
) -> None:
    whole = box(randhie, site="2", plan="17")
    without = box(randhie, site="2", plan="17", year=["1", "2", "3", "5", "_U"])
    facts = engine.region_facts(randhie, [Region((whole,)), Region((without,)), Region((whole,), (without,))])
    assert facts.units.tolist() == [44, 44, 6]


def test_no_filter_and_all_valid_codes_are_different_populations(engine: Engine, randhie: Dataset) -> None:
    filters = (Condition("site", "", ("3",)), Condition("year", "", ("2",)))
    valid = Condition("education", "", randhie.level("education").codes[:-1])
    assert engine.compute(randhie, CellQuery(filters=filters)).facts.units.tolist() == [694]
    assert engine.compute(randhie, CellQuery(filters=(*filters, valid))).facts.units.tolist() == [693]


def test_households_of_eleven_are_one_family_with_one_income(engine: Engine, randhie: Dataset) -> None:
    query = CellQuery(filters=(Condition("household_size", "", ("11",)),), measures=("income",))
    facts = engine.compute(randhie, query).facts
    assert (facts.units.tolist(), facts.records.tolist()) == ([12], [22])
    assert facts.households is not None
    assert facts.households[0] == pytest.approx(12 / 11)
    assert facts.measures[0].minima == facts.measures[0].maxima == pytest.approx(8665.641)


def test_a_table_over_a_varying_dimension_agrees_with_pandas(
    engine: Engine, randhie: Dataset, frame: pd.DataFrame
) -> None:
    dimensions = (("site", ""), ("age", "ten_years"), ("year", ""))
    computed = engine.compute(randhie, CellQuery(dimensions, measures=("meddol", "income")))
    assert not computed.units_additive
    facts = computed.facts
    site, age, year = (axis.codes for axis in computed.axes)
    for cell, (s, a, y) in enumerate(product(site, age, year)):
        rows = frame
        rows = rows if s == "_T" else rows[rows["site"].astype(str) == s]
        rows = (
            rows
            if a == "_T"
            else rows[rows["ten_years"] == (int(a.split("-")[0]) // 10 if a != "_U" else -1)]
        )
        rows = rows if y == "_T" else rows[rows["year"].astype(str) == y]
        assert (facts.records[cell], facts.units[cell]) == (len(rows), rows["zper"].nunique())
        assert facts.weight_sums is not None
        assert facts.weight_sums[cell] == 1000 * len(rows)
        for fact in facts.measures:
            assert fact.sums[cell] == pytest.approx(rows[fact.name].sum(), rel=1e-9, abs=1e-4)
            by_person = rows.groupby("zper")[fact.name].sum().nlargest(2).tolist()
            assert fact.largest[cell] == pytest.approx([*by_person, 0, 0][:2], abs=1e-4)


def test_warmed_up_the_engine_answers_again_from_its_verified_snapshot(
    engine: Engine, randhie: Dataset
) -> None:
    engine.warm_up()
    assert engine.compute(randhie, CellQuery()).facts.units.tolist() == [5_912]


def test_the_example_for_the_adult_file_is_a_descriptor() -> None:
    example = Path(__file__).parents[2] / "docs" / "examples" / "adult.yaml"
    declared = parse_descriptor(yaml.safe_load(example.read_text(encoding="utf-8")))
    assert len([variable for variable in declared.variables if variable.hierarchy]) == 9


ADULT_HIERARCHIES = {
    "sex": ["Male", "Female"],
    "education": ["Bachelors;Undergraduate;Higher education", "11th;High School;Secondary education",
                  "Some-college;Undergraduate;Higher education"],
    "age": [f"{age};{age // 5 * 5}-{age // 5 * 5 + 4};{age // 10 * 10}-{age // 10 * 10 + 9}"
            for age in range(1, 101)],
}  # fmt: skip


def test_a_file_with_hierarchy_files_is_registered_and_asked(tmp_path: Path) -> None:
    """The shape of the Adult file as ARX ships it: `;` throughout, hierarchies end in `*`, no unit id."""
    root = tmp_path / "data" / "adult"
    root.mkdir(parents=True)
    for name, lines in ADULT_HIERARCHIES.items():
        (root / f"hierarchy_{name}.csv").write_text("".join(f"{line};*\n" for line in lines))
    (root / "adult.csv").write_bytes(
        b"sex;age;education\r\nMale;39;Bachelors\r\nFemale;100;11th\r\nMale;17;Some-college\r\n"
    )
    levels = {"sex": ["sex"], "age": ["years", "five", "ten"], "education": ["education", "stage", "broad"]}
    declared = {
        "name": "adult",
        "data": {"path": "adult/adult.csv", "delimiter": ";"},
        "design": {"coverage": "SAMPLE", "population_size": 30_000},
        "variables": [
            {
                "name": name,
                "identifying": "YES",
                "hierarchy": {"path": f"adult/hierarchy_{name}.csv", "levels": names},
            }
            for name, names in levels.items()
        ],
    }
    engine = Engine(tmp_path / "data", tmp_path / "store", b"a" * 32)
    dataset = engine.register(parse_descriptor(declared)).dataset
    assert (dataset.n_units, dataset.weight_bounds) == (3, (10_000.0, 10_000.0))
    computed = engine.compute(dataset, CellQuery((("education", "stage"), ("age", "ten"))))
    stage, ten = computed.axes
    assert stage.codes == ("Undergraduate", "High School", "_U", "_T")
    assert (ten.codes[0], ten.codes[-3]) == ("0-9", "100-109")
    units = computed.facts.units.reshape(len(stage.codes), len(ten.codes))
    assert units[:, ten.codes.index("30-39")].tolist() == [1, 0, 0, 1]
    assert units[:, -1].tolist() == [2, 1, 0, 3]
    engine.close()
