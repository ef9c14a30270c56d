"""The assessment of a file: each section has the figures of its method, and what is left out says why."""

from itertools import pairwise

import numpy as np
import pytest

from sdcgate.methods.risk import loglinear, recommendation
from sdcgate.methods.risk.file_assessment import NO_LEVELS, assess_file, quick_size
from sdcgate.methods.risk.file_level import file_risk
from sdcgate.methods.risk.file_options import NO_WEIGHTS, Options
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import Missing, frequencies, group_keys
from sdcgate.methods.risk.microdata import KeyVariable, Microdata
from sdcgate.methods.risk.risk_factors import Factors
from sdcgate.methods.risk.scenarios import NO_HOUSEHOLDS
from sdcgate.methods.risk.smoothing import smooth, smoothed_risk
from sdcgate.methods.risk.special_uniques import dis_suda, special_uniques

PEOPLE = 300


def people(missing=0.0, seed=1):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n, PEOPLE) for n in (2, 6, 9, 4)])
    codes[rng.random(codes.shape) < missing] = -1
    return codes


def names(count=4):
    return tuple(KeyVariable(name) for name in "abcd"[:count])


def test_individual_risks_are_those_of_the_keys():
    codes, weights = people(), np.random.default_rng(2).uniform(1, 30, PEOPLE)
    found = assess_file(Microdata(names(), codes, weights=weights))
    keys = group_keys(codes)
    sums = np.bincount(keys.group, weights)
    own = file_risk(keys.counts, individual_risk(keys.counts, sampling_probabilities(keys.counts, sums)))
    assert found.individual.risk.key_cells == own.key_cells == found.key_cells.cells
    assert found.individual.risk.expected_matches == pytest.approx(own.expected_matches, rel=1e-12)
    assert found.individual.risk.maximum == own.maximum
    assert found.individual.histogram.units.sum() == PEOPLE


def test_missing_values_count_as_they_are_asked_to():
    codes = people(missing=0.1)
    for missing in Missing:
        found = assess_file(Microdata(names(), codes, fraction=0.1), Options(missing=missing))
        f = frequencies(codes, None, missing).f
        assert found.key_cells.sample_uniques == (f == 1).sum()
        assert found.individual.risk.sample_uniques == (f == 1).sum()


def test_factors_multiply_the_risks():
    file = Microdata(names(), people(), fraction=0.1)
    whole = assess_file(file).individual.risk.expected_matches
    less = assess_file(file, Options(factors=Factors(0.5, 0.5, 0.4))).individual.risk.expected_matches
    assert less == pytest.approx(whole / 10, rel=1e-12)


def test_without_weights_what_needs_a_population_is_left_out_and_says_so():
    found = assess_file(Microdata(names(), people()))
    assert (found.individual, found.recommended, found.uniqueness, found.log_linear) == (None, None, None, ())
    reasons = {one.what: one.reason for one in found.not_computed}
    assert reasons["individual risk"] == reasons["log-linear models"] == NO_WEIGHTS
    assert reasons["household risk"] == NO_HOUSEHOLDS
    assert found.threshold is not None
    assert found.special_uniques.dis is None


def test_weights_below_one_are_warned_of_with_what_was_assumed():
    codes = np.array([[0], [0], [1], [1], [1], [2]])
    weights = np.array([0.5, 0.7, 0.9, 5.0, 6.0, 1.0])
    found = assess_file(Microdata(names(1), codes, weights=weights))
    (told,) = found.warnings
    assert told.startswith(
        "3 of 6 units have a weight below 1, and 2 of 6 units have a key whose weights add"
    )
    assert "(F_k = f_k), and the risk 1/f_k" in told
    assert found.individual.risks[:2] == pytest.approx([0.5, 0.5])
    (told,) = assess_file(Microdata(names(1), codes[2:], weights=weights[2:])).warnings
    assert "1 of 4 units have a weight below 1; the weights of every key add up" in told
    assert assess_file(Microdata(names(1), codes, weights=np.full(6, 1 - 1e-12))).warnings == ()
    assert assess_file(Microdata(names(1), codes, fraction=0.5)).warnings == ()


def test_a_target_rate_gives_the_threshold_that_keeps_it():
    codes = people()
    found = assess_file(Microdata(names(), codes, fraction=0.1), Options(target_rate=0.02)).individual
    at = found.target.risk
    assert np.minimum(found.risks, at).mean() == pytest.approx(0.02, rel=1e-12) == found.target.rate
    assert found.target.unsafe_units == (found.risks >= at * (1 - 1e-9)).sum() > 0
    kept = assess_file(Microdata(names(), codes, fraction=0.1), Options(target_rate=0.9)).individual
    assert (kept.target.risk, kept.target.unsafe_units) == (None, 0)
    assert assess_file(Microdata(names(), codes, fraction=0.1)).individual.target is None
    with pytest.raises(ValueError, match="target_rate must be above 0 and below 1"):
        assess_file(Microdata(names(), codes), Options(target_rate=1.0))


def test_what_was_not_given_is_named_with_what_to_give():
    codes, weights = people(), np.random.default_rng(2).uniform(1, 30, PEOPLE)
    bare = assess_file(Microdata(names(), codes, weights=np.full(PEOPLE, 9.0)))
    reasons = {one.what: one.reason for one in bare.not_computed}
    assert {"smoothing", "sensitive variables", "scenarios", "rule sets"} < set(reasons)
    assert reasons["weights as a channel"] == "all weights are the same: they tell nothing"
    by_fraction = assess_file(Microdata(names(), codes, fraction=0.1)).not_computed
    assert "name their column" in {one.what: one.reason for one in by_fraction}["weights as a channel"]
    given = Microdata(names(), codes, weights=weights, sensitive=(("ill", codes[:, 0]),))
    named = {one.what for one in assess_file(given, Options(ordinal=("b",))).not_computed}
    assert named == {"household risk", "recodings", "scenarios", "rule sets"}


def test_the_threshold_rule_takes_a_minimum_for_each_size():
    codes = people()
    found = assess_file(Microdata(names(), codes), Options(minimums=(35, 6))).threshold
    unsafe = np.zeros(PEOPLE, dtype=bool)
    for least, sets in ((35, [[a] for a in range(4)]), (6, [[a, b] for a in range(4) for b in range(a)])):
        for keys in sets:
            group = group_keys(codes[:, keys])
            unsafe |= group.counts[group.group] < least
    assert (found.minimums, found.looked_at) == ((35, 6), 10)
    assert 0 < found.unsafe_units == unsafe.sum() < PEOPLE
    with pytest.raises(ValueError, match="minimums must be at least 1"):
        assess_file(Microdata(names(), codes), Options(minimums=(3, 0)))


def test_a_census_has_no_doubt():
    codes = people()
    found = assess_file(Microdata(names(), codes, fraction=1.0))
    counts = group_keys(codes).counts
    assert found.individual.risk.expected_matches == pytest.approx(len(counts), rel=1e-14)
    assert found.individual.risk.expected_matches_uniques == (counts == 1).sum()
    assert found.individual.risk.maximum == 1.0


def test_records_of_a_unit_are_one_unit_whose_weight_counts_once():
    codes = np.array([[0, 1], [0, 2], [1, 1], [1, 1]])
    found = assess_file(
        Microdata(names(2), codes, weights=np.array([5.0, 5.0, 2.0, 2.0]), units=np.array([7, 7, 3, 4]))
    )
    assert (found.facts.records, found.facts.units, found.facts.most_records) == (4, 3, 2)
    assert found.facts.population == 9.0
    assert [key.key.title for key in found.facts.keys] == ["a", "b (wave 1)", "b (wave 2)"]
    assert found.key_cells.sample_uniques == 1


def test_a_variable_says_how_many_uniques_are_its_own():
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    found = assess_file(Microdata(names(2), codes))
    assert found.key_cells.sample_uniques == 2
    assert [key.uniques_without for key in found.facts.keys] == [1, 0]


def test_the_riskiest_are_named_by_number_only_where_asked():
    codes = np.array([[0], [0], [1], [2], [2]])
    file = Microdata(names(1), codes, fraction=0.5)
    assert assess_file(file).individual.riskiest.tolist() == []
    assert assess_file(file, Options(riskiest=1)).individual.riskiest.tolist() == [3]


def test_values_that_few_have_are_not_named():
    codes = people()
    codes[:9, 1], codes[9:18, 2] = 30, 40
    found = assess_file(Microdata(names(), codes))
    assert found.special_uniques.values
    assert all(one.units >= 10 for one in found.special_uniques.values)
    assert not {(1, 30), (2, 40)} & {(one.key, one.code) for one in found.special_uniques.values}


def test_recodings_are_measured_and_the_best_is_under_the_bound():
    halves = np.arange(9) // 3
    keys = (
        *names(2),
        KeyVariable("c", coarser=(("c:thirds", halves), ("c:all", np.zeros(9, dtype=int)))),
        names()[3],
    )
    found = assess_file(Microdata(keys, people(), fraction=0.1), Options(accepted_share=0.05)).recodings
    assert [one.recoding for one in found.measured] == [(0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 2, 0)]
    assert found.measured[0].share > 0.05
    assert found.best == max(
        (one for one in found.measured if one.share <= 0.05), key=lambda one: one.entropy
    )


def test_a_file_without_coarser_levels_says_that_recodings_are_not_compared():
    found = assess_file(Microdata(names(), people(), fraction=0.1))
    assert found.recodings is None
    assert {one.what: one.reason for one in found.not_computed}["recodings"] == NO_LEVELS


def test_too_many_possible_keys_are_a_reason_and_no_wait():
    found = assess_file(Microdata(names(), people(), fraction=0.1), Options(largest_table=400))
    reasons = {one.what: one.reason for one in found.not_computed}
    assert "4.3e+02 keys are possible" in reasons["log-linear models"]
    assert "by 3 columns of 4 alone" in found.recommended.says
    assert "recommended estimate" not in reasons


def dependent():
    """People whose second and third variable hang on the first."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 8, 6000)
    scatter = [np.clip(first + rng.integers(-1, 2, 6000), 0, 7) for _ in range(2)]
    return np.column_stack([first, *scatter, rng.integers(0, 12, 6000)])


def test_models_that_several_sections_want_are_fitted_once(monkeypatch):
    fitted = []
    plain = loglinear.fit

    def counted(table, generators, **options):
        fitted.append(generators)
        return plain(table, generators, **options)

    monkeypatch.setattr(loglinear, "fit", counted)
    monkeypatch.setattr(recommendation, "fit", counted)
    found = assess_file(Microdata(names(), dependent(), fraction=0.1))
    assert fitted == [loglinear.main_effects(4), loglinear.all_two_way(4)]
    assert found.log_linear[1].tau_2 == found.recommended.candidates[2].tau_2


def test_a_forward_search_stands_beside_the_models_that_are_always_fitted():
    simple, rich, searched = assess_file(Microdata(names(), dependent(), fraction=0.1)).log_linear
    assert (simple.ended, rich.ended) == ("", "")
    assert searched.name == "forward search"
    assert searched.ended == "the criterion sees no bias"
    assert searched.criteria.fits
    assert {(0, 1), (0, 2)} <= {one[:2] for one in searched.generators if len(one) > 1}


def test_smoothing_is_along_the_variables_that_are_said_to_be_ordered():
    codes = dependent()
    found = assess_file(Microdata(names(), codes, fraction=0.1), Options(ordinal=("b", "a"))).smoothing
    own = smooth(codes, (0, 1), np.full(len(codes), 10.0))
    assert found.variables == (0, 1)
    assert found.bandwidth == own.bandwidth
    assert found.tau_2 == smoothed_risk(own).tau_2
    assert assess_file(Microdata(names(), codes, fraction=0.1)).smoothing is None
    with pytest.raises(ValueError, match="ordinal: e is no key variable; they are a, b, c, d"):
        assess_file(Microdata(names(), codes), Options(ordinal=("e",)))


def test_a_fit_whose_work_is_done_is_shown_as_not_converged_and_doubtful():
    found = assess_file(Microdata(names(), dependent(), fraction=0.1), Options(most_visits=1.0))
    assert [one.converged for one in found.log_linear[:2]] == [False, False]
    assert found.log_linear[2].ended == "the work that it may take is done"
    assert found.recommended.doubtful
    assert "Not fitted to the end: main effects, all two-way" in found.recommended.says


def test_suda_searches_all_sets_of_few_variables_and_small_ones_of_many():
    assert [quick_size(variables) for variables in (1, 8, 9, 20, 200)] == [1, 8, 4, 2, 1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fraction": 0.0}, "fraction"),
        ({"fraction": 0.5, "weights": np.ones(PEOPLE)}, "leave it out"),
        ({"weights": np.full(PEOPLE, np.nan)}, "weights must be finite"),
        ({"units": np.ones(3, dtype=int)}, "units must be one integer"),
    ],
)
def test_a_wrong_file_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Microdata(names(), people(), **wrong)


def test_wrong_options_are_refused_together():
    with pytest.raises(ValueError, match=r"risk_threshold .*; minimum .*; accepted_share"):
        assess_file(
            Microdata(names(), people()), Options(risk_threshold=np.nan, minimum=0, accepted_share=2.0)
        )


def test_classes_of_dis_suda_are_those_of_the_units_scores():
    codes = people()
    section = assess_file(Microdata(names(), codes, fraction=0.3)).special_uniques
    scores = dis_suda(codes, special_uniques(codes, section.maximum_size), 0.3)
    edges = [-1, 0, *np.arange(1, 11) / 10]
    classes = [int(((scores > low) & (scores <= high)).sum()) for low, high in pairwise(edges)]
    assert list(section.dis_suda) == classes
    assert sum(classes[2:]) > 0
    assert section.largest_dis_suda == scores.max()
    unknown = assess_file(Microdata(names(), codes)).special_uniques
    assert (unknown.dis_suda, unknown.largest_dis_suda) == ((), None)


def test_combinations_that_are_too_many_are_named_before_any_is_made():
    # A unit with many records has a key variable a wave: of few key variables hundreds are made.
    units, keys = np.repeat(np.arange(4), 60), tuple(KeyVariable(name) for name in "ab")
    codes = np.random.default_rng(3).integers(0, 3, (240, 2))
    found = assess_file(Microdata(keys, codes, units=units), Options(dimensions=5))
    reasons = {one.what: one.reason for one in found.not_computed}
    assert found.threshold is None
    assert reasons["threshold rule"].startswith("199080694 combinations of 120 key variables are too many")
