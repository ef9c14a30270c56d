"""What is done with a file: tables built from it, its weights, the rules for its release."""

from itertools import combinations

import numpy as np
import pytest

from sdcgate.methods.risk.file_assessment import assess_file
from sdcgate.methods.risk.file_options import NO_WEIGHTS, Options
from sdcgate.methods.risk.file_release import CLASSES, weights_section, worst_tables_section
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import Missing, frequencies
from sdcgate.methods.risk.microdata import KeyVariable, Microdata, by_units
from sdcgate.methods.risk.release_rules import Outcome, ReleasedVariable, ReleaseFile
from sdcgate.methods.risk.threshold import Identifying

PEOPLE = 300
NAMES = tuple(KeyVariable(name) for name in ("sex", "age", "place", "job"))


def people(**given) -> Microdata:
    rng = np.random.default_rng(8)
    codes = np.column_stack([rng.integers(0, n, PEOPLE) for n in (2, 9, 7, 14)])
    return Microdata(**{"keys": NAMES, "codes": codes, "weights": rng.uniform(2, 60, PEOPLE), **given})


def matches(codes, weights) -> float:
    common = frequencies(codes, weights, Missing.CATEGORY)
    risks = individual_risk(common.f, sampling_probabilities(common.f, common.weight_sums))
    return float(risks[common.f == 1].sum())


def test_the_worst_table_of_each_size_is_the_worst_of_all():
    file = people()
    found = worst_tables_section(by_units(file), 3)
    assert found.looked_at == 4 + 6 + 4
    for size, table in enumerate(found.tables, start=1):
        every = {
            chosen: matches(file.codes[:, list(chosen)], file.weights)
            for chosen in combinations(range(4), size)
        }
        assert table.expected_matches == pytest.approx(max(every.values()), rel=1e-12)
        assert every[tuple(sorted(table.variables))] == pytest.approx(table.expected_matches, rel=1e-12)
    assert found.file_matches == pytest.approx(matches(file.codes, file.weights), rel=1e-12)


def test_more_dimensions_than_there_are_variables_are_those_that_there_are():
    assert len(worst_tables_section(by_units(people()), 9).tables) == 4


def test_tables_need_to_know_how_many_people_stand_for_a_unit():
    with pytest.raises(ValueError, match=NO_WEIGHTS):
        worst_tables_section(by_units(people(weights=None)), 3)


def test_a_weight_that_tells_the_place_predicts_it_and_joins_the_key():
    file = people()
    by_place = np.array([10.0, 20, 30, 40, 50, 60, 70])[file.codes[:, 2]]
    found = weights_section(by_units(people(weights=by_place)))
    told = {one.name: one.prediction.share_told for one in found.variables}
    assert (told["place"], told["sex"]) == (1.0, 0.0)
    assert (found.values, found.classes) == (7, None)
    assert found.risk.with_label.expected_matches == pytest.approx(
        found.risk.without.expected_matches, rel=1e-12
    )
    hidden = weights_section(by_units(people(keys=NAMES[:2], codes=file.codes[:, :2], weights=by_place)))
    assert hidden.risk.with_label.expected_matches > 2 * hidden.risk.without.expected_matches


def test_weights_of_their_own_are_put_into_classes_and_equal_ones_tell_nothing():
    assert weights_section(by_units(people())).classes == CLASSES
    assert weights_section(by_units(people(weights=np.full(PEOPLE, 7.0)))) is None
    assert weights_section(by_units(people(weights=None, fraction=0.1))) is None


def test_sensitive_variables_are_looked_at_too_and_have_their_anonymity():
    file = people(sensitive=(("sick", np.arange(PEOPLE) % 2),), keys=NAMES[:1], codes=people().codes[:, :1])
    whole = assess_file(file)
    assert [one.name for one in whole.weights.variables] == ["sex", "sick"]
    assert whole.key_cells.smallest == np.bincount(file.codes[:, 0]).min()
    (sick,) = whole.sensitive
    assert (sick.distinct, sick.alike) == (2, 0)


def test_a_file_that_is_declared_is_judged_by_both_rule_sets():
    file = people()
    variables = tuple(ReleasedVariable(key.name, Identifying.YES) for key in NAMES)
    release = ReleaseFile(variables, file.codes, weights=file.weights, panel=False)
    first, second = assess_file(people(release=release)).rule_sets
    assert (first.name, len(first.findings.rules)) == ("researchers", 5)
    assert (second.name, len(second.findings.rules)) == ("the general public", 10)
    assert second.findings.rules[6].outcome is Outcome.VIOLATED
    assert assess_file(file).rule_sets == ()


def test_tables_that_are_too_many_are_named_as_not_computed(monkeypatch):
    monkeypatch.setattr("sdcgate.methods.risk.file_release.LARGEST_TABLES", 10)
    whole = assess_file(people(), Options(dimensions=2))
    assert whole.worst_tables is None
    assert any(one.what == "worst table" for one in whole.not_computed)
