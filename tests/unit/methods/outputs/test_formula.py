import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_frames import VOCABULARY
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.formula_tokens import LONGEST_FORMULA, FormulaError
from sdcgate.methods.outputs.predictor_parser import FUNCTIONS
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(FormulaError) as caught:
        parse_formula(text, VOCABULARY)
    return [(found.position, found.message) for found in caught.value.problems]


def canonical(text: str) -> str:
    return parse_formula(text, VOCABULARY).canonical()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cost ~ site", "cost ~ 1 + site"),
        ("cost~1+plan*site", "cost ~ 1 + plan + site + plan:site"),
        ("cost ~ (site + plan + age)^2 - site:plan", "cost ~ 1 + age + plan + site + age:plan + age:site"),
        ("cost ~ (site + plan + age)**2 - plan:site", "cost ~ 1 + age + plan + site + age:plan + age:site"),
        ("log( cost ) ~ site/age - 1", "log(cost) ~ 0 + site + age:site"),
        ("cost ~ 0 + site", "cost ~ 0 + site"),
        ("cost ~ site - 1", "cost ~ 0 + site"),
        ("cost ~ (0 + site) + age", "cost ~ 0 + age + site"),
        ("cost ~ C(site, reference='2')", 'cost ~ 1 + C(site, reference="2")'),
        ("cost ~ C(site, Treatment(reference='2'))", 'cost ~ 1 + C(site, reference="2")'),
        ("cost ~ C(site, Treatment('2'))", 'cost ~ 1 + C(site, reference="2")'),
        ("cost ~ C(site)", "cost ~ 1 + site"),
        ("cost ~ C(site, level='site')", "cost ~ 1 + site"),
        ("cost ~ C(plan, level='coarse')", 'cost ~ 1 + C(plan, level="coarse")'),
        ("cost ~ Q('net-worth') + numeric(age)", 'cost ~ 1 + Q("net-worth") + age'),
        ("C(ill, event='yes') ~ spline(age)", 'C(ill, event="yes") ~ 1 + spline(age)'),
        ("surv(months, C(ill, event='yes')) ~ age", 'surv(months, C(ill, event="yes")) ~ 1 + age'),
    ],
)
def test_two_spellings_of_one_formula_have_one_canonical_text(text: str, expected: str) -> None:
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    "cut",
    [
        "cost ~ log(income - 4092.70)",
        "cost ~ log(income-4093.06)",
        "cost ~ log(age + income)",
        "cost ~ inverse(income - 1)",
        "cost ~ I(income > 4092.70)",
        "cost ~ income > 12",
        "cost ~ income^1.5",
        "cost ~ age**4",
        "cost ~ spline(income, 12)",
        "cost ~ spline(income, knots='12')",
        "cost ~ bs(income, degree=0)",
        "cost ~ 3*income",
        "cost ~ income - 4092.70",
        "cost ~ offset(income)",
        "cost ~ log(log(income))",
        "log(cost - 3) ~ income",
    ],
)
def test_no_constant_of_a_researchers_choice_can_be_written(cut: str) -> None:
    assert problems(cut)


@pytest.mark.parametrize(
    "code",
    [
        "cost ~ __import__('os').system('id')",
        "cost ~ eval('1')",
        "cost ~ age.__class__",
        "cost ~ (lambda: 1)()",
        "cost ~ np.log(income)",
        "cost ~ income; import os",
        "cost ~ income[0]",
        "cost ~ {age}",
        "cost ~ @age",
        "cost ~ `age`",
        "cost ~ age = 1",
        'cost ~ =HYPERLINK("x")',
        "cost ~ age\x00",
    ],
)
def test_nothing_but_the_grammar_is_read(code: str) -> None:
    assert problems(code)


def test_all_unknown_names_are_told_at_their_places_with_near_names() -> None:
    assert problems("cost ~ sitte + bogus*log(incom) + exp(age)") == [
        (7, "there is no variable or measure 'sitte' (did you mean site, visits?)"),
        (15, f"there is no variable or measure 'bogus'; there are {', '.join(VOCABULARY.names)}"),
        (25, "there is no measure 'incom' (did you mean income?)"),
        (34, f"there is no function 'exp' in formulas; there are {', '.join(FUNCTIONS)}"),
    ]


def test_unknown_names_after_a_mistake_are_told_too() -> None:
    assert [at for at, _ in problems("cost ~ age^7 + bogus")] == [11, 15]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("cost ~ C(site, reference='9')", "site has no such code"),
        ("cost ~ C(plan, level='fine')", "plan has no such level"),
        ("cost ~ C(age)", "age is a measure"),
        ("cost ~ log(site)", "site is a variable"),
        ("cost ~ log(age)", "log is not registered for age; registered are square, spline"),
        ("cost ~ spline(cost)", "spline is not registered for cost"),
        ("cost ~ C(site, event='1')", "an event belongs to the outcome"),
        ("cost ~ C(site, 'x', 'y')", "reference is given twice"),
        ("cost ~ age + cost", "cost is the outcome"),
        ("log(cost) ~ cost:age", "cost is the outcome"),
        ("cost ~ C(site, reference='1') + site:age", "different references"),
        ("cost ~ 0", "no term is left"),
        ("cost ~ age - age - 1", "no term is left"),
        ("cost ~ income^2", "square(...)"),
        ("cost ~ age + - site", "two signs"),
        ("cost ~ 2", "no numbers but 0 and 1"),
        ("cost ~ (age + site)**4", "only the powers 2 and 3"),
        ("cost ~ 1:age", "the constant"),
        ("cost ~ (age", "a parenthesis is not closed"),
        ("cost ~ age)", "is not expected here"),
        ("cost ~", "write terms after"),
        ("~ age", "write the outcome before"),
        ("", "write the outcome before"),
        ("cost", "separates the outcome"),
        ("cost ~ age ~ site", "is not expected here"),
        ("cost ~ C(site, reference='2)", "does not end"),
        ("surv(months, ill) ~ age", "with its event"),
        ("surv(log(cost), C(ill, event='yes')) ~ age", "a measure as it is"),
        ("spline(age) ~ site", "cannot be a spline"),
    ],
)
def test_what_is_wrong_is_said_in_words(text: str, part: str) -> None:
    assert any(part in message for _, message in problems(text))


def test_a_name_that_is_a_variable_and_a_measure_has_to_say_which() -> None:
    both = Vocabulary((Categorical("age", (Level("age", ("0", "1")),)),), (Measured("age"), Measured("y")))
    with pytest.raises(FormulaError, match=r"write C\(age\) or numeric\(age\)"):
        parse_formula("y ~ age", both)
    assert parse_formula("y ~ C(age)", both) != parse_formula("y ~ numeric(age)", both)
    for text in ("y ~ C(age)", "y ~ numeric(age)"):
        once = parse_formula(text, both)
        assert parse_formula(once.canonical(), both) == once


MANY = Vocabulary((), tuple(Measured(f"x{number}") for number in range(60)))


@pytest.mark.parametrize(
    "bomb",
    [
        "x0 ~ " + "*".join(f"x{n}" for n in range(1, 21)),
        "x0 ~ " + ":".join(f"x{n}" for n in range(1, 21)),
        "x0 ~ (" + "+".join(f"x{n}" for n in range(1, 60)) + ")^3",
        "x0 ~ (" + "+".join(f"x{n}" for n in range(1, 60)) + ")**20",
        "x0 ~ " + "(" * 500 + "x1" + ")" * 500,
        "x0 ~ " + "x1+" * 5000 + "x2",
        "x0 ~ " + "/".join(f"(x{n}+x{n + 1})" for n in range(1, 58)),
        "x0 ~ ((((x1+x2+x3+x4)^3+x5+x6)^3+x7+x8)^3+x9)^3",
    ],
)
def test_a_formula_that_would_blow_up_is_refused_at_once(bomb: str) -> None:
    begun = time.process_time()
    with pytest.raises(FormulaError):
        parse_formula(bomb, MANY)
    assert time.process_time() - begun < 0.5


def test_a_long_name_is_not_echoed_whole() -> None:
    ((_, message),) = problems("cost ~ " + "q" * (LONGEST_FORMULA - 20))
    assert len(message.split("; there are")[0]) < 120
    assert "q" * 60 not in message


PREDICTORS = [
    "site",
    "plan",
    "age",
    "C(plan, level='coarse')",
    "C(region, reference='west')",
    "log(income)",
    "spline(income)",
    "Q('net-worth')",
    "square(age)",
]


def written(depth: int) -> st.SearchStrategy[str]:
    if depth == 0:
        return st.sampled_from(PREDICTORS)
    inner = written(depth - 1)
    return st.one_of(
        inner,
        st.tuples(inner, st.sampled_from(["+", ":", "*", "/", " - "]), inner).map(
            lambda t: f"({''.join(t)})"
        ),
        st.tuples(inner, inner, st.sampled_from(["^2", "**3"])).map(lambda t: f"({t[0]} + {t[1]}){t[2]}"),
    )


@given(written(2), st.sampled_from(["", " - 1", " + 0", " + 1"]))
def test_the_canonical_text_means_the_same_formula(right: str, constant: str) -> None:
    try:
        formula = parse_formula(f"log(cost) ~ {right}{constant}", VOCABULARY)
    except FormulaError:
        return
    assert parse_formula(formula.canonical(), VOCABULARY) == formula


@given(st.text(alphabet="sitecoag ~+-*:/^()123'\",=CQ.\\\n", max_size=60))
def test_any_text_is_a_formula_or_a_told_problem(text: str) -> None:
    with contextlib.suppress(FormulaError):
        assert parse_formula(text, VOCABULARY).canonical()


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("cost ~ age + plan:coarse", 18),
        ("cost ~ plan : coarse", 14),
        ("cost ~ C(plan:coarse)", 14),
        ("plan:coarse ~ age", 5),
    ],
)
def test_a_level_after_a_colon_as_tables_have_it_is_told_the_right_way(text: str, position: int) -> None:
    """Of a formula it is an interaction."""
    right = "'coarse' is a level of plan: a formula has it as C(plan, level=\"coarse\")"

    assert (position, right) in problems(text)
    assert "plan" in canonical('cost ~ C(plan, level="coarse")')


def test_a_name_after_a_colon_that_is_no_level_of_the_variable_is_unknown() -> None:
    message = "there is no variable or measure 'coarse' (did you mean cost, income?)"
    assert problems("cost ~ site:coarse") == [(12, message)]


def test_of_a_formula_that_is_too_long_nothing_else_is_told():
    ((_, message),) = problems("cost ~ site" + " + site" * LONGEST_FORMULA)
    assert message.startswith(f"a formula has at most {LONGEST_FORMULA} characters")
