"""Two files as linkage takes them: the same codes in both, who is who, and all that is wrong at once."""

import numpy as np
import pyarrow as pa
import pytest

from sdcgate.engine.linked_files import (
    Kind,
    LinkedColumns,
    LinkedVariable,
    linked_files_of_tables,
    read_linked_files,
    weights_in_order,
)
from sdcgate.engine.microdata import MicrodataUnusable

SECRET = "Zwicky of Glarus"
VARIABLES = (
    LinkedVariable("income", Kind.NUMERIC, weight=2.0),
    LinkedVariable("area", Kind.NOMINAL, "region", weight=3.0),
    LinkedVariable("school", Kind.ORDINAL, order=("low", "middle", "high")),
)


def original(**changes):
    return pa.table(
        {"id": ["a", "b", "c"], "income": [1.5, 2.0, 3.0], "area": ["n", "s", None],
         "school": ["low", "high", "middle"]} | changes
    )  # fmt: skip


def released(**changes):
    return pa.table(
        {"id": ["c", "x", "a", "b"], "income": [3.1, 9.0, 1.4, 2.2], "region": ["w", "s", "n", None],
         "school": ["middle", "low", "low", "high"]} | changes
    )  # fmt: skip


def problems(first=None, second=None, variables=VARIABLES, as_categories=False, **columns):
    with pytest.raises(MicrodataUnusable) as caught:
        linked_files_of_tables(
            first or original(), second or released(), LinkedColumns(variables, **columns), as_categories
        )
    assert SECRET not in str(caught.value)
    return caught.value.problems


def test_both_files_have_the_same_codes_and_the_id_tells_who_is_who():
    made = linked_files_of_tables(original(), released(), LinkedColumns(VARIABLES, "id"), False)
    assert made.original.numbers.tolist() == [[1.5, 0.0], [2.0, 1.0], [3.0, 0.5]]
    assert made.released.numbers[:, 1].tolist() == [0.5, 0.0, 0.0, 1.0]
    assert made.original.codes.tolist() == [[0], [1], [-1]]
    assert made.released.codes.tolist() == [[2], [1], [0], [-1]]
    assert made.truth.tolist() == [2, -1, 0, 1]
    assert weights_in_order(LinkedColumns(VARIABLES)) == (2.0, 1.0, 3.0)


def test_ordered_values_are_categories_where_values_are_compared_for_equality():
    made = linked_files_of_tables(original(), released(), LinkedColumns(VARIABLES[1:]), True)
    assert made.original.numbers.shape == (3, 0)
    assert made.original.codes.shape == (3, 2)
    assert made.truth is None
    assert made.known.tolist() == [-1] * 4


def test_without_an_id_the_order_may_tell_who_is_who():
    made = linked_files_of_tables(
        original(), original(), LinkedColumns(VARIABLES[:1], same_order=True, blocks=("school",)), False
    )
    assert made.truth.tolist() == [0, 1, 2]
    assert made.original.blocks.tolist() == made.released.blocks.tolist() == [[1], [0], [2]]
    found = problems(same_order=True)
    assert [path for path, _ in found] == ["same_order"]


def test_the_population_may_have_a_row_for_several_people():
    table = original(people=[1, 4, 20])
    made = linked_files_of_tables(table, released(), LinkedColumns(VARIABLES[1:], count="people"), True)
    assert made.counts.tolist() == [1, 4, 20]
    for wrong in ([1, 4, 0], [1, 4, 2.5]):
        found = problems(original(people=wrong), variables=VARIABLES[1:], as_categories=True, count="people")
        assert found[0][0] == "count"


def test_all_that_is_wrong_is_told_at_once_and_of_which_file():
    found = problems(
        variables=(
            LinkedVariable("incom", Kind.NUMERIC),
            LinkedVariable("area", Kind.NOMINAL, order=("n",)),
            LinkedVariable("school", Kind.ORDINAL, weight=float("nan"), order=("low", "low")),
            LinkedVariable("school", Kind.ORDINAL),
        ),
        unit_id="person",
        same_order=True,
        blocks=("district",),
    )
    assert [path for path, _ in found] == [
        "same_order", "variables[1].order", "variables[2].weight", "variables[2].order", "variables[3]",
        "variables[0].column", "blocks[0]", "id",
        "variables[0].column", "variables[1].column", "blocks[0]", "id",
    ]  # fmt: skip
    assert found[5][1] == "original: the file has no column 'incom'; the nearest are 'income'"
    assert found[9][1].startswith("released: the file has no column 'area'")


def test_no_value_of_a_record_is_told():
    found = dict(
        problems(
            second=released(income=["1", SECRET, "", "4"], school=["low", SECRET, "low", None], id=["a"] * 4),
            unit_id="id",
        )
    )
    assert "2 records without a finite number, the first is record 2" in found["variables[0].column"]
    assert "2 records without a value of its order, the first is record 2" in found["variables[2].column"]
    assert found["id"] == "released: stands 3 times more than once: link files by units"


def test_numbers_are_not_compared_for_equality():
    found = problems(as_categories=True)
    assert found == (("variables[0].kind", "this method compares categories: put the numbers into bands"),)


@pytest.mark.parametrize("value", [1e200, -1e200])
def test_numbers_whose_squares_cannot_be_summed_are_told(value):
    found = problems(first=original(income=[1.0, value, 2.0]))
    assert "beyond 1e+150" in found[0][1]


def test_files_are_read_where_they_lie(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.parquet"
    original().to_pandas().to_csv(first, index=False)
    released().to_pandas().to_parquet(second)
    made = read_linked_files(first, second, LinkedColumns(VARIABLES, "id"), False)
    assert made.truth.tolist() == [2, -1, 0, 1]
    assert np.isclose(made.released.numbers[0, 0], 3.1)
    with pytest.raises(MicrodataUnusable) as caught:
        read_linked_files(first, tmp_path / "c.csv", LinkedColumns(VARIABLES, "nobody"), False)
    assert len(caught.value.problems) == 2
