"""What changed between two versions, unit by unit, against a count by hand over made records."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Region

CODES = {"town": ("a", "b", "c"), "job": ("x", "y")}
Record = tuple[str, str, int | None, int]
"""Town, job, income (None where missing), weight."""
Version = dict[str, list[Record]]

records = st.lists(
    st.tuples(
        st.sampled_from(CODES["town"]),
        st.sampled_from(CODES["job"]),
        st.one_of(st.none(), st.integers(-3, 3)),
        st.integers(1, 3),
    ),
    max_size=3,
)
versions = st.dictionaries(st.sampled_from("pqrstuv"), records, min_size=7).filter(
    lambda one: any(one.values())
)


def registered(engine: Engine, folder: Path, people: Version):
    lines = ["id,town,job,income,weight"]
    lines += [
        f"{name},{town},{job},{'' if income is None else income},{weight}"
        for name, those in people.items()
        for town, job, income, weight in those
    ]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    variables = [
        {
            "name": name,
            "identifying": "NO",
            "varies_within_unit": True,
            "levels": [{"codes": [{"code": code} for code in codes]}],
        }
        for name, codes in CODES.items()
    ]
    given_ = {
        "name": "people",
        "data": {"path": "people.csv"},
        "unit": {"column": "id", "label": "person"},
        "design": {"coverage": "CENSUS"},
        "weight": {"column": "weight", "varies_within_unit": True},
        "variables": variables,
        "measures": [{"name": "income"}],
    }
    return engine.register(parse_descriptor(given_)).dataset


def chosen(region: Region, record: Record) -> bool:
    places = {"town": CODES["town"].index(record[0]), "job": CODES["job"].index(record[1])}
    places["measure:income"] = int(record[2] is None)

    def inside(box) -> bool:
        return all(mask >> places[name] & 1 for name, mask in box)

    return any(map(inside, region.inside)) and not any(map(inside, region.outside))


def by_hand(versions_: tuple[Version, Version], region: Region, part) -> dict[str, int]:
    """By how much each unit's part of a figure differs, where it does."""
    differences: dict[str, int] = defaultdict(int)
    for sign, version in zip((-1, 1), versions_, strict=True):
        for name, those in version.items():
            differences[name] += sum(sign * part(one) for one in those if chosen(region, one))
    return {name: difference for name, difference in differences.items() if difference}


def counted(units) -> list[int]:
    return [len(one) for one in units]


REGIONS = [
    Region(((),)),
    Region(((("town", 1),),)),
    Region(((("job", 2), ("town", 6)),)),
    Region(((("town", 3),),), ((("job", 1),),)),
    Region(((("measure:income", 1),),)),
    Region(((("town", 1),), (("job", 1),))),
    Region(()),
]


@settings(max_examples=40, deadline=None)
@given(before=versions, after=versions)
def test_changes_are_those_of_a_count_by_hand(tmp_path_factory, before, after):
    folder = tmp_path_factory.mktemp("people")
    engine = Engine(folder, folder / "store", b"s" * 32)
    try:
        first, second = registered(engine, folder, before), registered(engine, folder, after)
        changes = engine.changes(first, second)
        inside = changes.inside(REGIONS)
        moved, records_ = map(counted, (changes.moved(inside), changes.different(inside)))
        weights = counted(changes.different(inside, "", True))
        incomes = counted(changes.different(inside, "income"))
        weighted = counted(changes.different(inside, "income", True))
        parts = changes.contributions(inside, "income", 2)
        for place, region in enumerate(REGIONS):
            those = [
                {name for name, own in version.items() if any(chosen(region, one) for one in own)}
                for version in (before, after)
            ]
            assert moved[place] == len(those[0] ^ those[1])
            pair = (before, after)
            assert records_[place] == len(by_hand(pair, region, lambda one: 1))
            assert weights[place] == len(by_hand(pair, region, lambda one: one[3]))
            assert weighted[place] == len(by_hand(pair, region, lambda one: (one[2] or 0) * one[3]))
            differences = by_hand(pair, region, lambda one: one[2] or 0)
            assert incomes[place] == parts.valid_units[place] == len(differences)
            in_weights = by_hand(pair, region, lambda one: (one[2] or 0) * one[3])
            of_weighted = changes.contributions([inside[place]], "income", 1, weighted=True)
            assert of_weighted.absolute_sums[0] == sum(map(abs, in_weights.values()))
            assert of_weighted.largest[0, 0] == max(map(abs, in_weights.values()), default=0)
            sizes = sorted(map(abs, differences.values()), reverse=True)
            assert parts.sums[place] == sum(differences.values())
            assert parts.absolute_sums[place] == sum(sizes)
            assert parts.largest[place].tolist() == [*sizes, 0, 0][:2]
            assert (parts.minima[place], parts.maxima[place]) == (
                min(differences.values(), default=0),
                max(differences.values(), default=0),
            )
    finally:
        engine.close()


@pytest.fixture
def engine(tmp_path):
    made = Engine(tmp_path, tmp_path / "store", b"s" * 32)
    yield made
    made.close()


def test_of_two_equal_versions_nothing_changed(engine, tmp_path):
    people: Version = {"p": [("a", "x", 1, 1)], "q": [("b", "y", None, 2)]}
    first = registered(engine, tmp_path, people)
    changes = engine.changes(first, first)
    inside = changes.inside(REGIONS)
    assert counted(changes.different(inside)) == [0] * len(REGIONS)
    assert np.all(changes.contributions(inside, "income", 1).largest == 0)
