"""Measures that add up are found where they do to rounding, or declared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.engine.additive_measures import additive_measures
from sdcgate.engine.descriptor import DescriptorInvalid, Measure, parse_descriptor
from sdcgate.engine.registration import prepare

RNG = np.random.default_rng(4)
DRUGS, VISITS, STAYS = (np.round(RNG.gamma(2.0, 50.0, 200), 2) for _ in range(3))


def found(measures: dict[str, np.ndarray], **parts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    declared = [Measure(name=name, decimals=2, parts=parts.get(name, ())) for name in measures]
    everybody = dict.fromkeys(measures, np.ones(200, dtype=np.bool_))
    return additive_measures(declared, measures, everybody)


def test_a_whole_and_its_parts_are_found():
    measures = {"drugs": DRUGS, "all": DRUGS + VISITS, "visits": VISITS, "stays": STAYS}
    assert found(measures) == (("all", "drugs", "visits"),)


def test_two_relations_are_told_apart():
    measures = {
        "drugs": DRUGS,
        "visits": VISITS,
        "both": DRUGS + VISITS,
        "stays": STAYS,
        "stays twice": 2 * STAYS,
    }
    assert found(measures) == (("both", "drugs", "visits"), ("stays", "stays twice"))


def test_a_whole_that_was_rounded_is_found():
    measures = {"drugs": DRUGS, "visits": VISITS, "all": np.round(DRUGS + VISITS + 0.004, 2)}
    assert found(measures) == (("all", "drugs", "visits"),)


def test_what_only_nearly_adds_up_is_known_if_it_is_declared():
    measures = {"drugs": DRUGS, "visits": VISITS, "all": DRUGS + VISITS + 0.001 * STAYS}
    assert found(measures) == ()
    assert found(measures, all=("drugs", "visits")) == (("all", "drugs", "visits"),)


def test_measures_that_add_up_to_a_constant_are_found():
    age = np.floor(VISITS)
    assert found({"age": age, "visits": VISITS, "born": 2020 - age}) == (("age", "born"),)
    assert found({"all": DRUGS + VISITS + 100, "drugs": DRUGS, "visits": VISITS}) == (
        ("all", "drugs", "visits"),
    )


def test_measures_that_are_only_correlated_are_no_relation():
    assert found({"drugs": DRUGS, "squared": DRUGS**2, "visits": VISITS, "nothing": np.zeros(200)}) == ()


def test_of_few_records_nothing_is_said():
    one = Measure(name="one", decimals=0), Measure(name="other", decimals=0)
    values = {"one": np.array([1.0, 2.0]), "other": np.array([3.0, 6.0])}
    assert additive_measures(one, values, dict.fromkeys(values, np.ones(2, dtype=np.bool_))) == ()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_any_whole_of_any_parts_is_found_in_any_order(seed, parts):
    rng = np.random.default_rng(seed)
    measures = {f"part {place}": np.round(rng.gamma(1.0, 80.0, 200), 2) for place in range(parts)}
    measures["whole"] = np.sum([*measures.values()], axis=0)
    names = rng.permutation([*measures])
    assert found({str(name): measures[name] for name in names}) == (tuple(sorted(measures)),)


def test_parts_that_are_no_measures_are_a_problem(tmp_path):
    (tmp_path / "people.csv").write_text("town,cost\nx,1\ny,2\n")
    variable = {"name": "town", "identifying": "NO", "levels": [{"codes": [{"code": "x"}, {"code": "y"}]}]}
    described = {"name": "people", "data": {"path": "people.csv"}, "design": {"coverage": "CENSUS"}}
    measures = [{"name": "cost", "parts": ["cost", "drugs"]}]
    with pytest.raises(DescriptorInvalid) as raised:
        prepare(
            parse_descriptor({**described, "variables": [variable], "measures": measures}),
            tmp_path,
            b"0" * 32,
        )
    assert [problem.path for problem in raised.value.problems] == [
        "measures[0].parts[0]",
        "measures[0].parts[1]",
    ]
