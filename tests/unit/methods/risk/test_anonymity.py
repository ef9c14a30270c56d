"""k-anonymity, l-diversity and t-closeness as their definitions have them, key by key."""

from collections import Counter
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk.anonymity import Diversity, Ground, k_anonymity, l_diversity, t_closeness
from sdcgate.methods.risk.keys import Missing, group_keys

files = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 5)), min_size=1, max_size=40)


def grouped(file):
    keys = group_keys(np.array([[key] for key, _ in file]))
    sensitive = np.array([value for _, value in file])
    values = [sensitive[(keys.group == key) & (sensitive >= 0)].tolist() for key in range(len(keys))]
    return keys, sensitive, values


@given(files, st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_diversity_is_that_of_the_definitions(file, c):
    keys, sensitive, values = grouped(file)
    found = l_diversity(keys, sensitive, c)
    for key, of_key in enumerate(values):
        counts = sorted(Counter(of_key).values(), reverse=True)
        assert found.distinct[key] == len(counts)
        entropy = -sum(n / len(of_key) * log(n / len(of_key)) for n in counts)
        assert found.entropy[key] == pytest.approx(exp(entropy) if counts else 0.0)
        met = [at for at in range(1, len(counts) + 1) if counts[0] < c * sum(counts[at - 1 :])]
        assert found.recursive[key] == max(met, default=0)


@given(files)
def test_closeness_is_the_earth_movers_distance(file):
    keys, sensitive, values = grouped(file)
    known = sensitive[sensitive >= 0]
    equal = t_closeness(keys, sensitive, Ground.EQUAL, categories=6)
    ordered = t_closeness(keys, sensitive, Ground.ORDERED, categories=6)
    for key, of_key in enumerate(values):
        if not of_key:
            assert equal[key] == ordered[key] == 1.0
            continue
        p = np.bincount(of_key, minlength=6) / len(of_key)
        q = np.bincount(known, minlength=6) / len(known)
        assert equal[key] == pytest.approx(abs(p - q).sum() / 2, abs=1e-12)
        assert ordered[key] == pytest.approx(abs(np.cumsum(p - q)).sum() / 5, abs=1e-12)


@given(files)
def test_a_file_of_one_key_is_as_its_own_group(file):
    keys, sensitive, _ = grouped([(0, value) for _, value in file])
    if (sensitive >= 0).any():
        assert t_closeness(keys, sensitive, Ground.EQUAL).tolist() == pytest.approx([0.0], abs=1e-12)
        assert t_closeness(keys, sensitive, Ground.ORDERED).tolist() == pytest.approx([0.0], abs=1e-12)


def test_records_whose_key_is_rarer_than_k_are_named():
    found = k_anonymity(np.array([[1], [1], [2], [-1]]), 2)
    assert found.below.tolist() == [False, False, True, True]
    assert (found.smallest, found.records_below) == (1, 2)


def test_a_missing_value_may_agree_with_all():
    found = k_anonymity(np.array([[1], [1], [2], [-1]]), 2, Missing.WILDCARD)
    assert found.below.tolist() == [False] * 4


def test_two_equally_frequent_values_are_entropy_two_diverse():
    keys = group_keys(np.zeros((6, 1), dtype=np.int64))
    found = l_diversity(keys, np.array([0, 0, 0, 1, 1, 1]))
    assert not found.below(Diversity.ENTROPY, 2).any()
    assert found.below(Diversity.ENTROPY, 2.001).all()


def test_a_key_without_a_value_is_never_diverse_or_close():
    keys = group_keys(np.array([[0], [0], [1]]))
    sensitive = np.array([0, 1, -1])
    assert l_diversity(keys, sensitive).below(Diversity.DISTINCT, 1).tolist() == [False, True]
    assert t_closeness(keys, sensitive, Ground.ORDERED).tolist() == [0.0, 1.0]


def test_a_sensitive_variable_that_nobody_has_is_never_close():
    keys = group_keys(np.array([[0], [1]]))
    nobody = np.array([-1, -1])
    assert t_closeness(keys, nobody, Ground.EQUAL).tolist() == [1.0, 1.0]
    assert t_closeness(keys, nobody, Ground.ORDERED).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda keys: k_anonymity(np.zeros((2, 1), dtype=np.int64), 0), "k must"),
        (lambda keys: k_anonymity(np.zeros((0, 1), dtype=np.int64), 2), "at least one record"),
        (lambda keys: l_diversity(keys, np.array([0.0, 1.0])), "integer code"),
        (lambda keys: l_diversity(keys, np.array([0])), "a record"),
        (lambda keys: l_diversity(keys, np.array([0, -2])), "from 0"),
        (lambda keys: l_diversity(keys, np.array([0, 1]), float("nan")), "c must"),
        (lambda keys: l_diversity(keys, np.array([0, 1]), 0.0), "c must"),
        (lambda keys: t_closeness(keys, np.array([0, 5]), Ground.EQUAL, 5), "above every code"),
    ],
)
def test_what_is_no_file_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(group_keys(np.array([[0], [1]])))
