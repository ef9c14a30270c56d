"""Record linkage and interval disclosure against sdcMicro 5.8.1 and SciPy."""

import numpy as np
import pytest

from reference_data import read_columns
from sdcgate.methods.risk.interval_disclosure import Interval, interval_disclosure
from sdcgate.methods.risk.linkage import Metric, Records, Scale, link_by_distance, link_one_to_one
from sdcgate.methods.risk.probabilistic_linkage import fit_fellegi_sunter

VARIABLES = ["fixed_assets", "current_assets", "sales", "labor_costs", "gross_profit"]


@pytest.fixture(scope="module")
def tarragona():
    file = read_columns("tarragona_noise")
    original = np.column_stack([file[name] for name in VARIABLES])
    return original, np.column_stack([file[f"masked_{name}"] for name in VARIABLES])


def records(numbers):
    return Records(numbers, np.zeros((len(numbers), 0), dtype=np.int64))


@pytest.mark.parametrize(
    ("metric", "scale", "variables", "total", "right"),
    [
        (Metric.MANHATTAN, Scale.RANGE, 5, 14.10254272857088, None),
        (Metric.EUCLIDEAN, Scale.NONE, 1, 31752601.57162649, 9),
        (Metric.MANHATTAN, Scale.NONE, 1, 49640250.459, None),
    ],
)
def test_links_one_to_one_have_sdcmicros_distances(tarragona, metric, scale, variables, total, right):
    """recordLinkage of the first 200 records: gower, euclidean, manhattan; an optimal assignment."""
    original, masked = (records(numbers[:200]) for numbers in tarragona)
    found = link_one_to_one(original, masked, metric, scale)
    assert found.distances.sum() / variables == pytest.approx(total, rel=1e-12)
    if right is not None:  # of Manhattan's several assignments are the best
        assert found.expected_matches == right


def test_a_files_own_links_may_cost_more_than_the_nearest():
    """sdcMicro's test of recordLinkage: 1, 2, 3, 4 against 2, 3, 4 and one that is 1.1 below the first."""
    original, masked = (
        records(np.array([[2.0], [3.0], [4.0], [-0.1]])),
        records(np.array([[1.0], [2], [3], [4]])),
    )
    found = link_one_to_one(original, masked, Metric.MANHATTAN, Scale.RANGE)
    assert found.linked.tolist() == [3, 0, 1, 2]
    assert found.distances.tolist() == pytest.approx([0.26829268292682934, 0, 0, 0], rel=1e-12)
    assert found.rate == 0.0


@pytest.mark.parametrize(
    ("width", "share"), [(0.01, 0.0), (0.05, 0.0), (0.1, 0.007194244604316547), (0.3, 0.5251798561151079)]
)
def test_interval_disclosure_is_sdcmicros_drisk(tarragona, width, share):
    found = interval_disclosure(*tarragona, width, Interval.STANDARD_DEVIATION)
    assert found.of_records == pytest.approx(share, rel=1e-14)


@pytest.mark.parametrize("metric", Metric)
def test_nearest_records_are_those_of_all_distances(tarragona, metric):
    from scipy.spatial.distance import cdist

    original, masked = tarragona
    found = link_by_distance(records(original), records(masked), metric)
    scaled = [(x - x.mean(axis=0)) / x.std(axis=0) for x in (original, masked)]
    distances = cdist(scaled[1], scaled[0], "minkowski", p=metric.value)
    np.testing.assert_allclose(found.distances, distances.min(axis=1), rtol=1e-10)
    assert found.expected_matches == (distances.argmin(axis=1) == np.arange(len(original))).sum()


def test_em_has_the_closed_form_of_three_variables():
    """Three variables that agree alike: the moments of the number of agreements give m, u and the share.

    With pattern counts made from m = 0.8, u = 0.1 and a share of 0.2 the likelihood's maximum is these.
    """
    original = np.array([[0, 0, 0]])
    masked = np.array(
        [[0 if pattern >> place & 1 else 1 for place in range(3)] for pattern in range(8)], dtype=np.int64
    )
    agreements = (masked == 0).sum(axis=1)
    m, u, share = 0.8, 0.1, 0.2
    chance = share * m**agreements * (1 - m) ** (3 - agreements) + (1 - share) * u**agreements * (1 - u) ** (
        3 - agreements
    )
    counts = np.round(chance * 10**6).astype(int)
    model = fit_fellegi_sunter(original, np.repeat(masked, counts, axis=0), iterations=20_000)
    np.testing.assert_allclose(model.matches, m, rtol=1e-3)
    np.testing.assert_allclose(model.others, u, rtol=1e-3)
    assert model.share == pytest.approx(share, rel=1e-3)


def erring_files():
    """Files of 300 and 240 records of five variables; the second has errors and gaps, and no order."""
    rng = np.random.default_rng(2026)
    sizes = (12, 2, 31, 20, 6)
    original = np.column_stack([rng.integers(0, size, 300) for size in sizes])
    masked = original[rng.permutation(300)[:240]].copy()
    for column, (size, wrong) in enumerate(zip(sizes, (0.05, 0.01, 0.15, 0.1, 0.3), strict=True)):
        erring = rng.random(240) < wrong
        masked[erring, column] = rng.integers(0, size, erring.sum())
    masked[rng.random(masked.shape) < 0.03] = -1
    return original, masked


# Record Linkage Toolkit 0.16: Compare().exact of all variables, ECMClassifier(atol=None, max_iter=1000).fit,
# over all 72,000 pairs, and over the 35,700 of Index().block on the second variable: p, m_probs, u_probs.
ALL_PAIRS = (
    0.003482448377519443,
    [0.9343910231391971, 0.984836416863596, 0.7962286236456004, 0.8857579639929571, 0.6989794807124508],
    [0.08030346193600606, 0.4941244542553178, 0.03215861006534058, 0.04744171806061576, 0.15978896352491295],
)
BLOCKED = (
    0.00706199190887784,
    [0.931206679550723, 0.782575959030399, 0.885047395641128, 0.6973411440269097],
    [0.07930601323887879, 0.03257464524981755, 0.04581000702987068, 0.15919682807448723],
)


@pytest.mark.parametrize(("block", "expected"), [(None, ALL_PAIRS), (1, BLOCKED)])
def test_em_is_that_of_the_record_linkage_toolkit(block, expected):
    original, masked = erring_files()
    share, matches, others = expected
    blocks = None
    if block is not None:
        blocks = original[:, [block]], masked[:, [block]]
        original, masked = np.delete(original, block, axis=1), np.delete(masked, block, axis=1)
    model = fit_fellegi_sunter(original, masked, blocks)
    assert model.share == pytest.approx(share, rel=1e-8)
    np.testing.assert_allclose(model.matches, matches, rtol=1e-8)
    np.testing.assert_allclose(model.others, others, rtol=1e-8)
