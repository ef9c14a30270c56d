"""A researcher attacks the RAND file: what he computes from released answers is compared with the truth.

Each test is one attack that must learn nothing: no count of fewer than ten persons, no sum of fewer than
three households, no withheld value, nobody's income. Attacks that still succeed are marked `is_open`; the
mark is strict, so that it goes when the hole is closed.
"""

import itertools
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels
import yaml
from scipy.optimize import linprog

from house import RANDHIE, build, cells, reasons, verdict, with_randhie
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.methods.cells import Axis, additive_relations
from sdcgate.methods.tables.assessment import Assessment

VALID_EDUCATION = [str(code) for code in range(26)]
EVERY_SEX = ["0", "1"]
"""A condition that everybody meets, as nobody's sex is missing."""
AGES = {
    "broad": {"0-17": (0, 17), "18-39": (18, 39), "40-64": (40, 64)},
    "twenty_years": {"0-19": (0, 19), "20-39": (20, 39), "40-59": (40, 59), "60-64": (60, 64)},
    "ten_years": {f"{low}-{min(low + 9, 64)}": (low, min(low + 9, 64)) for low in range(0, 65, 10)},
}


def is_open(reason: str) -> pytest.MarkDecorator:
    """The attack succeeds today."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    people = pd.read_csv(Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv")
    return people.assign(age=np.floor(people.xage).astype(int))


@pytest.fixture
def house(tmp_path):
    return with_randhie(tmp_path)


def shown(answered) -> dict:
    """Figures by codes; nothing where no table left."""
    return cells(answered) if answered.decision.HasField("table") else {}


def figure(table: dict, *codes: str, place: int = 0) -> float | None:
    """One figure, None where it did not leave."""
    return table.get(codes, (None,) * (place + 1))[place]


def combined(*terms: tuple[int, float | None]) -> float | None:
    """A signed sum of figures, None where one of them is not known."""
    if any(value is None for _, value in terms):
        return None
    return sum(sign * value for sign, value in terms)


def assert_not_learned(computed: float | None, truth: float, within: float = 1e-6) -> None:
    assert computed is None or abs(computed - truth) > within, f"computed {computed}, and that is true"


# One person or one family, by two queries.


def test_a_condition_that_everybody_meets_does_not_hide_that_one_population_lies_in_another(house, people):
    asked = {"rows": ["year"], "figures": ["UNITS", "SUM:income", "SUM:meddol"], "site": ["3"], "year": ["2"]}
    everybody = shown(house.ask(**asked, female=EVERY_SEX))
    valid = shown(house.ask(**asked, education=VALID_EDUCATION))
    here = people[(people.site == 3) & (people.year == 2) & people.educdec.isna()]
    assert len(here) == 1
    for place, truth in enumerate((1.0, here.income.sum(), here.meddol.sum())):
        computed = combined((1, figure(everybody, "_T", place=place)), (-1, figure(valid, "_T", place=place)))
        assert_not_learned(computed, truth, within=0.11)


def test_the_income_of_the_family_of_twelve_is_not_a_difference(house, people):
    asked = {"rows": ["year"], "figures": ["UNITS", "SUM:income"], "site": ["5"], "year": ["2"]}
    everybody = shown(house.ask(**asked, female=EVERY_SEX))
    small = shown(house.ask(**asked, household_size=[str(size) for size in range(1, 11)]))
    family = people[(people.site == 5) & (people.year == 2) & (people.num > 10)]
    assert (len(family), family.income.nunique()) == (12, 1)
    computed = combined((1, figure(everybody, "_T", place=1)), (-1, figure(small, "_T", place=1)))
    assert_not_learned(computed, family.income.sum(), within=0.11)


def test_a_total_left_out_is_known_all_the_same(house):
    inner = shown(house.ask(rows=["female"], margins=False, site=["3"], year=["2"]))
    valid = shown(house.ask(rows=["year"], site=["3"], year=["2"], education=VALID_EDUCATION))
    total = combined(*((1, figure(inner, sex)) for sex in ("0", "1", "_U")))
    assert_not_learned(combined((1, total), (-1, figure(valid, "_T"))), 1)


def test_what_two_filters_leave_of_a_third_is_a_difference(house):
    asked = {"rows": ["female"], "site": ["3"], "year": ["2"]}
    everybody = shown(house.ask(**asked))
    halves = VALID_EDUCATION[:12], VALID_EDUCATION[12:]
    parts = [shown(house.ask(**asked, education=codes)) for codes in halves]
    computed = combined((1, figure(everybody, "_T")), *((-1, figure(part, "_T")) for part in parts))
    assert_not_learned(computed, 1)


def test_people_of_eighteen_and_nineteen_are_not_two_age_groupings_apart(house, people):
    asked = {"year": ["1"], "female": ["0"], "margins": False}
    tens = house.ask(rows=["site"], columns=["age:ten_years"], age__ten_years=["0-9", "10-19"], **asked)
    broad = house.ask(rows=["site"], columns=["age:broad"], age__broad=["0-17"], **asked)
    tens, broad = shown(tens), shown(broad)
    truth = people[(people.year == 1) & (people.female == 0) & people.age.between(18, 19)]
    few = 0
    for site in "123456":
        persons = truth[truth.site == int(site)].zper.nunique()
        few += persons < 10
        young = (figure(tens, site, "0-9"), figure(tens, site, "10-19"), figure(broad, site, "0-17"))
        if 0 < persons < 10:
            assert_not_learned(combined(*zip((1, 1, -1), young, strict=True)), persons)
    assert few


@pytest.mark.parametrize("margins", [True, False])
def test_a_withheld_plan_is_not_its_coinsurance_rate_without_the_other_plans(house, people, margins):
    asked = {"age__broad": ["0-17"], "female": ["1"], "year": ["3"], "margins": margins}
    by_plan = shown(house.ask(rows=["site"], columns=["plan"], **asked))
    by_rate = shown(house.ask(rows=["site"], columns=["coins"], **asked))
    girls = people[(people.site == 1) & (people.age < 18) & (people.female == 1) & (people.year == 3)]
    assert figure(by_plan, "1", "10") is None
    computed = combined(
        (1, figure(by_rate, "1", "50")), *((-1, figure(by_plan, "1", plan)) for plan in ("8", "9"))
    )
    assert_not_learned(computed, girls[girls.plan == 10].zper.nunique())


def test_poor_health_is_not_what_the_other_ratings_leave(house, people):
    asked = {"rows": ["site"], "columns": ["age:broad"], "figures": ["RECORDS"]}
    neither = {"hlthg": ["0"], "hlthf": ["0"], "hlthp": ["0"]}
    ratings = ({}, {"hlthg": ["1"]}, {"hlthf": ["1"]}, neither)
    whole, good, fair, excellent = (shown(house.ask(**asked, **rating)) for rating in ratings)
    for group, (low, high) in AGES["broad"].items():
        for site in "123456":
            here = people[(people.site == int(site)) & people.age.between(low, high) & (people.hlthp == 1)]
            if 0 < here.zper.nunique() < 10:
                computed = combined(
                    *((sign, figure(t, site, group)) for sign, t in ((1, whole), (-1, good), (-1, fair))),
                    (-1, figure(excellent, site, group)),
                )
                assert_not_learned(computed, len(here))


# The panel.


@is_open("units of nested boxes can be subtracted: those who have a record in one year and none in the other")
def test_how_many_left_a_plan_after_the_first_year_is_not_told_where_they_are_few(house, people):
    table = shown(house.ask(rows=["plan"], columns=["year"], year=["1", "2"]))
    for plan in sorted(people.plan.unique()):
        members = people[people.plan == plan]
        first, second = (set(members[members.year == year].zper) for year in (1, 2))
        both = figure(table, str(plan), "_T")
        for alone, other in ((first - second, "2"), (second - first, "1")):
            if 0 < len(alone) < 10:
                assert_not_learned(combined((1, both), (-1, figure(table, str(plan), other))), len(alone))


def test_six_persons_of_the_fourth_year_stay_hidden_in_both_orders_and_in_pieces(house):
    years = ["1", "2", "3", "5"]
    assert verdict(house.ask(rows=["plan"], site=["2"], year=years)) != "REFUSED"
    whole = shown(house.ask(rows=["plan"], site=["2"]))
    assert figure(whole, "17") is None
    assert figure(shown(house.ask(rows=["year"], columns=["plan"], site=["2"])), "4", "17") is None


def test_the_persons_of_a_late_year_are_not_a_difference_of_records(house, people):
    few = people[(people.site == 2) & (people.plan == 17) & (people.year == 4)]
    assert few.zper.nunique() == 6
    asked = {"rows": ["site"], "columns": ["plan"], "figures": ["RECORDS", "SUM:meddol"]}
    every = shown(house.ask(**asked))
    without = shown(house.ask(**asked, year=["1", "2", "3", "5"]))
    for place, truth in ((0, len(few)), (1, few.meddol.sum())):
        computed = combined(
            (1, figure(every, "2", "17", place=place)), (-1, figure(without, "2", "17", place=place))
        )
        assert_not_learned(computed, truth, within=0.11)


# Groups, and what a measure is made of.


def test_that_nobody_of_a_group_has_a_rating_is_not_told_by_a_filter(tmp_path, people):
    """Every category counts here, also the one that does no harm to have."""
    described = yaml.safe_load(RANDHIE.read_text().replace(", harmless: true", ""))
    house = build(tmp_path)
    house.engine.register(parse_descriptor(described))
    asked = {"rows": ["site"], "columns": ["plan"], "year": ["1"]}
    every, poor = shown(house.ask(**asked)), shown(house.ask(**asked, hlthp=["1"]))
    told = [code for code in poor if poor[code] == (0,) and (figure(every, *code) or 0) >= 10]
    assert not told, f"nobody has it in {len(told)} groups of ten persons and more"


def test_a_withheld_sum_is_not_what_the_other_measures_leave_of_the_whole(house, people):
    asked = {"rows": ["site"], "columns": ["age:ten_years"]}
    tables = {
        measure: shown(house.ask(figures=["UNITS", f"SUM:{measure}"], **asked))
        for measure in ("meddol", "outpdol", "drugdol", "inpdol")
    }
    withheld = [code for code, values in tables["inpdol"].items() if values[0] is None and "_T" not in code]
    assert withheld
    for site, group in withheld:
        low, high = AGES["ten_years"][group]
        here = people[(people.site == int(site)) & people.age.between(low, high)]
        signs = ((1, "meddol"), (-1, "outpdol"), (-1, "drugdol"))
        estimate = combined(*((s, figure(tables[m], site, group, place=1)) for s, m in signs))
        # The policy wants a tenth of uncertainty.
        assert_not_learned(estimate, here.inpdol.sum(), within=0.099 * here.inpdol.sum())


def test_families_of_eleven_and_more_are_not_cut_out_of_the_large_households(house, people):
    asked = {"rows": ["household_size:groups"], "figures": ["UNITS", "SUM:income"]}
    sums = [figure(shown(house.ask(**asked)), "7 or more", place=1)]
    for most in range(10, 14):
        sizes = [str(size) for size in range(7, most + 1)]
        sums.append(figure(shown(house.ask(**asked, household_size=sizes)), "7 or more", place=1))
    for one, other in itertools.combinations(sums, 2):
        for size in (11, 12, 13, 14):
            truth = people[people.num == size].income.sum()
            assert_not_learned(None if one is None or other is None else abs(one - other), truth, within=0.21)


def test_one_family_is_not_told_by_single_code_filters(house):
    for size in ("11", "12", "13", "14"):
        assert verdict(house.ask(rows=["site"], household_size=[size])) == "REFUSED"
        with_tens = house.ask(rows=["household_size"], household_size=["10", size], figures=["MEAN:income"])
        assert figure(shown(with_tens), size) is None


# Verdicts and reasons.


def test_the_reason_of_a_refusal_does_not_count_a_withheld_cell(house, people):
    table = shown(house.ask(rows=["site"], columns=["plan"], year=["4"]))
    truth = people[(people.site == 2) & (people.plan == 17) & (people.year == 4)].zper.nunique()
    assert figure(table, "2", "17") is None
    known = {plan: int(v[0]) for (site, plan), v in table.items() if site == "2" and v[0] and plan.isdigit()}
    padding = {}
    for size in range(1, 5):
        for plans in itertools.combinations(known, size):
            padding.setdefault(sum(known[plan] for plan in plans), plans)
    least, most = 1, 9
    for persons in sorted(set(padding) & set(range(40, 50))):
        answered = house.ask(rows=["female"], site=["2"], year=["4"], plan=["17", *padding[persons]])
        if "MINIMUM_BASE" in reasons(answered):
            most = min(most, 49 - persons)
        elif verdict(answered) == "REFUSED":
            least = max(least, 50 - persons)
    assert (least, most) != (truth, truth)


def test_refusals_of_different_differences_read_the_same(house):
    """One person in one case, nine in the other: the answers differ in ids and times only."""
    told = []
    for site, year in (("3", "2"), ("2", "3")):
        house.ask(rows=["female"], site=[site], year=[year])
        answered = house.ask(rows=["female"], site=[site], year=[year], education=VALID_EDUCATION)
        if verdict(answered) == "REFUSED":
            told.append([reason.SerializeToString() for reason in answered.decision.reasons])
    assert len({tuple(one) for one in told}) <= 1


def test_a_risk_service_that_finds_nothing_does_not_let_a_difference_out(tmp_path):
    class Silent:
        def assess_table(self, *_) -> Assessment:
            return Assessment((), None, ())

    house = with_randhie(tmp_path, risk=Silent())
    asked = {"rows": ["female"], "site": ["3"], "year": ["2"]}
    everybody = shown(house.ask(**asked))
    valid = shown(house.ask(**asked, education=VALID_EDUCATION))
    assert_not_learned(combined((1, figure(everybody, "_T")), (-1, figure(valid, "_T"))), 1)


# Trackers, complements, shapes: closed.


def test_a_withheld_cell_padded_with_a_published_one_is_not_told(house, people):
    asked = {"site": ["2"], "year": ["4"]}
    table = shown(house.ask(rows=["site"], columns=["plan"], year=["4"]))
    known = [plan for (site, plan), v in table.items() if site == "2" and v[0] and plan.isdigit()]
    for plan in known:
        padded = shown(house.ask(rows=["plan"], plan=["17", plan], **asked))
        computed = combined((1, figure(padded, "_T")), (-1, figure(table, "2", plan)))
        assert_not_learned(computed, 6)


def test_everybody_but_a_withheld_cell_is_not_told(house, people):
    table = shown(house.ask(rows=["site"], columns=["plan"], year=["4"]))
    others = [str(plan) for plan in sorted(people.plan.unique()) if plan != 17]
    rest = shown(house.ask(rows=["site"], plan=others, year=["4"]))
    assert_not_learned(combined((1, figure(table, "2", "_T")), (-1, figure(rest, "2"))), 6)


def test_margins_asked_for_after_the_cells_do_not_give_away_what_was_withheld_alone(house, people):
    asked = {"rows": ["plan"], "columns": ["age:broad"], "year": ["4"], "female": ["0"]}
    inner = shown(house.ask(**asked, margins=False))
    totals = [shown(house.ask(**asked)), shown(house.ask(rows=["plan"], year=["4"], female=["0"]))]
    boys = people[(people.year == 4) & (people.female == 0)]
    for plan in map(str, sorted(people.plan.unique())):
        hidden = [group for group in AGES["broad"] if figure(inner, plan, group) is None]
        if len(hidden) == 1:
            low, high = AGES["broad"][hidden[0]]
            truth = boys[(boys.plan == int(plan)) & boys.age.between(low, high)].zper.nunique()
            seen = [(-1, figure(inner, plan, group)) for group in AGES["broad"] if group != hidden[0]]
            for total in (figure(totals[0], plan, "_T"), figure(totals[1], plan)):
                assert_not_learned(combined((1, total), *seen), truth)


def test_a_withheld_cell_is_not_told_by_slices_of_single_codes(house):
    table = shown(house.ask(rows=["site"], columns=["plan"], layers=["female"], year=["1"]))
    withheld = [code for code, values in table.items() if values[0] is None and "_T" not in code]
    assert withheld
    for site, plan, female in withheld[:6]:
        slice_of = {"site": [site], "plan": [plan], "year": ["1"]}
        assert not shown(house.ask(rows=["hlthg"], **slice_of, female=[female]))  # four conditions
        assert figure(shown(house.ask(rows=["female"], **slice_of)), female) is None
        for inside in ("age:broad", "education:stages", "hlthg"):
            sliced = shown(house.ask(rows=["female"], columns=[inside], **slice_of))
            parts = [values[0] for code, values in sliced.items() if code[0] == female and code[1] != "_T"]
            assert figure(sliced, female, "_T") is None
            assert None in parts or not parts


def test_the_same_people_under_another_name_stay_withheld(house):
    """Children are those below 18."""
    asked = {"rows": ["plan"], "columns": ["site"], "year": ["4"]}
    by_age = shown(house.ask(**asked, age__broad=["0-17"]))
    as_children = shown(house.ask(**asked, child=["1"]))
    withheld = [code for code, values in by_age.items() if values[0] is None]
    assert withheld
    assert all(figure(as_children, *code) is None for code in withheld)


def test_percentages_and_means_say_no_more_than_the_counts(house):
    asked = {"rows": ["site"], "columns": ["plan"], "year": ["4"]}
    counts = shown(house.ask(**asked))
    withheld = {code for code, values in counts.items() if values[0] is None}
    assert withheld
    for statistic in ("ROW_PERCENT", "COLUMN_PERCENT", "TOTAL_PERCENT", "MEAN:mdvis", "WEIGHTED_UNITS"):
        for margins in (True, False):
            table = shown(house.ask(**asked, figures=[statistic], margins=margins))
            assert all(figure(table, *code) is None for code in withheld)


def test_a_dimension_under_a_condition_of_its_own_is_the_part_that_is_left(house, people):
    table = shown(house.ask(rows=["site"], columns=["age:ten_years"], year=["1"], female=["1"]))
    few = shown(
        house.ask(
            rows=["site"],
            columns=["age:ten_years"],
            year=["1"],
            female=["1"],
            age__years=[str(age) for age in range(20) if age not in (18, 19)],
        )
    )
    women = people[(people.year == 1) & (people.female == 1) & people.age.between(18, 19)]
    for site in "123456":
        truth = women[women.site == int(site)].zper.nunique()
        if 0 < truth < 10:
            parts = (1, figure(table, site, "10-19")), (-1, figure(few, site, "10-19"))
            assert_not_learned(combined(*parts), truth)


def test_a_table_without_dimensions_is_judged_as_any_other(house):
    answered = house.ask(site=["3"], year=["2"])
    assert verdict(answered) == "RELEASED"
    assert list(answered.decision.table.figures[0].values) == [694.0]
    assert reasons(house.ask(site=["3"], year=["2"], education=VALID_EDUCATION)) == ["DIFFERENCING"]
    assert reasons(house.ask(site=["3"], year=["2"], education=["_U"])) == ["MINIMUM_BASE"]


def test_the_same_source_under_another_name_goes_to_a_checker(house):
    house.ask(rows=["site"], columns=["plan"])
    house.engine.register(parse_descriptor(yaml.safe_load(RANDHIE.read_text()) | {"name": "twin"}))
    assert verdict(house.ask(dataset="twin", rows=["site"], columns=["plan"])) == "REFERRED"


def test_no_few_persons_are_a_sum_of_withheld_cells_that_can_be_computed(house):
    answered = house.ask(rows=["site"], columns=["plan"], layers=["female"], year=["3"])
    table = shown(answered)
    units = house.facility.get_query(house.checker, answered.decision.query).checker.facts.units
    codes = list(table)
    hidden = [place for place, code in enumerate(codes) if table[code][0] is None]
    free = movements(answered.decision.table.dimensions, hidden)
    small = [k for k, place in enumerate(hidden) if 0 < units[place] < 10 and "_T" not in codes[place]]
    assert len(small) > 10
    for size in (1, 2, 3):
        for cells_together in itertools.combinations(small, size):
            if sum(units[hidden[k]] for k in cells_together) < 10:
                assert np.abs(free[:, cells_together].sum(axis=1)).max() > 1e-9


def movements(dimensions, hidden: list[int]) -> np.ndarray:
    """A basis of the ways in which hidden cells move while all shown ones stay, shape (ways, hidden)."""
    axes = tuple(
        Axis(d.variable, d.level, tuple(d.codes), (*([len(d.codes) - 1] * (len(d.codes) - 1)), -1))
        for d in dimensions
    )
    column = {place: k for k, place in enumerate(hidden)}
    relations = additive_relations(axes)
    rows = np.zeros((len(relations), len(hidden)))
    for row in range(len(relations)):
        for part in relations.parts(row):
            if int(part) in column:
                rows[row, column[int(part)]] += 1
        if int(relations.parents[row]) in column:
            rows[row, column[int(relations.parents[row])]] -= 1
    _, sizes, ways = np.linalg.svd(rows, full_matrices=True)
    return ways[int((sizes > 1e-9).sum()) :]


# Everything together: a linear program over all that has left, as an intruder would solve it.


def test_no_withheld_count_is_the_only_one_that_agrees_with_a_session_of_tables(house, people):
    widths = widths_after_a_session(house, people, seed=8)
    assert len(widths) > 10
    assert not [width for width in widths if width < 1]


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_no_withheld_count_is_bounded_more_tightly_than_the_policy_wants_by_a_session_of_tables(
    house, people, seed
):
    widths = widths_after_a_session(house, people, seed)
    assert len(widths) > 10
    assert not [width for width in widths if width < 10 - 1e-6]


def widths_after_a_session(house, people: pd.DataFrame, seed: int) -> list[float]:
    """How wide each withheld count is to an intruder who has heard a session of fourteen requests."""
    session = Session(people[people.year == 4])
    for dimensions, level, request in ordinary_requests(seed):
        answered = house.ask(figures=["RECORDS"], year=["4"], **request)
        session.hear(dimensions, level, request, shown(answered))
    return [session.width(box) for box in session.withheld if box not in session.known]


def ordinary_requests(seed: int):
    """Requests by site, sex and age in overlapping groups, margins on and off, now and then a filter."""
    rng = random.Random(seed)
    shapes = [["site", "female"], ["site", "age"], ["female", "age"], ["site", "female", "age"]]
    shapes += [["age"], ["site"], ["female"]]
    for _ in range(14):
        dimensions, level, conditions = rng.choice(shapes), rng.choice(list(AGES)), {}
        if rng.random() < 0.5:
            variable = rng.choice(["site", "female"])
            codes = "123456" if variable == "site" else "01"
            conditions = {variable: sorted(rng.sample(codes, rng.randint(1, len(codes) - 1)))}
        asked = [f"age:{level}" if name == "age" else name for name in dimensions]
        request = {"rows": asked[:1], "columns": asked[1:2], "layers": asked[2:]}
        yield dimensions, level, {**request, "margins": rng.random() < 0.6, **conditions}


class Session:
    """What an intruder knows after some tables: records of sets of (site, sex, age group) atoms."""

    def __init__(self, people: pd.DataFrame) -> None:
        edges = sorted({low for groups in AGES.values() for low, _ in groups.values()})
        self.groups = [(low, high - 1) for low, high in itertools.pairwise([*edges, 65])]
        atoms = itertools.product(range(1, 7), (0, 1), range(len(self.groups)))
        self.atoms = {atom: place for place, atom in enumerate(atoms)}
        group_of = {age: g for g, (low, high) in enumerate(self.groups) for age in range(low, high + 1)}
        self.truth = np.zeros(len(self.atoms))
        for site, female, age in zip(people.site, people.female, people.age, strict=True):
            self.truth[self.atoms[site, female, group_of[age]]] += 1
        self.known: dict[frozenset[int], float] = {}
        self.withheld: dict[frozenset[int], float] = {}

    def hear(self, dimensions: list[str], level: str, request: dict, table: dict) -> None:
        """Take in an answer; what is published must be true."""
        for codes, values in table.items():
            if "_U" in codes:
                continue
            sets = {
                "site": {int(code) for code in request.get("site", "123456")},
                "female": {int(code) for code in request.get("female", "01")},
                "age": set(range(len(self.groups))),
            }
            for name, code in zip(dimensions, codes, strict=True):
                if code != "_T":
                    sets[name] &= self.codes(level, code) if name == "age" else {int(code)}
            box = frozenset(self.atoms[atom] for atom in itertools.product(*sets.values()))
            if values[0] is None:
                self.withheld[box] = self.truth[list(box)].sum()
            else:
                assert values[0] == self.truth[list(box)].sum()
                self.known[box] = values[0]

    def codes(self, level: str, code: str) -> set[int]:
        low, high = AGES[level][code]
        return {g for g, (first, last) in enumerate(self.groups) if low <= first and last <= high}

    def width(self, box: frozenset[int]) -> float:
        """Greatest less least value that agrees with all that is known."""
        rows = np.zeros((len(self.known), len(self.atoms)))
        for row, known in enumerate(self.known):
            rows[row, list(known)] = 1
        aim = np.zeros(len(self.atoms))
        aim[list(box)] = 1
        told = np.array(list(self.known.values()))
        least, most = (linprog(sign * aim, A_eq=rows, b_eq=told, bounds=(0, None)) for sign in (1, -1))
        return -most.fun - least.fun
