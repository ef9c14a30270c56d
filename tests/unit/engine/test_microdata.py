"""Files of microdata become codes: of CSV, Parquet, by descriptors; what is wrong names its option."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sdcgate.engine.declared_microdata import DeclaredKey, declared_microdata
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.microdata import (
    MicrodataColumns,
    MicrodataUnusable,
    microdata_of_table,
    read_microdata,
)
from sdcgate.methods.risk.microdata import by_units

FRAME = pd.DataFrame(
    {
        "person": ["b", "b", "a", "c"],
        "age": [10, 9, 100, None],
        "region": ["north", "north", "?", "south"],
        "w": [2.5, 2.5, 4.0, 1.0],
        "sick": [1, 1, 0, 1],
    }
)


@pytest.fixture(params=["csv", "parquet"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"people.{request.param}"
    FRAME.to_csv(path, index=False) if request.param == "csv" else FRAME.to_parquet(path)
    return path


def columns(**given: object) -> MicrodataColumns:
    return MicrodataColumns(**{"keys": ("age", "region"), **given})  # type: ignore[arg-type]


def problems(file: Path, **given: object) -> dict[str, str]:
    with pytest.raises(MicrodataUnusable) as caught:
        read_microdata(file, columns(**given))
    return dict(caught.value.problems)


def test_values_are_coded_in_order_and_missing_ones_are_none(file: Path) -> None:
    found = read_microdata(file, columns(weight="w", unit="person", sensitive=("sick",), missing=("?",)))
    assert found.keys[0].categories == ("9", "10", "100")
    assert found.codes[:, 0].tolist() == [1, 0, 2, -1]
    assert found.keys[1].categories == ("north", "south")
    assert found.codes[:, 1].tolist() == [0, 0, -1, 1]
    assert found.weights.tolist() == [2.5, 2.5, 4.0, 1.0]
    assert [found.unit_names[unit] for unit in found.units] == ["b", "b", "a", "c"]
    assert found.sensitive[0][1].tolist() == [1, 1, 0, 1]


def test_a_population_counts_units_not_records(file: Path) -> None:
    assert read_microdata(file, columns(population=30)).fraction == 4 / 30
    assert read_microdata(file, columns(population=30, unit="person")).fraction == 3 / 30


def test_every_wrong_option_is_named_at_once(file: Path) -> None:
    found = problems(file, keys=("agee", "region", "region"), weight="ww", fraction=0.5)
    assert set(found) == {"keys", "keys[0]", "weight", "fraction"}
    assert "'age'" in found["keys[0]"]
    assert set(problems(file, sensitive=("age",))) == {"sensitive"}
    assert set(problems(file, population=2)) == {"population"}
    assert set(problems(file, keys=())) == {"keys"}


def test_what_stands_in_a_wrong_record_is_not_told(file: Path) -> None:
    found = problems(file, weight="region", household="age")
    assert "first is record 1" in found["weight"]
    assert "1 records without an id, the first is record 4" in found["household"]
    assert "north" not in str(found)


DESCRIPTOR = {
    "name": "people",
    "data": {"path": "people.csv", "missing": ["?"]},
    "unit": {"column": "person"},
    "weight": {"column": "w", "decimals": 1},
    "design": {"coverage": "SAMPLE"},
    "reference_date": "2025-01-31",
    "variables": [
        {
            "name": "age",
            "identifying": "YES",
            "varies_within_unit": True,
            "levels": [
                {"name": "years", "integers": {"first": 0, "last": 100}},
                {"name": "broad", "codes": [{"code": "young", "integers": {"first": 0, "last": 64}},
                                            {"code": "old", "integers": {"first": 65, "last": 100}}]},
            ],
        },
        {"name": "region", "identifying": "VERY",
         "levels": [{"codes": [{"code": "north"}, {"code": "south"}]}]},
        {"name": "sick", "identifying": "NO", "sensitive": True,
         "levels": [{"codes": [{"code": 0}, {"code": 1}]}]},
    ],
}  # fmt: skip


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    FRAME.astype({"age": "Int64"}).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def test_identifying_variables_of_a_descriptor_are_the_key(data_root: Path) -> None:
    found = declared_microdata(parse_descriptor(DESCRIPTOR), data_root)
    assert [key.name for key in found.keys] == ["age", "region"]
    assert found.codes[:, 0].tolist() == [10, 9, 100, -1]
    assert found.weights.tolist() == [2.5, 2.5, 4.0, 1.0]
    assert [name for name, _ in found.sensitive] == ["sick"]
    ((name, coarser),) = found.keys[0].coarser
    assert name == "age:broad"
    assert (coarser[:65] == 0).all()
    assert (coarser[65:] == 1).all()


def test_a_level_that_is_named_is_the_key(data_root: Path) -> None:
    found = declared_microdata(parse_descriptor(DESCRIPTOR), data_root, DeclaredKey(("age:broad",)))
    assert found.codes[:, 0].tolist() == [0, 0, 1, -1]
    units = by_units(found)
    assert units.codes.tolist() == [[0], [1], [-1]]
    assert units.weights.tolist() == [2.5, 4.0, 1.0]


def test_a_key_that_varies_is_one_variable_a_wave(data_root: Path) -> None:
    units = by_units(declared_microdata(parse_descriptor(DESCRIPTOR), data_root))
    assert [(key.name, key.wave) for key in units.keys] == [("region", None), ("age", 1), ("age", 2)]
    assert units.codes.tolist() == [[0, 10, 9], [-1, 100, -1], [1, -1, -1]]
    assert units.fraction == 3 / np.sum([2.5, 4.0, 1.0])


def test_what_is_not_declared_is_named_with_what_is(data_root: Path) -> None:
    with pytest.raises(MicrodataUnusable) as caught:
        declared_microdata(
            parse_descriptor(DESCRIPTOR), data_root, DeclaredKey(("age:ten", "sex"), wave="year")
        )
    found = dict(caught.value.problems)
    assert "'broad'" in found["keys[0]"]
    assert "'region'" in found["keys[1]"]
    assert set(found) == {"keys[0]", "keys[1]", "wave"}


@pytest.mark.parametrize("several", [False, True], ids=["one piece", "two pieces"])
def test_dictionaries_that_hold_null_or_a_text_twice_are_read_like_others(several: bool) -> None:
    def encoded(index: list[int], *texts: str | None) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(index, pa.int8()), pa.array(texts, pa.string()))

    pieces = [encoded([0, 1, 2, 3], "n", None, "s", "n"), encoded([1, 0, 0, 1], None, "s")][: 1 + several]
    table = pa.table({"region": pa.chunked_array(pieces)})
    found = microdata_of_table(table, MicrodataColumns(("region",), fraction=0.1))
    assert found.keys[0].categories == ("n", "s")
    assert found.codes[:, 0].tolist() == [0, -1, 1, 0, 1, -1, -1, 1][: 4 * (1 + several)]
