"""Coarser models: which there are, what each loses, and that public lists alone decide it."""

import pytest

from house import table_request, with_randhie
from sdcgate.facility.model_designs import ModelDesigns
from sdcgate.facility.model_plan import make_model_plan
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2


@pytest.fixture(scope="module")
def designs_of(tmp_path_factory):
    house = with_randhie(tmp_path_factory.mktemp("designs"))
    dataset = house.engine.dataset("randhie")
    policy = house.facility._policies.of(dataset)

    def make(formula, kind="LINEAR", groups="", instruments="", **filters):
        request = pb.QueryModelRequest(
            dataset="randhie",
            kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"),
            formula=formula,
            groups=groups,
            instruments=instruments,
            project="demo",
        )
        request.filter.extend(table_request(**filters).filter)
        return ModelDesigns(make_model_plan(dataset, policy, request), request)

    yield make
    house.facility.close()


def every(designs):
    """Each design that can be come by, finest first, with those that follow it."""
    finest = tuple(ladder.levels[0] for ladder in designs.ladders)
    waiting, found = [finest], {}
    while waiting:
        here = waiting.pop(0)
        if here in found:
            continue
        found[here] = [
            (*here[:place], step, *here[place + 1 :])
            for place, ladder in enumerate(designs.ladders)
            for step in ladder.coarser(here[place])
        ]
        waiting += found[here]
    return found


def requests(designs):
    """Requests of all coarser models, those that lose least first."""
    by_loss = sorted(every(designs), key=designs.entropy, reverse=True)
    return [found for one in by_loss if (found := designs.request(one)) is not None]


def formulas(designs):
    return [request.formula.split(" ~ ")[1].removeprefix("1 + ") for request in requests(designs)]


def test_a_variable_is_coarsened_in_all_terms_and_an_interaction_goes_before_its_terms(designs_of):
    found = formulas(designs_of("meddol ~ household_size * female"))
    joined = 'C(household_size, level="groups")'
    assert found == [
        f"{joined} + female + {joined}:female",
        "female + household_size",
        "household_size",
        f"{joined} + female",
        f"{joined}",
        "female",
    ]


def test_a_number_is_left_out_after_all_factors_and_no_model_is_left_without_terms(designs_of):
    found = formulas(designs_of("meddol ~ site + income + log1p(income)"))
    assert found[0] == "income + log1p(income)"
    assert found[-1] == "site"
    assert "" not in found
    assert len(found) == 6


@pytest.mark.parametrize(
    "asked",
    [
        {"formula": "meddol ~ age * site + female:numeric(education) + income"},
        {"formula": "household_size ~ age + female", "kind": "ORDERED_LOGIT"},
        {"formula": "meddol ~ age + female", "kind": "FIXED_EFFECTS", "groups": "household_size"},
        {"formula": "meddol ~ mdvis + age", "kind": "TWO_STAGE", "instruments": "age + notmdvis"},
        {"formula": "meddol ~ age + female", "age": ["7"]},
    ],
)
def test_a_coarser_design_never_tells_more_and_each_request_is_a_model(designs_of, asked):
    designs = designs_of(**asked)
    found = every(designs)
    for here, coarser in found.items():
        assert all(designs.entropy(one) <= designs.entropy(here) + 1e-12 for one in coarser)
    asked_before = set()
    for request in requests(designs):
        plan = designs.coarser_plan(request)
        assert plan is not None, request
        assert plan.canonical() not in asked_before
        asked_before.add(plan.canonical())
        assert not request.project
    assert designs.plan.canonical() not in asked_before


def test_classes_of_the_outcome_are_joined_and_never_left_out(designs_of):
    found = [one.formula for one in requests(designs_of("household_size ~ female + site", "ORDERED_LOGIT"))]
    assert 'C(household_size, level="groups") ~ 1 + female' in found
    assert all(
        text.split(" ~ ")[0] in ("household_size", 'C(household_size, level="groups")') for text in found
    )


def test_an_event_stays_as_it_is(designs_of):
    found = requests(designs_of('C(household_size, event="2") ~ female + site', "LOGIT"))
    assert {one.formula.split(" ~ ")[0] for one in found} == {'C(household_size, event="2")'}


def test_codes_used_as_numbers_stay_and_groups_are_joined(designs_of):
    found = requests(designs_of("meddol ~ numeric(age)", "FIXED_EFFECTS", groups="household_size"))
    assert [(one.formula, one.groups) for one in found] == [
        ("meddol ~ 1 + numeric(age)", "household_size:groups")
    ]


def test_of_two_stage_least_squares_what_is_endogenous_and_its_instruments_stay(designs_of):
    found = requests(
        designs_of("meddol ~ mdvis + age + female", "TWO_STAGE", instruments="age + female + notmdvis")
    )
    assert all("mdvis" in one.formula and "notmdvis" in one.instruments for one in found)
    coarser = [one for one in found if 'C(age, level="broad")' in one.formula]
    assert coarser
    assert all('C(age, level="broad")' in one.instruments for one in coarser)
    assert any("female" not in one.formula and "female" not in one.instruments for one in found)


def test_a_filter_leaves_the_codes_that_are_joined(designs_of):
    designs = designs_of("meddol ~ age + site", age__broad=["0-17"])
    place = next(n for n, ladder in enumerate(designs.ladders) if len(ladder.levels[0]) == 18)
    # Ten years join 0-9 with 10-17; all of 0-17 in one group is the variable left out.
    assert [max(level) + 1 for level in designs.ladders[place].levels] == [18, 2]
