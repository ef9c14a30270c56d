"""Tables that are computed in one scan are to the last bit what each is by itself."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engines_compared import files, same, tables
from sdcgate.engine import CellQuery, Condition, Dataset, Engine, UnknownName, parse_descriptor
from sdcgate.engine import tables_together as together

SECRET = bytes(range(32))
SEX, JOB, BANDS, YEARS = (("sex", ""),), (("job", ""),), (("age", "bands"),), (("age", "years"),)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("together")
    made = Engine(folder, folder / "store", SECRET)
    yield made
    made.close()


def register(engine: Engine, data: st.DataObject, single: bool = True, **fields: Any) -> Dataset:
    frame, declared = data.draw(files())
    frame = frame.drop_duplicates("id") if single else frame
    frame.to_csv(engine._data_root / "people.csv", index=False)
    return engine.register(parse_descriptor(declared | fields)).dataset


def statements(engine: Engine, dataset: Dataset, queries: list[CellQuery]) -> int:
    """How many scans tables take together."""
    run, said = engine._database.run, []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine._database, "run", lambda *asked: said.append(asked) or run(*asked))
        engine.compute_together(dataset, queries)
    return len(said)


FEW = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@FEW
@given(data=st.data())
def test_each_fact_is_that_of_a_scan_of_its_own(engine: Engine, data: st.DataObject) -> None:
    dataset = register(engine, data, data.draw(st.sampled_from([True, True, False])))
    for first in data.draw(st.lists(tables(), min_size=3, max_size=3)):
        others = data.draw(st.lists(tables(), min_size=1, max_size=2))
        queries = [first, *(replace(first, dimensions=other.dimensions) for other in others)]

        found = engine.compute_together(dataset, queries)

        for query, computed in zip(queries, found, strict=True):
            same(computed, engine.compute(dataset, query))


@settings(FEW, max_examples=5)
@given(data=st.data())
def test_they_are_scanned_once_where_cells_add(engine: Engine, data: st.DataObject) -> None:
    dataset = register(engine, data, household={"size_column": "size"}, holding=None, waiver=None)
    sex, job, bands, years = (
        CellQuery(levels, measures=("x",), valid=("x",)) for levels in (SEX, JOB, BANDS, YEARS)
    )
    crossed = replace(sex, dimensions=JOB + SEX)

    assert statements(engine, dataset, [sex]) == 1
    assert statements(engine, dataset, [sex, job, replace(sex, dimensions=()), bands]) == 1
    assert statements(engine, dataset, [crossed, bands]) == 1
    # Two levels of one variable are no table.
    assert statements(engine, dataset, [bands, years]) == 2
    # Tables of other records, or with other figures.
    assert statements(engine, dataset, [sex, replace(job, filters=(Condition("sex", "", ("f",)),))]) == 2
    assert statements(engine, dataset, [sex, replace(job, measures=())]) == 2


@settings(FEW, max_examples=5)
@given(data=st.data())
def test_tables_with_many_cells_have_a_scan_each(engine: Engine, data: st.DataObject) -> None:
    dataset = register(engine, data, household=None, holding=None)
    sex, job = CellQuery(SEX), CellQuery(JOB)
    assert together.query_of_all(dataset, [sex, job]) == CellQuery(SEX + JOB)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(together, "MOST_TOGETHER", 8)
        assert together.query_of_all(dataset, [sex, job]) is None
        assert statements(engine, dataset, [sex, job]) == 2


@settings(FEW, max_examples=1)
@given(data=st.data())
def test_what_the_descriptor_does_not_declare_is_unknown(engine: Engine, data: st.DataObject) -> None:
    dataset = register(engine, data)

    assert engine.compute_together(dataset, []) == []
    with pytest.raises(UnknownName):
        engine.compute_together(dataset, [CellQuery(SEX), CellQuery((("sect", ""),))])
