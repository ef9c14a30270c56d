"""Records of a population: those of a plain filter over the file, column by column."""

import numpy as np
import pandas as pd

from sdcgate.engine import CellQuery, Condition
from sdcgate.engine.queries import RecordsQuery

FILE = pd.DataFrame(
    {
        "id": ["a", "a", "b", "c", "d", "d"],
        "region": ["north", "north", "south", None, "north", "north"],
        "pay": [1.5, None, 2.5, 3.0, -4.0, 0.25],
        "w": [2.0, 2.0, 1.5, 1.0, 3.0, 3.0],
    }
)


def declared(people):
    return people(
        variables=[
            {
                "name": "region",
                "identifying": "YES",
                "levels": [{"codes": [{"code": "north"}, {"code": "south"}]}],
            }
        ],
        measures=[{"name": "pay", "decimals": 2}],
        weight={"column": "w", "decimals": 1},
    )


def test_only_records_of_the_filter_that_have_the_measure_come(bench, people) -> None:
    bench.write(FILE)
    dataset = bench.register(declared(people))
    north = (Condition("region", "", ("north",)),)

    found = bench.engine.records(dataset, RecordsQuery((("region", ""),), ("pay",), north))

    assert sorted(found.measures["pay"].tolist()) == [-4.0, 0.25, 1.5]
    assert found.codes["region", ""].tolist() == [0, 0, 0]
    by_unit = {}
    for unit, pay in zip(found.unit.tolist(), found.measures["pay"].tolist(), strict=True):
        by_unit.setdefault(unit, set()).add(pay)
    assert sorted(map(sorted, by_unit.values())) == [[-4.0, 0.25], [1.5]]
    assert set(by_unit) == {0, 1}
    assert sorted(found.weights.tolist()) == [2.0, 3.0, 3.0]


def test_records_do_not_show_in_repr(bench, people) -> None:
    bench.write(FILE)
    dataset = bench.register(declared(people))

    found = bench.engine.records(dataset, RecordsQuery((), ("pay",)))

    assert "0.25" not in repr(found)


def test_cells_count_only_records_with_a_measure_where_that_is_asked(bench, people) -> None:
    bench.write(FILE)
    dataset = bench.register(declared(people))

    cells = bench.engine.compute(dataset, CellQuery((("region", ""),), valid=("pay",)))

    assert cells.axes[0].codes == ("north", "south", "_U", "_T")
    np.testing.assert_array_equal(cells.facts.records, [3, 1, 1, 5])
    np.testing.assert_array_equal(cells.facts.units, [2, 1, 1, 4])
