"""Several files of one source: what is shared links them, and levels that lie crosswise tell more."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.risk import level_agreement as module
from sdcgate.methods.risk.level_agreement import Release, Shared
from sdcgate.methods.risk.several_files import coherence, several_files

AGES = np.arange(20)
YEARS = Shared(0, 0, AGES, AGES)


def one_column(codes, **given):
    return Release(np.asarray(codes)[:, None], **given)


def test_two_public_files_of_one_survey_give_the_whole_file_back():
    rng = np.random.default_rng(1)
    common = np.column_stack([rng.integers(0, n, 400) for n in (2, 20, 40)])
    parts = [np.column_stack([common, rng.integers(0, 5, (400, 2))]) for _ in range(2)]
    ids, weights = np.arange(400), np.full(400, 100.0)
    shared = tuple(Shared(key, key, np.arange(n), np.arange(n)) for key, n in enumerate((2, 20, 40)))
    found = several_files(Release(parts[0], weights, ids), Release(parts[1], weights, ids), shared)
    cells = np.unique(common, axis=0, return_counts=True)[1]
    assert found.links.expected == pytest.approx(len(cells), rel=1e-12)
    assert found.links.single == found.links.one_to_one == (cells == 1).sum()
    assert found.risk.union.sample_uniques > found.risk.first.sample_uniques
    assert found.risk.union.expected_matches > found.risk.through_links > 0
    # A unit that is alone with the shared key is known no better with more variables.
    assert found.risk.through_links <= found.risk.union.expected_matches


def test_bands_that_lie_crosswise_tell_finer_ones():
    found = coherence(Shared(0, 0, AGES // 10, (AGES + 5) // 10))
    assert (found.first_codes, found.second_codes, found.joint_codes, found.coherent) == (2, 3, 4, False)
    assert coherence(Shared(0, 0, AGES // 5, AGES // 10)).coherent
    assert coherence(YEARS).joint_codes == 20


def test_who_is_alone_only_in_the_intersection_is_linked_by_nothing_but_found_in_the_union():
    # Bands 0-9, 10-19 and 0-4, 5-14, 15-19: the person of 7 shares each band with others, not both.
    ages = np.array([2, 3, 7, 12, 13, 17, 18])
    first, second = one_column(ages // 10), one_column((ages + 5) // 10)
    ids = np.arange(len(ages))
    found = several_files(
        replace(first, ids=ids), replace(second, ids=ids), (Shared(0, 0, AGES // 10, (AGES + 5) // 10),)
    )
    assert found.risk.first.sample_uniques == found.risk.second.sample_uniques == 0
    assert found.risk.union.sample_uniques == 1


def test_without_ids_links_are_told_as_if_everybody_were_in_both():
    found = several_files(one_column([0, 0, 1, 2]), one_column([0, 0, 1, 1]), (YEARS,))
    assert found.links.candidates.tolist() == [2, 2, 2, 0]
    assert found.links.expected == 1.5
    assert (found.links.single, found.risk) == (0, None)


def test_one_to_one_needs_both_sides():
    found = several_files(one_column([3, 3, 5]), one_column([3, 5]), (YEARS,))
    assert (found.links.single, found.links.one_to_one) == (3, 1)


def test_releases_without_a_common_unit_have_no_linked_file():
    first = one_column([1, 2], ids=np.array([1, 2]))
    found = several_files(first, one_column([1, 2], ids=np.array([3, 4])), (YEARS,))
    assert (found.risk.common, found.risk.union.expected_matches, found.links.expected) == (0, 0.0, 0.0)
    assert found.risk.first.expected_matches == 2.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5]), st.sampled_from([2, 4, 7]))
def test_coarser_sharing_links_no_better_and_both_keys_no_worse(seed, band, other):
    rng = np.random.default_rng(seed)
    ages, ids = rng.integers(0, 20, 60), np.arange(60)
    weights = rng.uniform(2, 30, 60)

    def linked(first, second):
        parts = [Release(np.column_stack([level[ages], ages % 3]), weights, ids) for level in (first, second)]
        return several_files(*parts, (Shared(0, 0, first, second),))

    fine, coarse = linked(AGES, AGES), linked(AGES // band, (AGES + 1) // other)
    assert coarse.links.expected <= fine.links.expected + 1e-9
    assert coarse.risk.through_links <= coarse.risk.union.expected_matches + 1e-9
    assert coarse.risk.union.expected_matches >= coarse.risk.shared.expected_matches - 1e-9
    assert coarse.risk.union.sample_uniques >= coarse.risk.first.sample_uniques


@pytest.mark.parametrize(
    ("shared", "told"),
    [
        ((), "at least one"),
        ((Shared(1, 0, AGES, AGES),), "not in its release"),
        ((Shared(0, 0, AGES[:2], AGES[:2]),), "does not have"),
    ],
)
def test_what_does_not_fit_is_told(shared, told):
    with pytest.raises(ValueError, match=told):
        several_files(one_column([1, 5]), one_column([1, 5]), shared)


def test_ids_are_of_units_and_of_both_releases():
    with pytest.raises(ValueError, match="more than once"):
        one_column([1, 1], ids=np.array([7, 7]))
    with pytest.raises(ValueError, match="both releases"):
        several_files(one_column([1], ids=np.array([7])), one_column([1]), (YEARS,))
    with pytest.raises(ValueError, match="no units"):
        one_column(np.zeros(0, dtype=np.int64))
    with pytest.raises(ValueError, match="each finest code"):
        Shared(0, 0, AGES, AGES[:3])


def test_too_many_pairs_of_crosswise_keys_are_refused_and_coherent_ones_never_are(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_PAIRS", 3)
    several_files(one_column(AGES), one_column(AGES), (YEARS,))
    with pytest.raises(ValueError, match="coherent levels"):
        several_files(
            one_column(AGES // 2), one_column((AGES + 1) // 2), (Shared(0, 0, AGES // 2, (AGES + 1) // 2),)
        )
