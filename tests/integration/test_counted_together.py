"""What is counted together, overlapping regions and several measures, is what is counted one by one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines_compared import MEASURES, conditions, files, regions, same
from powers_two_ways import agree, by_records, by_sums
from sdcgate.engine import Engine, Region, parse_descriptor
from sdcgate.engine import regions as engine_regions
from sdcgate.engine import squares_at_once as at_once
from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.methods.cells import Facts
from sdcgate.methods.rules import Contributions, NegativeValues
from two_roads import frame_of, registered

SECRET = b"t" * 32
SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
OVERLAPPING = [
    Region(((),), ((("sex", 1),),)),
    Region(((),), ((("region", 1),),)),
    Region(((),), ((("region", 2),),)),
    Region(((("region", 7),),), ((("age", 3),),)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("together")


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    made = Engine(folder, folder / "store", SECRET)
    yield made
    made.close()


def test_regions_and_measures_of_random_files_are_as_each_by_itself(engine, folder, monkeypatch) -> None:
    """Missing and negative values, several records a unit, weights, households, holdings and waivers."""
    seen: Counter[object] = Counter()

    @SOME
    @given(file=files(), drawn=regions(), how=_contributions(), ranks=st.integers(1, 3))
    def same_facts(file, drawn: list[Region], how: Contributions, ranks: int) -> None:
        frame, declared = file
        frame.to_csv(folder / "people.csv", index=False)
        dataset = engine.register(parse_descriptor(declared)).dataset
        asked = [*drawn, *OVERLAPPING[:2]] if len(drawn) % 2 else [*OVERLAPPING, *drawn]

        together = engine.region_facts(dataset, asked, MEASURES, ranks, how)

        with monkeypatch.context() as patched:
            patched.setattr(engine_regions, "MOST_COMBINATIONS", -1)
            same(engine.region_facts(dataset, asked, MEASURES, ranks, how), together)
            for place, region in enumerate(asked):
                alone = engine.region_facts(dataset, [region], MEASURES[::-1], ranks, how)
                same(replace(alone, measures=alone.measures[::-1]), _part(together, place))
        for place, name in enumerate(MEASURES):
            (own,) = engine.region_facts(dataset, asked, (name,), ranks, how).measures
            same(own, together.measures[place])
        single = dataset.records_per_unit == 1
        seen[("single" if single else "several", dataset.weighted, dataset.holdings)] += 1
        seen["missing"] += bool(dataset.profiles["x"].has_missing)
        seen["negative"] += dataset.profiles["x"].minimum < 0

    same_facts()
    assert len(seen) == 2 + 2 * 2 * 2
    assert min(seen.values()) > 0


def test_overlapping_regions_read_each_record_once(engine, folder, monkeypatch) -> None:
    """Eleven of twelve regions have each record; units that are in many combinations are counted anew."""
    rng = np.random.default_rng(5)
    frame = frame_of(5, 300, most=1).assign(age=rng.integers(0, 12, 300))
    dataset = registered(engine, folder, frame, name="once")
    run, given_ = engine._database.run, []

    def spied(sql, tables=None):
        given_.extend(table.num_rows for table in (tables or {}).values())
        return run(sql, tables)

    monkeypatch.setattr(engine._database, "run", spied)
    asked = [Region(((),), ((("age", 1 << code),),)) for code in range(12)]

    facts = engine.region_facts(dataset, asked, ("debt",))

    assert given_ == [12]
    assert facts.records.tolist() == [int((frame["age"] != code).sum()) for code in range(12)]
    np.testing.assert_allclose(
        facts.measures[0].sums, [frame["debt"][frame["age"] != code].sum() for code in range(12)]
    )
    most = [frame["debt"][frame["age"] != code].abs().nlargest(2).tolist() for code in range(12)]
    assert facts.measures[0].largest.tolist() == most


@SOME
@given(file=files(), coalition=st.integers(1, 3), chosen=conditions(), few=st.booleans())
def test_squares_of_random_files_are_those_of_each_measure(engine, folder, file, coalition, chosen, few):
    frame, declared = file
    if few:
        # Values that lie as far on both sides of their mean: which of them are meant is a matter of units.
        frame["x"] = np.sign(frame["x"])
    frame.to_csv(folder / "people.csv", index=False)
    dataset = engine.register(parse_descriptor(declared)).dataset
    queries = [MomentQuery(name, 2, coalition, MEASURES, chosen) for name in MEASURES]

    found = engine.moment_sums(dataset, lambda: None).of_populations(queries)

    for query, own in zip(queries, found, strict=True):
        agree(by_sums(engine, dataset, query), own)
        agree(by_records(engine, dataset, query), own)


@pytest.mark.parametrize("far", [0, 10**6, 10**15])
def test_squares_of_many_measures_take_one_statement(engine, folder, monkeypatch, far: int) -> None:
    """Also of values whose squares 64 bits do not hold, and of one that lies far out."""
    dataset = registered(engine, folder, frame_of(2, 200, outlier=1e6, far=far), name=f"far{far}")
    measures = ("cost", "debt", "far", "income")
    queries = [MomentQuery(name, 2, 1, measures) for name in measures]
    each = [by_sums(engine, dataset, query) for query in queries]
    run, asked = engine._database.run, []

    def spied(sql, tables=None):
        asked.append(sql)
        return run(sql, tables)

    monkeypatch.setattr(engine._database, "run", spied)

    found = engine.moment_sums(dataset, lambda: None).of_populations(queries)

    assert len(asked) == 1
    for own, theirs in zip(found, each, strict=True):
        agree(theirs, own)
    powers = engine.moment_sums(dataset, lambda: None).of_populations([replace(queries[0], highest=4)])
    assert [one.order for one in powers[0]] == [2, 3, 4]


def test_measures_of_other_records_are_not_asked_together(engine, folder) -> None:
    dataset = registered(engine, folder, frame_of(2, 50), name="others")
    queries = [MomentQuery("cost", 2, 1, ("cost",)), MomentQuery("debt", 2, 1, ("cost", "debt"))]
    with pytest.raises(ValueError, match="different records"):
        engine.moment_sums(dataset, lambda: None).of_populations(queries)


def test_values_as_far_on_both_sides_do_not_say_who_is_in_the_coalition() -> None:
    assert at_once.Outermost(7, 0, 26, (-3, -2), (3, 2)).closeness(1.0) is None
    assert at_once.Outermost(4, 3, 17, (-2, 0), (3, 2)).closeness(1.0) is None, "too few to be sure"


def test_the_closeness_of_outermost_values_by_hand() -> None:
    """Of -3 0 0 0 1 4 without -3 the mean is 1 and the variance 12/5: Samuelson's bound is 1 + sqrt(9.6)."""
    found = at_once.Outermost(6, 2, 26, (-3, 0), (4, 1)).closeness(1.0)
    assert found == pytest.approx((9.6**0.5 - 3) / 4, rel=1e-14)


def _contributions() -> st.SearchStrategy[Contributions]:
    return st.builds(Contributions, st.sampled_from(list(NegativeValues)), st.booleans())


def _part(facts: Facts, place: int) -> Facts:
    """Of one region."""

    def part(value):
        return value[place : place + 1] if isinstance(value, np.ndarray) else value

    def parts(one):
        names = one.__dataclass_fields__
        made = {name: part(getattr(one, name)) for name in names}
        for name in names:
            if hasattr(made[name], "__dataclass_fields__"):
                made[name] = parts(made[name])
        return replace(one, **made)

    return replace(parts(facts), measures=tuple(map(parts, facts.measures)))
