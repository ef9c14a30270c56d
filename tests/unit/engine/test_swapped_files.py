"""Files of any types, swapped: what moves, what stays, which draws, and all that is wrong."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.swapped_files import RankedColumn, RankSwap, RecordSwap, swap_ranks, swap_records
from sdcgate.engine.swapping_draws import swapping_generator

SECRET = bytes(range(32))
MOVED = ("county", "town", "grid")


def persons(households=60):
    """Households of 1 to 3 persons in two counties of three towns, with columns of many types."""
    chance = np.random.default_rng(1)
    size = 1 + np.arange(households) % 3
    owner = np.repeat(np.arange(households), size)
    town = np.array([f"t{number}" for number in chance.integers(0, 3, households)])
    county = chance.integers(1, 3, households)
    return pa.table(
        {
            "home": pa.array([f"h{number}" for number in owner]),
            "county": pa.array(county[owner], pa.int8()),
            "town": pa.array(town[owner]).dictionary_encode(),
            "grid": pa.array([decimal.Decimal(int(number)) / 4 for number in owner]),
            "age": chance.integers(0, 6, len(owner)),
            "sex": pa.array([None if n == 7 else "fm"[n % 2] for n in range(len(owner))]),
            "notes": pa.array([[n, n] for n in range(len(owner))]),
        }
    )


HOW = RecordSwap(
    hierarchy=("county", "town"),
    household="home",
    similar=(("sex",), ()),
    risk_variables=("age", "sex"),
    carry_along=("grid",),
    swap_rate=0.4,
)


def swapped(table=None, how=HOW, secret=SECRET, options=b"as asked"):
    return swap_records(persons() if table is None else table, how, secret, options)


def test_the_geography_of_a_household_moves_as_a_whole_and_nothing_else_does():
    before = persons()
    after, loss = swapped(before)
    assert after.schema == before.schema
    still = [name for name in before.column_names if name not in MOVED]
    assert after.select(still).equals(before.select(still))
    homes = {row["home"]: row for row in before.to_pylist()}
    places = {tuple(row[name] for name in MOVED): row["home"] for row in before.to_pylist()}
    moved = 0
    for row in after.to_pylist():
        source = homes[places[tuple(row[name] for name in MOVED)]]
        moved += source["home"] != row["home"]
        assert tuple(source[name] for name in MOVED) == tuple(row[name] for name in MOVED)
    assert moved == loss.swapped_records > 0
    assert loss.households == 60
    assert [(one.level, one.table) for one in loss.tables] == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_the_same_file_by_the_same_options_is_swapped_in_the_same_way():
    before, (after, _) = persons(), swapped()
    assert swapped()[0].equals(after)
    renamed = before.set_column(0, "home", pa.array([f"x{text}" for text in before["home"].to_pylist()]))
    assert swapped(renamed)[0].select(MOVED).equals(after.select(MOVED))
    more = before.append_column("unread", pa.array(range(before.num_rows)))
    assert swapped(more)[0].select(MOVED).equals(after.select(MOVED))
    chunked = pa.concat_tables([before.slice(0, 17), before.slice(17)])
    assert swapped(chunked)[0].select(MOVED).to_pylist() == after.select(MOVED).to_pylist()


def test_another_secret_file_or_option_has_other_draws():
    after, _ = swapped()
    before = persons()
    ages = before["age"].to_pylist()
    changed = before.set_column(4, "age", pa.array([*ages[:-1], ages[-1] + 7]))
    for other in (
        swapped(secret=SECRET[::-1])[0],
        swapped(options=b"otherwise")[0],
        swapped(changed)[0],
    ):
        assert not other.select(MOVED).equals(after.select(MOVED))


def test_which_tables_the_report_compares_draws_nothing_anew():
    asked = RecordSwap(**{name: getattr(HOW, name) for name in HOW.__slots__} | {"tables": (("age",),)})
    after, loss = swapped(how=asked)
    assert after.equals(swapped()[0])
    assert [(one.level, one.table) for one in loss.tables] == [(0, 0), (1, 0)]


def test_draws_tell_apart_where_one_column_ends_and_the_next_begins():
    codes = np.array([0, 1])
    one = swapping_generator(SECRET, b"", [("ab", ("c",), codes)])
    two = swapping_generator(SECRET, b"", [("a", ("bc",), codes)])
    same = swapping_generator(SECRET, b"", [("ab", ("c",), codes)])
    assert one.integers(2**60) == same.integers(2**60) != two.integers(2**60)


def test_who_lacks_a_similarity_value_is_like_those_who_lack_it_too():
    table = pa.table({"area": ["a", "a", "b", "b"], "kind": ["x", None, "", "y"]})
    after, loss = swap_records(table, RecordSwap(("area",), similar=(("kind",),), swap_rate=1.0), SECRET, b"")
    assert after["area"].to_pylist() == ["a", "b", "a", "b"]
    assert loss.swapped_households == 2


def wrong(how, table=None):
    with pytest.raises(MicrodataUnusable) as caught:
        swap_records(persons() if table is None else table, how, SECRET, b"")
    return dict(caught.value.problems)


def test_columns_that_are_not_there_are_told_with_their_options():
    how = RecordSwap(("county", "twon"), "hme", (("sex", "x"),), ("y",), carry_along=("z",), tables=(("v",),))
    found = wrong(how)
    assert set(found) == {
        "hierarchy[1]",
        "household",
        "similar[0].variables[1]",
        "risk_variables[0]",
        "carry_along[0]",
        "tables[0].variables[0]",
    }
    assert "'town'" in found["hierarchy[1]"]


def test_a_household_in_two_areas_is_told_by_the_column_without_a_value():
    table = persons()
    towns = table["town"].to_pylist()
    found = wrong(HOW, table.set_column(2, "town", pa.array([*towns[:-1], "elsewhere"])))
    assert set(found) == {"hierarchy[1]"}
    assert "'town' differs within 1 households" in found["hierarchy[1]"]
    found = wrong(RecordSwap(("county",), "home", carry_along=("age",)))
    assert set(found) == {"carry_along[0]"}


def test_an_area_that_is_missing_is_no_area():
    table = persons()
    towns = table["town"].to_pylist()
    found = wrong(HOW, table.set_column(2, "town", pa.array([None, *towns[1:]])))
    assert "1 records without a value, the first is record 1" in found["hierarchy[1]"]
    assert wrong(HOW, table.set_column(0, "home", pa.array([None] * table.num_rows))).keys() == {"household"}


@pytest.mark.parametrize(
    ("how", "path"),
    [
        (RecordSwap(("county", "county")), "carry_along"),
        (RecordSwap(("county",), carry_along=("county",)), "carry_along"),
        (RecordSwap(("county",), risk_variables=("county",)), "risk_variables[0]"),
        (RecordSwap(("county",), carry_along=("grid",), tables=(("age", "grid"),)), "tables[0].variables[1]"),
        (RecordSwap(("home",), "home"), "household"),
        (RecordSwap(("county",), risk_variables=("notes",)), "risk_variables[0]"),
    ],
)
def test_a_column_that_cannot_be_what_it_is_named_for_is_told(how, path):
    assert set(wrong(how)) == {path}


def test_what_all_profiles_have_is_kept_in_every_area():
    assert RecordSwap(("county",), similar=(("age", "sex"), ("sex",))).kept == ("sex",)
    assert RecordSwap(("county",), similar=(("county", "sex"),), carry_along=("age",)).kept == ("sex",)
    assert RecordSwap(("county",)).kept == ()
    assert RecordSwap(("c",), similar=(("c", "a"),), risk_variables=("a", "b")).compared == (("a",), ("b",))


def test_values_of_numbers_and_of_ordered_categories_change_places_as_they_were_written():
    table = pa.table(
        {
            "income": pa.array(["3.50", "1.0", "n/a", "2", None, "7e1"]),
            "school": pa.array(["low", "high", "mid", "mid", "low", None]),
            "id": range(6),
        }
    )
    how = RankSwap((RankedColumn("income"), RankedColumn("school", ("low", "mid", "high"))), 0.26, ("n/a",))
    after, loss = swap_ranks(table, how, SECRET, b"")
    # Of four numbers the window is one rank: 1.0 with 2, 3.50 with 7e1, whatever is drawn.
    assert after["income"].to_pylist() == ["7e1", "2", "n/a", "1.0", None, "3.50"]
    assert after["id"].equals(table["id"])
    assert sorted(filter(None, after["school"].to_pylist())) == ["high", "low", "low", "mid", "mid"]
    assert after["school"].to_pylist()[5] is None
    assert [(one.values, one.window) for one in loss.variables] == [(4, 1), (5, 1)]


def test_variables_are_swapped_by_draws_of_their_own():
    chance = np.random.default_rng(2)
    table = pa.table({"a": chance.random(300), "b": chance.random(300)})
    table = table.append_column("c", table["a"])
    after, loss = swap_ranks(table, RankSwap((RankedColumn("a"), RankedColumn("c")), 0.2), SECRET, b"")
    assert not after["a"].equals(after["c"])
    assert loss.largest_correlation_change > 0.01


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (RankSwap((RankedColumn("age"), RankedColumn("age")), 0.1), {"variables"}),
        (RankSwap((RankedColumn("ages"),), 0.1), {"variables[0].column"}),
        (RankSwap((RankedColumn("age"), RankedColumn("sex")), 0.1), {"variables[1].column"}),
        (RankSwap((RankedColumn("sex", ("f",)),), 0.1), {"variables[0].order"}),
        (RankSwap((RankedColumn("age"),), 0.0001), {"rank_share"}),
        (RankSwap((RankedColumn("notes"),), 0.1), {"variables[0]"}),
    ],
)
def test_what_cannot_be_ranked_is_told(how, told):
    with pytest.raises(MicrodataUnusable) as caught:
        swap_ranks(persons(), how, SECRET, b"")
    assert set(dict(caught.value.problems)) == told
