"""k-anonymity and l-diversity against sdcMicro 5.8.1, t-closeness against its paper and SciPy."""

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.anonymity import Ground, k_anonymity, l_diversity, t_closeness
from sdcgate.methods.risk.keys import group_keys

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
# sdcMicro's ldiversity(testdata, keyVars = urbrur, roof, sex; ldiv_index = electcon, relat; l_recurs_c = 4):
# for a record of each key distinct, entropy and recursive diversity of electcon, then of relat.
DIVERSITY = {
    (2, 4, 1): (3, 2.0095361152811066, 2, 8, 2.3310540704835203, 2),
    (2, 4, 2): (3, 2.0200110747391555, 2, 9, 2.9248575703344577, 2),
    (2, 2, 1): (3, 1.749286971409006, 2, 7, 2.3721628089602715, 2),
    (2, 2, 2): (3, 1.7794517071493918, 2, 7, 2.9447980217878795, 2),
    (1, 4, 1): (3, 1.3294643375609374, 1, 5, 2.5464249320099164, 2),
    (1, 4, 2): (3, 1.4054560196444397, 1, 7, 3.287161531971036, 3),
    (2, 9, 1): (2, 1.5691925832141966, 1, 2, 2, 2),
    (2, 9, 2): (2, 1.9601317042077895, 2, 3, 2.4545555958911476, 2),
    (1, 5, 1): (1, 1, 1, 2, 2, 2),
    (1, 5, 2): (1, 1, 1, 2, 1.8898815748423097, 2),
    (2, 5, 1): (1, 1, 1, 2, 2, 2),
    (2, 5, 2): (1, 1, 1, 2, 2, 2),
    (1, 2, 2): (2, 1.943573790935383, 2, 4, 3.364109994255392, 3),
    (1, 2, 1): (2, 1.5362171861003946, 1, 2, 1.9940857527753038, 2),
    (2, 6, 1): (2, 1.9260702242522327, 2, 2, 1.9917412148051292, 2),
    (2, 6, 2): (2, 1.6493848884661177, 1, 4, 2.773297258704777, 2),
    (1, 6, 1): (1, 1, 1, 2, 1.7547653506033232, 2),
    (1, 6, 2): (1, 1, 1, 2, 1.7547653506033232, 2),
}


def test_diversity_of_every_record_is_sdcmicros():
    file = read_columns("testdata")
    keys = group_keys(code_columns(file, ["urbrur", "roof", "sex"]))
    electcon, relat = code_columns(file, ["electcon", "relat"]).T
    found = [l_diversity(keys, electcon, c=4), l_diversity(keys, relat, c=4)]
    assert len(keys) == len(DIVERSITY)
    for key, first in enumerate(keys.first):
        own = tuple(int(file[name][first]) for name in ("urbrur", "roof", "sex"))
        ours = [x for of in found for x in (of.distinct[key], of.entropy[key], of.recursive[key])]
        assert ours == pytest.approx(DIVERSITY[own], rel=1e-13)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_violating_records_are_those_of_sdcmicros_frequencies(k):
    file = read_columns("testdata")
    found = k_anonymity(code_columns(file, SEVEN), k)
    np.testing.assert_array_equal(found.below, np.asarray(file["fk"], dtype=float) < k)


def test_closeness_of_salaries_is_that_of_the_paper():
    """Li, Li and Venkatasubramanian (2007), 4.1: {3k, 4k, 5k} and {6k, 8k, 11k} of 3k, ..., 11k."""
    salaries = np.array([3, 4, 5, 6, 8, 11, 7, 9, 10]) - 3
    keys = group_keys(np.array([[0]] * 3 + [[1]] * 3 + [[2]] * 3))
    found = t_closeness(keys, salaries, Ground.ORDERED)
    assert found[:2].tolist() == pytest.approx([0.375, 1 / 6], rel=1e-12)


def test_diversity_of_the_papers_patients():
    """Machanavajjhala and others (2007), Figure 2 (4-anonymous) and Figure 3 (3-diverse)."""
    heart, viral, cancer = 0, 1, 2
    keys = group_keys(np.repeat([[0], [1], [2]], 4, axis=0))
    anonymous = np.array([heart, heart, viral, viral, cancer, heart, viral, viral] + [cancer] * 4)
    diverse = np.array(
        [heart, viral, cancer, cancer, cancer, heart, viral, viral, heart, viral, cancer, cancer]
    )
    assert l_diversity(keys, anonymous).distinct.tolist() == [2, 3, 1]
    assert l_diversity(keys, diverse).distinct.tolist() == [3, 3, 3]


def test_ordered_closeness_is_scipys_wasserstein_distance():
    from scipy.stats import wasserstein_distance

    rng = np.random.default_rng(7)
    keys = group_keys(rng.integers(0, 30, (500, 1)))
    values = rng.geometric(0.02, 500)
    found = t_closeness(keys, values, Ground.ORDERED)
    expected = [wasserstein_distance(values[keys.group == key], values) for key in range(len(keys))]
    np.testing.assert_allclose(found, np.array(expected) / values.max(), rtol=1e-9)


THREE = ["urbrur", "roof", "sex"]
FIVE = ["urbrur", "roof", "walls", "water", "sex"]


# pycanon 1.3.6 on testdata: k_anonymity, l_diversity, entropy_l_diversity, recursive_c_l_diversity's l, and
# t_closeness of the sensitive variable as text and as a number.
@pytest.mark.parametrize(
    ("key", "sensitive", "k", "distinct", "entropy", "equal", "ordered"),
    [
        (THREE, "electcon", 2, 1, 1, 0.5199529727914007, 0.5082717500839771),
        (THREE, "relat", 2, 2, 1, 0.32711393410083367, 0.07640184597062322),
        (FIVE, "relat", 1, 1, 1, 0.8242358078602621, 0.1900382096069869),
    ],
)
def test_a_file_is_as_anonymous_diverse_and_close_as_pycanon_says(
    key, sensitive, k, distinct, entropy, equal, ordered
):
    file = read_columns("testdata")
    codes = code_columns(file, key)
    keys, values = group_keys(codes), code_columns(file, [sensitive])[:, 0]
    diversity = l_diversity(keys, values)
    assert k_anonymity(codes, 2).smallest == k
    assert diversity.distinct.min() == distinct
    assert int(diversity.entropy.min()) == entropy  # it cuts off what is behind the point
    assert t_closeness(keys, values, Ground.EQUAL).max() == pytest.approx(equal, rel=1e-12)
    assert t_closeness(keys, values, Ground.ORDERED).max() == pytest.approx(ordered, rel=1e-12)
