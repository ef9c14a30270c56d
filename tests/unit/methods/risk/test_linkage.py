"""Record linkage by distance: nearest records, ties, blocks, and what an intruder gets right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.risk.linkage import Metric, Records, Scale, link_by_distance, link_one_to_one

SIZES = st.tuples(st.integers(1, 20), st.integers(1, 20))


def of_numbers(*rows, codes=None, blocks=None):
    numbers = np.array(rows, dtype=float).reshape(len(rows), -1)
    none = np.zeros((len(rows), 0), dtype=np.int64)
    return Records(numbers, none if codes is None else np.array(codes), blocks)


@st.composite
def file_pairs(draw):
    first, second = draw(SIZES)
    files = []
    for size in (first, second):
        numbers = draw(arrays(np.float64, (size, 2), elements=st.integers(-3, 3).map(float)))
        codes = draw(arrays(np.int64, (size, 2), elements=st.integers(-1, 2)))
        blocks = draw(arrays(np.int64, (size, 1), elements=st.integers(0, 1)))
        files.append(Records(numbers, codes, blocks))
    truth = draw(arrays(np.int64, (second,), elements=st.integers(-1, first - 1)))
    return files[0], files[1], truth


@given(file_pairs(), st.sampled_from(Metric), st.sampled_from([None, [1.0, 0.5, 2.0, 0.0]]))
def test_links_are_those_of_a_comparison_of_all_pairs(files, metric, weights):
    original, masked, truth = files
    weights = None if weights is None else np.array(weights)
    found = link_by_distance(original, masked, metric, Scale.NONE, weights, truth)
    w = np.ones(4) if weights is None else weights
    for record in range(len(masked)):
        numbers = np.abs(original.numbers - masked.numbers[record]) ** metric.value
        differs = original.codes != masked.codes[record]
        away = (np.hstack([numbers, differs]) @ w) ** (1 / metric.value)
        away[original.blocks[:, 0] != masked.blocks[record, 0]] = np.inf
        nearest = np.isclose(away, away.min(), rtol=1e-9) & np.isfinite(away)
        assert found.ties[record] == nearest.sum()
        assert found.distances[record] == pytest.approx(away.min(), abs=1e-12)
        assert found.second[record] == pytest.approx(np.sort([*away, np.inf])[1], abs=1e-12)
        right = truth[record] >= 0 and nearest[truth[record]]
        assert found.correct[record] == pytest.approx(1 / nearest.sum() if right else 0.0)
        assert nearest[found.linked[record]] if nearest.any() else found.linked[record] == -1


def test_a_file_that_was_not_masked_is_linked_whole():
    numbers = np.random.default_rng(1).normal(size=(300, 3))
    file = Records(numbers, np.zeros((300, 0), dtype=np.int64))
    for scale in Scale:
        assert link_by_distance(file, file, scale=scale).rate == 1.0


def test_two_people_of_the_same_values_are_guessed():
    file = of_numbers([1.0], [1.0], [5.0])
    found = link_by_distance(file, file)
    assert found.correct.tolist() == [0.5, 0.5, 1.0]
    assert found.rate == pytest.approx(2 / 3)


def test_records_that_are_all_the_same_are_guessed_from_all():
    file = of_numbers(*[[7.0]] * 5_000)
    found = link_by_distance(file, file)
    assert set(found.ties.tolist()) == {5_000}
    assert found.expected_matches == pytest.approx(1.0)


def test_standardising_each_file_undoes_a_shift_and_a_factor():
    original = of_numbers([1.0], [2.0], [4.0], [9.0])
    masked = Records(original.numbers * 100 - 7, original.codes)
    assert link_by_distance(original, masked, scale=Scale.OWN).rate == 1.0
    assert link_by_distance(original, masked, scale=Scale.ORIGINAL).rate < 1.0


def test_a_variable_that_does_not_vary_changes_nothing():
    numbers = np.array([[1.0, 3.0], [2.0, 3.0]])
    file = Records(numbers, np.zeros((2, 0), dtype=np.int64))
    for scale in (Scale.OWN, Scale.ORIGINAL, Scale.RANGE):
        assert link_by_distance(file, file, scale=scale).correct.tolist() == [1.0, 1.0]


def test_only_records_of_the_same_block_are_linked():
    original = of_numbers([0.0], [1.0], blocks=np.array([[0], [1]]))
    masked = of_numbers([0.9], [0.9], blocks=np.array([[0], [2]]))
    found = link_by_distance(original, masked, scale=Scale.NONE)
    assert found.linked.tolist() == [0, -1]
    assert found.ties.tolist() == [1, 0]
    assert found.distances[1] == np.inf


def test_who_knows_that_the_files_hold_the_same_people_links_each_once():
    original, masked = of_numbers([1.0], [2.0], [3.0]), of_numbers([1.4], [1.45], [3.0])
    alone = link_by_distance(original, masked, scale=Scale.NONE)
    together = link_one_to_one(original, masked, scale=Scale.NONE)
    assert alone.expected_matches == 2.0
    assert together.linked.tolist() == [0, 1, 2]
    assert together.rate == 1.0


@pytest.mark.parametrize(
    ("original", "masked", "more", "message"),
    [
        (of_numbers([np.nan]), of_numbers([1.0]), {}, "numbers of original must be finite"),
        (of_numbers([1.0]), of_numbers([np.inf]), {}, "numbers of masked must be finite"),
        (of_numbers([1e200]), of_numbers([1.0]), {}, "at most"),
        (of_numbers([1.0]), of_numbers([1.0, 2.0]), {}, "same variables"),
        (of_numbers([1.0], [2.0]), of_numbers([1.0]), {}, "truth must be given"),
        (of_numbers([1.0]), of_numbers([1.0]), {"truth": np.array([1])}, "truth must be a position"),
        (of_numbers([1.0]), of_numbers([1.0]), {"weights": np.array([0.0])}, "not all 0"),
        (of_numbers([1.0]), of_numbers([1.0]), {"weights": np.array([np.nan])}, "weights must be finite"),
        (of_numbers([1.0], blocks=np.array([[0]])), of_numbers([1.0]), {}, "both files or for none"),
        (
            Records(np.zeros((0, 1)), np.zeros((0, 0), dtype=int)),
            of_numbers([1.0]),
            {},
            "at least one record",
        ),
        (Records(np.zeros((1, 0)), np.zeros((1, 0), dtype=int)), of_numbers([1.0]), {}, "one variable"),
    ],
)
def test_files_that_do_not_fit_are_refused(original, masked, more, message):
    with pytest.raises(ValueError, match=message):
        link_by_distance(original, masked, **more)


def test_more_masked_records_than_originals_cannot_be_assigned():
    with pytest.raises(ValueError, match="no more records"):
        link_one_to_one(of_numbers([1.0]), of_numbers([1.0], [2.0]), truth=np.array([0, -1]))
