"""Record swapping: who is swapped, with whom, how many, and what no swap ever changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.microdata.grouping import joint_codes, like_households
from sdcgate.methods.microdata.swapping import PlacedRecords, Swapping, members_places, swap_households
from sdcgate.methods.microdata.swapping_loss import NotInvariant, check_invariants, swapping_loss


def placed(households, areas, risk=None, similar=None):
    """A file of few records, codes as lists of rows."""
    number = len(households)
    none = np.zeros((number, 0), dtype=np.int64)
    return PlacedRecords(
        np.array(households),
        np.array(areas),
        none if risk is None else np.array(risk),
        (none,) if similar is None else tuple(np.array(one).reshape(number, -1) for one in similar),
    )


@st.composite
def files(draw):
    """Households of 1 to 4 persons in two levels of areas, two risk variables, two profiles."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=30))
    households = np.repeat(np.arange(len(sizes)), sizes)
    number = len(households)

    def codes(most, rows):
        return np.array(draw(st.lists(st.integers(-1, most), min_size=rows, max_size=rows)))

    areas = np.column_stack([codes(1, len(sizes)), codes(2, len(sizes))])[households]
    risk = np.column_stack([codes(2, number), codes(1, number)])
    of_home, of_person = codes(1, len(sizes))[households], codes(1, number)
    shuffled = np.array(draw(st.permutations(range(number))), dtype=np.int64)
    return PlacedRecords(
        households[shuffled],
        np.maximum(areas, 0)[shuffled],
        risk[shuffled],
        (np.column_stack([of_home, of_person])[shuffled], of_home[shuffled, None]),
    )


def counts(*columns):
    """Number of records with each combination of codes."""
    rows, found = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    return {tuple(row): int(number) for row, number in zip(rows.tolist(), found, strict=True)}


@given(files(), st.integers(0, 2**32), st.floats(0, 1), st.integers(0, 4))
@settings(deadline=None)
def test_no_swap_changes_what_similar_households_have_in_common_in_any_area(records, seed, rate, k):
    found = swap_households(records, np.random.default_rng(seed), rate, k)
    kept = records.similar[1]
    check_invariants(records, found, kept)
    moved = records.areas[members_places(records, found.partners)]
    assert counts(moved, kept) == counts(records.areas, kept)
    assert counts(moved[:, :1], kept) == counts(records.areas[:, :1], kept)
    sizes = np.bincount(records.households)[records.households]
    assert counts(moved, sizes) == counts(records.areas, sizes)
    homes = np.unique(records.households, return_index=True)[1]
    assert counts(moved[homes]) == counts(records.areas[homes])
    for household in range(len(homes)):  # a household stays together
        assert len(np.unique(moved[records.households == household], axis=0)) == 1


@given(files(), st.integers(0, 2**32), st.floats(0, 1), st.integers(0, 4))
@settings(deadline=None)
def test_partners_are_alike_by_their_profile_and_of_different_areas_at_their_level(records, seed, rate, k):
    found = swap_households(records, np.random.default_rng(seed), rate, k)
    alike = [like_households(records.households, one) for one in records.similar]
    homes = np.unique(records.households, return_index=True)[1]
    for one in np.flatnonzero(found.swapped_at >= 0).tolist():
        partner = found.partners[one]
        level = found.swapped_at[one]
        assert level == found.swapped_at[partner]
        assert alike[found.profiles[one]][one] == alike[found.profiles[one]][partner]
        own, other = records.areas[homes[one]], records.areas[homes[partner]]
        assert (own[: level + 1] != other[: level + 1]).any()
        assert found.profiles[partner] == found.profiles[one]


@given(files(), st.integers(0, 2**32), st.floats(0, 1))
@settings(deadline=None)
def test_without_risk_no_more_are_swapped_than_the_rate_says(records, seed, rate):
    found = swap_households(records, np.random.default_rng(seed), rate, 0)
    assert (found.swapped_at >= 0).sum() <= rate * len(found.partners) + 1e-6
    assert (found.at_risk == 2).all()


@given(files(), st.integers(1, 4))
@settings(deadline=None)
def test_who_is_at_risk_shares_a_combination_with_too_few_of_his_area(records, k):
    found = swap_households(records, np.random.default_rng(1), 0.0, k)
    for household, widest in enumerate(found.at_risk.tolist()):
        own = np.flatnonzero(records.households == household)
        by_level = []
        for level in range(2):
            parts = np.column_stack([records.areas[:, : level + 1], records.risk])
            by_level.append(any((parts == parts[one]).all(axis=1).sum() < k for one in own))
        assert by_level == [level >= widest for level in range(2)]


@given(files(), st.integers(0, 2**32), st.integers(1, 4))
@settings(deadline=None)
def test_whoever_is_at_risk_and_stays_had_no_like_household_left_elsewhere(records, seed, k):
    found = swap_households(records, np.random.default_rng(seed), 0.0, k)
    alike = like_households(records.households, records.similar[1])
    homes = np.unique(records.households, return_index=True)[1]
    areas = joint_codes(records.areas[homes])
    left = np.flatnonzero(found.swapped_at < 0)
    for one in left[found.at_risk[left] < 2].tolist():
        assert not any(alike[one] == alike[other] and areas[one] != areas[other] for other in left.tolist())


def test_who_is_at_risk_in_a_county_changes_county_and_not_only_town():
    """Of two counties with two towns each, the one stranger of the first county is of risk there."""
    towns = [[0, 0], [0, 1], [1, 0], [1, 1]]
    areas = [town for town in towns for _ in range(20)]
    stranger = [1] + [0] * 39 + [1] * 20 + [0] * 20
    records = placed(range(80), areas, [[one] for one in stranger])
    for seed in range(20):
        found = swap_households(records, np.random.default_rng(seed), 0.0, 3)
        assert found.at_risk[0] == 0
        assert found.swapped_at[0] == 0
        assert found.partners[0] >= 40
        assert (found.swapped_at >= 0).sum() == 2


def test_a_household_of_higher_risk_is_drawn_more_often():
    """Two towns without anybody at risk by k = 1: uniques (count 1) are drawn ten times as often as tens."""
    kinds = [*range(10), *([10] * 10)] * 2
    records = placed(range(40), [[0]] * 20 + [[1]] * 20, [[kind] for kind in kinds])
    chance = np.random.default_rng(5)
    drawn = np.zeros(40)
    for _ in range(300):
        drawn += swap_households(records, chance, 0.1, 1).swapped_at >= 0
    unique, common = drawn.reshape(2, 2, 10).sum(axis=(0, 2))
    assert unique + common == 300 * 4
    assert 5 < unique / common < 15


def test_a_draw_favours_nobody_where_all_are_alike():
    records = placed(range(30), [[place % 3] for place in range(30)])
    chance = np.random.default_rng(6)
    drawn = sum((swap_households(records, chance, 0.2, 0).swapped_at >= 0).astype(int) for _ in range(1000))
    assert drawn.sum() == 6000
    assert np.abs(drawn - 200).max() < 5 * np.sqrt(200)


def test_the_second_profile_is_tried_where_the_first_has_nobody():
    """Households 0 and 1 agree in colour, 2 agrees with nobody: it is swapped by the profile without it."""
    records = placed(
        range(4), [[0], [1], [0], [1]], [[0], [0], [1], [2]], [[[1], [1], [2], [3]], np.zeros((4, 0))]
    )
    found = swap_households(records, np.random.default_rng(1), 0.0, 3)
    assert found.partners.tolist() == [1, 0, 3, 2]
    assert found.profiles.tolist() == [0, 0, 1, 1]
    alone = PlacedRecords(records.households, records.areas, records.risk, records.similar[:1])
    assert swap_households(alone, np.random.default_rng(1), 1.0, 3).partners.tolist() == [1, 0, 2, 3]


def test_a_quota_that_an_area_cannot_use_is_used_elsewhere():
    """The singles of one village have nobody elsewhere: the rate is reached by the couples of the others."""
    households = [*range(20), *np.repeat(np.arange(20, 60), 2).tolist()]
    areas = [[0]] * 20 + [[1 + place // 2 % 2] for place in range(80)]
    found = swap_households(placed(households, areas), np.random.default_rng(2), 0.5, 0)
    assert (found.swapped_at[:20] < 0).all()
    assert (found.swapped_at >= 0).sum() == 30


def test_who_is_swapped_for_risk_counts_towards_the_rate():
    """Two towns of 20, four strangers in the first: at 25% ten of 40 are swapped, at 5% those at risk."""
    records = placed(range(40), [[0]] * 20 + [[1]] * 20, [[n if n < 4 else 9] for n in range(40)])
    for rate, swapped in ((0.25, 10), (0.05, 8), (0.0, 8)):
        found = swap_households(records, np.random.default_rng(3), rate, 3)
        assert (found.swapped_at >= 0).sum() == swapped
        assert (found.swapped_at[:4] >= 0).all()


def test_the_same_generator_gives_the_same_swaps():
    records = placed(range(50), [[place % 4] for place in range(50)])
    one, same, other = (
        swap_households(records, np.random.default_rng(seed), 0.5, 0).partners.tolist() for seed in (7, 7, 8)
    )
    assert one == same != other


def test_the_report_counts_who_moved_and_what_became_of_each_table():
    """Two towns of one county and one of another; 0 and 3 change places, and with them men and women."""
    records = placed(range(4), [[0, 0], [0, 1], [0, 0], [1, 0]])
    swapped = Swapping(
        partners=np.array([3, 1, 2, 0]),
        at_risk=np.array([0, 2, 2, 1]),
        swapped_at=np.array([0, -1, -1, 0]),
        profiles=np.array([0, -1, -1, 0]),
    )
    loss = swapping_loss(records, swapped, [np.array([[0], [0], [0], [1]])])
    assert (loss.households, loss.records, loss.swapped_households, loss.swapped_records) == (4, 4, 2, 2)
    assert loss.by_profile == (2,)
    assert [(one.at_risk, one.stayed, one.narrower) for one in loss.levels] == [(1, 0, 0), (1, 0, 0)]
    assert [(one.moved_households, one.moved_records) for one in loss.levels] == [(2, 2), (2, 2)]
    county, town = loss.tables
    # Counties by sex before: 3 and 0, 0 and 1; after: 2 and 1, 1 and 0.
    assert (county.cells, county.changed, county.mean_absolute, county.largest_absolute) == (4, 4, 1.0, 1.0)
    squares = (np.sqrt([3, 0, 0, 1]) - np.sqrt([2, 1, 1, 0])) ** 2
    assert county.hellinger == pytest.approx(np.sqrt(squares.sum() / 2 / 4), rel=1e-12)
    assert (town.level, town.cells, town.changed) == (1, 5, 4)


@pytest.mark.parametrize(
    "partners", [[1, 2, 0, 3], [2, 1, 0, 3], [1, 0, 2, 3]], ids=["circle", "unlike", "unsaid"]
)
def test_what_is_no_swap_of_like_households_is_found_before_it_leaves(partners):
    records = placed(range(4), [[0], [1], [1], [0]], similar=[[[0], [0], [1], [1]]])
    wrong = np.array(partners)
    at = np.where(wrong == np.arange(4), -1, 0) if partners[2] != 2 else np.full(4, -1)
    with pytest.raises(NotInvariant):
        check_invariants(records, Swapping(wrong, np.full(4, 1), at, at), records.similar[0])


def test_who_changed_places_is_not_in_the_text_of_the_result():
    found = swap_households(placed(range(9), [[i % 3] for i in range(9)]), np.random.default_rng(1), 1.0, 0)
    assert "partners" not in repr(found)
    assert "swapped_at" not in repr(found)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"households": []}, "at least one record"),
        ({"households": [0, 2, 3]}, "without gaps"),
        ({"households": [0, 0, 1], "areas": [[0], [1], [1]]}, "1 households are in several areas"),
        ({"areas": [[0], [1]]}, "areas must have the shape"),
        ({"areas": [[-2], [1], [1]]}, "areas: codes must be -1"),
        ({"areas": np.zeros((3, 0), dtype=int)}, "at least one level"),
        ({"rate": 5.0}, "0.05 for 5%"),
        ({"rate": float("nan")}, "0.05 for 5%"),
        ({"k": -1}, "k must be 0 or more"),
        ({"similar": []}, "at least one profile"),
    ],
)
def test_what_is_wrong_is_told(change, word):
    given = {"households": [0, 1, 2], "areas": [[0], [1], [1]], "rate": 0.5, "k": 3, **change}
    rate, k = given.pop("rate"), given.pop("k")
    if change.get("households") == []:
        given["areas"] = np.zeros((0, 1), dtype=int)
    with pytest.raises(ValueError, match=word):
        swap_households(placed(**given), np.random.default_rng(1), rate, k)


@given(files())
@settings(deadline=None)
def test_like_households_are_those_whose_members_can_be_paired(records):
    columns = records.similar[0]
    found = like_households(records.households, columns)
    homes = range(int(records.households.max()) + 1)
    members = [sorted(columns[records.households == one].tolist()) for one in homes]
    for one in homes:
        assert [found[one] == found[kin] for kin in homes] == [members[one] == members[kin] for kin in homes]
