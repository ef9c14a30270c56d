import numpy as np
import patsy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_frames import VOCABULARY, made_frame
from sdcgate.methods.outputs.design import CONSTANT, Records, build_design, class_positions, matrix
from sdcgate.methods.outputs.formula import Classes
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

MADE = made_frame(300)


def as_patsy_writes(text: str) -> str:
    """Our canonical text in patsy's words: the same functions by numpy's names."""
    for ours, theirs in (
        ("log(", "np.log("),
        ("square(", "np.square("),
        ('C(plan, level="coarse")', "plan_coarse"),
        ('C(region, reference="west")', "C(region, Treatment('west'))"),
    ):
        text = text.replace(ours, theirs)
    return text


def names_of_patsy(matrix: patsy.DesignMatrix) -> list[str]:
    names = []
    for name in matrix.design_info.column_names:
        for theirs, ours in (
            ("np.log(", "log("),
            ("np.square(", "square("),
            ("plan_coarse", 'C(plan, level="coarse")'),
            ("C(region, Treatment('west'))", "region"),
        ):
            name = name.replace(theirs, ours)
        names.append(name)
    return names


def same_as_patsy(right: str) -> None:
    formula, design, values = MADE.design(f"cost ~ {right}")
    text = as_patsy_writes(formula.canonical().split("~")[1])
    peer = patsy.dmatrix(text, MADE.frame)
    assert list(design.names) == names_of_patsy(peer)
    np.testing.assert_allclose(values, np.asarray(peer), rtol=1e-14)


@pytest.mark.parametrize(
    "right",
    [
        "1",
        "site",
        "site - 1",
        "site + plan",
        "site + plan - 1",
        "site*plan",
        "site*plan - 1",
        "site:plan",
        "site:plan - 1",
        "site + site:plan",
        "plan + site:plan - 1",
        "site*plan*region",
        "site:plan + plan:region",
        "age",
        "age - 1",
        "age:site",
        "age:site - 1",
        "age + age:site",
        "site/age",
        "age*site*log(income)",
        "age:log(income) + site:age + plan",
        "C(region, reference='west')*site",
        "C(plan, level='coarse') + square(age)",
    ],
)
def test_columns_are_those_of_patsy(right: str) -> None:
    same_as_patsy(right)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["site", "plan", "region", "age", "log(income)"]), min_size=1, max_size=3),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["", " - 1"]),
)
def test_any_terms_have_the_columns_of_patsy(terms: list[list[str]], constant: str) -> None:
    same_as_patsy(" + ".join(":".join(term) for term in terms) + constant)


def same_as_patsy_of_the_written_text(right: str) -> None:
    """Columns by their names, whose parts may stand in another order."""

    def by_parts(name: str) -> tuple[str, ...]:
        return tuple(sorted(name.split(":")))

    _, design, values = MADE.design(f"cost ~ {right}")
    peer = patsy.dmatrix(as_patsy_writes(right), MADE.frame)
    theirs = dict(zip(map(by_parts, names_of_patsy(peer)), np.asarray(peer).T, strict=True))
    ours = dict(zip(map(by_parts, design.names), values.T, strict=True))
    assert ours.keys() == theirs.keys()
    for name, column in ours.items():
        np.testing.assert_allclose(column, theirs[name], rtol=1e-14)


@pytest.mark.parametrize(
    ("right", "canonical"),
    [
        ("site:plan", "1 + site:plan"),
        ("plan:site", "1 + plan:site"),
        ("site:plan + site + plan", "1 + plan + site + plan:site"),
        ("site:plan - 1", "0 + plan:site"),
        ("site:age", "1 + age:site"),
        ("plan:site + site:plan", "1 + plan:site"),
        ("site + region:plan:site", "1 + site + region:plan:site"),
        ("site:region + region:plan", "1 + plan:region + region:site"),
        ("region + plan + site:region", "1 + plan + region + region:site"),
    ],
)
def test_factors_within_each_other_are_coded_in_the_order_in_which_they_were_written(right, canonical):
    same_as_patsy_of_the_written_text(right)
    formula = parse_formula(f"cost ~ {right}", VOCABULARY)
    again = parse_formula(formula.canonical(), VOCABULARY)
    assert again == formula
    assert formula.canonical() == f"cost ~ {canonical}"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["site", "plan", "region", "age"]), min_size=1, max_size=3, unique=True),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["", " - 1"]),
)
def test_any_terms_have_the_columns_of_patsy_in_whatever_order_they_are_written(terms, constant):
    right = " + ".join(":".join(term) for term in terms) + constant
    same_as_patsy_of_the_written_text(right)
    formula = parse_formula(f"cost ~ {right}", VOCABULARY)
    assert parse_formula(formula.canonical(), VOCABULARY) == formula


def test_codes_that_nobody_has_are_no_columns() -> None:
    _, design, _ = MADE.design("cost ~ region")
    assert design.names == (CONSTANT, "region[T.east]", "region[T.south]", "region[T.west]")


def test_the_reference_is_the_first_declared_code_that_occurs() -> None:
    formula = parse_formula("cost ~ site", VOCABULARY)
    design = build_design(formula, VOCABULARY, {("site", "site"): ("3", "2")})
    assert design.names == (CONSTANT, "site[T.3]")
    assert design.references[0][1] == "2"


def test_a_factor_of_one_code_and_a_reference_that_nobody_has_are_both_told_without_codes() -> None:
    formula = parse_formula("cost ~ site + C(region, reference='isles')", VOCABULARY)
    occurring = {("site", "site"): ("2",), ("region", "region"): ("north", "east")}
    with pytest.raises(ModelProblemError) as caught:
        build_design(formula, VOCABULARY, occurring)
    assert [found.variable for found in caught.value.problems] == ["region", "site"]
    assert "isles" not in str(caught.value)


def test_a_factor_of_very_many_codes_is_refused_before_columns_are_made() -> None:
    codes = tuple(str(number) for number in range(100_000))
    words = Vocabulary((Categorical("id", (Level("id", codes),)),), (Measured("y"),))
    with pytest.raises(ModelProblemError, match="more than 500 columns"):
        build_design(parse_formula("y ~ id*id:id", words), words, {("id", "id"): codes})


def test_a_transformation_that_would_lose_a_record_is_an_error() -> None:
    formula = parse_formula("cost ~ log(income)", VOCABULARY)
    design = build_design(formula, VOCABULARY, {})
    records = Records({}, {"income": np.array([1.0, 0.0, 2.0]), "cost": np.ones(3)}, 3)
    with pytest.raises(ModelProblemError, match="log is not defined for all values of income"):
        matrix(design, VOCABULARY, records)


def test_a_spline_goes_no_further_than_its_outer_knots() -> None:
    formula = parse_formula("cost ~ spline(age)", VOCABULARY)
    design = build_design(formula, VOCABULARY, {})
    records = Records({}, {"age": np.array([20.0, 96.0]), "cost": np.ones(2)}, 2)
    with pytest.raises(ModelProblemError, match="spline is not defined for all values of age"):
        matrix(design, VOCABULARY, records)


def test_classes_stand_in_declared_order_with_the_named_reference_first() -> None:
    outcome = parse_formula("C(health, reference='good') ~ age", VOCABULARY).outcome
    assert isinstance(outcome, Classes)
    classes, positions = class_positions(outcome, VOCABULARY, ("poor", "fair", "good"), MADE.records)
    assert classes == ("good", "poor", "fair")
    assert [classes[at] for at in positions] == list(MADE.frame["health"])
