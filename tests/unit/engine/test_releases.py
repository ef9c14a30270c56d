"""Two releases of one source: what they share is found by name, at whatever levels, and who is who by ids."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sdcgate.engine.declared_microdata import DeclaredKey, declared_microdata
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.microdata import MicrodataColumns, MicrodataUnusable, read_microdata
from sdcgate.engine.releases import two_releases
from sdcgate.methods.risk.several_files import coherence, several_files

PEOPLE = 60


@pytest.fixture
def source() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    ages, places = rng.integers(0, 40, PEOPLE), rng.integers(0, 5, PEOPLE)
    return pd.DataFrame(
        {"id": [f"p{number}" for number in range(PEOPLE)], "age": ages, "place": places, "w": 20.0}
    )


def band(ages: pd.Series, first: int) -> pd.Series:
    """Bands of ten years that begin at `first`, as texts."""
    low = (ages - first) // 10 * 10 + first
    return low.clip(lower=0).astype(str) + "-" + (low + 9).astype(str)


def read(frame: pd.DataFrame, folder: Path, name: str, **given: object):
    frame.to_csv(folder / name, index=False)
    return read_microdata(
        folder / name, MicrodataColumns(**{"keys": ("age", "place"), "weight": "w", **given})
    )


def test_bands_of_two_files_are_compared_by_the_numbers_that_they_hold(source, tmp_path):
    first = read(source.assign(age=band(source.age, 0)), tmp_path, "one.csv", unit="id")
    shuffled = source.assign(age=band(source.age, 5)).sample(frac=0.8, random_state=1)
    second = read(shuffled, tmp_path, "two.csv", unit="id")
    both = two_releases(first, second, False)
    assert [one.title for one in both.variables] == ["age", "place"]
    ages = coherence(both.shared[0])
    assert (ages.first_codes, ages.second_codes, ages.joint_codes, ages.coherent) == (4, 5, 8, False)
    found = several_files(both.first, both.second, both.shared)
    assert found.risk.common == len(shuffled)
    # Everybody agrees with himself: each common unit has the right link among its candidates.
    expected = (1 / found.links.candidates[np.isin(source.id, shuffled.id)]).sum()
    assert found.links.expected == pytest.approx(expected, rel=1e-12)


def test_bands_that_overlap_within_one_file_are_texts(source, tmp_path):
    overlapping = source.assign(age=np.where(source.place > 2, band(source.age, 0), band(source.age, 5)))
    first = read(overlapping, tmp_path, "one.csv")
    both = two_releases(first, read(overlapping, tmp_path, "two.csv"), False)
    ages = coherence(both.shared[0])
    assert ages.first_codes == ages.joint_codes == overlapping.age.nunique()


def test_years_and_bands_are_nested(source, tmp_path):
    first = read(source, tmp_path, "one.csv")
    second = read(source.assign(age=band(source.age, 0)), tmp_path, "two.csv")
    both = two_releases(first, second, False)
    assert coherence(both.shared[0]).coherent
    assert both.first.ids is None


def test_texts_are_compared_as_they_stand_and_what_one_lacks_agrees_with_nothing(source, tmp_path):
    names = source.place.map(dict(enumerate("abcde")))
    first = read(source.assign(place=names), tmp_path, "one.csv")
    few = source.assign(place=names)[names != "a"]
    both = two_releases(first, read(few, tmp_path, "two.csv"), False)
    candidates = several_files(both.first, both.second, both.shared).links.candidates
    assert (candidates[(names == "a").to_numpy()] == 0).all()


def test_keys_of_one_file_are_linked_by_the_place_of_their_records(source, tmp_path):
    first = read(source, tmp_path, "one.csv")
    second = read(source, tmp_path, "one.csv", keys=("age",))
    both = two_releases(first, second, True)
    assert both.first.ids.tolist() == both.second.ids.tolist() == list(range(PEOPLE))
    assert [one.title for one in both.variables] == ["age"]


def test_levels_of_a_descriptor_are_compared_by_its_finest_codes(source, tmp_path):
    source.to_csv(tmp_path / "people.csv", index=False)
    levels = [
        {"name": "years", "integers": {"first": 0, "last": 49}},
        {"name": "ten", "band_width": 10},
        {"name": "odd", "codes": [{"code": "young", "integers": {"first": 0, "last": 24}},
                                  {"code": "old", "integers": {"first": 25, "last": 49}}]},
    ]  # fmt: skip
    descriptor = parse_descriptor(
        {
            "name": "people",
            "data": {"path": "people.csv"},
            "unit": {"column": "id"},
            "design": {"coverage": "CENSUS"},
            "variables": [
                {"name": "age", "identifying": "YES", "levels": levels[:2]},
                {"name": "place", "identifying": "YES", "levels": [{"integers": {"first": 0, "last": 4}}]},
            ],
        }
    )
    other = parse_descriptor(
        {
            **descriptor.model_dump(mode="json"),
            "variables": [{"name": "age", "identifying": "YES", "levels": [levels[0], levels[2]]}],
        }
    )
    first = declared_microdata(descriptor, tmp_path, DeclaredKey(("age:ten", "place")))
    both = two_releases(first, declared_microdata(other, tmp_path, DeclaredKey(("age:odd",))), False)
    assert [one.title for one in both.variables] == ["age:ten / age:odd"]
    ages = coherence(both.shared[0])
    assert (ages.first_codes, ages.second_codes, ages.joint_codes, ages.coherent) == (5, 2, 6, False)
    assert sorted(both.first.ids.tolist()) == sorted(both.second.ids.tolist())


def test_what_has_nothing_in_common_is_told(source, tmp_path):
    first = read(source, tmp_path, "one.csv", keys=("age",))
    with pytest.raises(MicrodataUnusable, match="no variable is shared"):
        two_releases(first, read(source, tmp_path, "two.csv", keys=("place",)), False)
    words = source.assign(age="year " + source.age.astype(str))
    with pytest.raises(MicrodataUnusable, match="nothing in common"):
        two_releases(first, read(words, tmp_path, "three.csv", keys=("age",)), False)
