"""The way of a query on the RAND Health Insurance Experiment: engine, ledger and methods in one process."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels

from house import build, cells, person, reasons, table_request, verdict, with_randhie
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.answers import answer_bytes
from sdcgate.facility.errors import Conflict, Forbidden, InvalidRequest, NotFound
from sdcgate.facility.in_process import LocalProtection
from sdcgate.facility.pace import Pace
from sdcgate.ledger.certificates import verify_certificate
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pd.read_csv(Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv")


@pytest.fixture
def house(tmp_path):
    return with_randhie(tmp_path)


def test_a_table_without_small_cells_is_released_as_asked_with_the_persons_pandas_counts(house, people):
    answered = house.ask(rows=["site"], columns=["female"])
    assert verdict(answered) == "RELEASED"
    expected = people.groupby(["site", "female"]).zper.nunique()
    shown = cells(answered)
    for (site, female), persons in expected.items():
        assert shown[str(site), str(female)] == (persons,)
    assert shown["_T", "_T"] == (5912,)
    assert shown["1", "_T"] == (people[people.site == 1].zper.nunique(),)
    assert shown["1", "_U"] == (0,)


def test_small_cells_are_withheld_with_few_others_and_the_rest_is_true(house, people):
    answered = house.ask(rows=["site"], columns=["plan"], layers=["female"], figures=["UNITS", "RECORDS"])
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert reasons(answered) == ["MINIMUM_UNITS"]
    shown = cells(answered)
    truth = people.groupby(["site", "plan", "female"]).zper.agg(["nunique", "size"])
    withheld = 0
    for (site, plan, female), (persons, records) in truth.iterrows():
        figures = shown[str(site), str(plan), str(female)]
        if persons < 10:
            assert figures == (None, None)
        withheld += figures == (None, None)
        assert figures in ((None, None), (persons, records))
    assert (truth["nunique"] < 10).sum() == 12
    assert 12 < withheld <= 40


def test_the_same_question_gets_the_same_answer_from_the_ledger(house):
    first = house.ask(rows=["site"], columns=["plan"])
    again = house.ask(rows=["site"], columns=["plan"])
    assert (first.repeated, again.repeated) == (False, True)
    assert again.decision == first.decision
    assert house.ledger.verify().ok


def test_four_dimensions_are_refused_before_the_data_are_touched_and_a_smaller_table_is_offered(house):
    answered = house.ask(rows=["site", "plan"], columns=["female", "year"])
    assert verdict(answered) == "REFUSED"
    assert reasons(answered) == ["MAXIMUM_DIMENSIONS"]
    assert not answered.decision.HasField("table")
    assert [d.variable for d in answered.decision.alternatives[0].rows] == ["site", "plan"]
    assert [d.variable for d in answered.decision.alternatives[0].columns] == ["female"]


def test_six_persons_in_the_fourth_year_are_not_given_away_by_leaving_that_year_out(house):
    assert verdict(house.ask(rows=["site"], columns=["plan"])) != "REFUSED"
    without = house.ask(rows=["site"], columns=["plan"], year=["1", "2", "3", "5"])
    assert verdict(without) == "REFUSED"
    assert reasons(without) == ["DIFFERENCING"]


def test_the_one_person_whose_education_is_missing_is_not_given_away_by_asking_for_valid_codes(house, people):
    codes = [str(code) for code in range(26)]
    everybody = house.ask(rows=["female"], site=["3"], year=["2"])
    assert verdict(everybody) == "RELEASED"
    assert cells(everybody)["_T",] == (694,)
    valid = house.ask(rows=["female"], site=["3"], year=["2"], education=codes)
    assert verdict(valid) == "REFUSED"
    assert reasons(valid) == ["DIFFERENCING"]


def test_the_order_of_a_differencing_attempt_does_not_matter(house):
    codes = [str(code) for code in range(26)]
    assert verdict(house.ask(rows=["female"], site=["3"], year=["2"], education=codes)) == "RELEASED"
    assert reasons(house.ask(rows=["female"], site=["3"], year=["2"])) == ["DIFFERENCING"]


def test_a_cell_withheld_once_stays_withheld_in_any_shape(house, people):
    shown = cells(house.ask(rows=["site"], columns=["plan"], layers=["female"]))
    withheld = next(code for code, figures in shown.items() if figures == (None,) and "_T" not in code)
    site, plan, female = withheld
    other = house.ask(rows=["plan"], columns=["female"], site=[site])
    assert verdict(other) in ("RELEASED_PROTECTED", "REFUSED")
    if verdict(other) == "RELEASED_PROTECTED":
        assert cells(other)[plan, female] == (None,)


def test_families_of_eleven_and_more_are_households_of_one_income_and_do_not_get_out(house, people):
    answered = house.ask(rows=["household_size"], figures=["UNITS", "MEAN:income"])
    assert verdict(answered) == "RELEASED_PROTECTED"
    shown = cells(answered)
    for size in ("11", "12", "13", "14"):
        assert shown[size,] == (None, None)
    # Together they are one more family: the total less the shown sizes must not give them away.
    hidden = [code for (code,), figures in shown.items() if figures == (None, None) and code != "_T"]
    if shown["_T",] != (None, None):
        sizes = [int(code) for code in hidden if code.isdigit()]
        union = people[people.num.isin(sizes)]
        assert (1 / union.groupby("zper").num.max()).sum() >= 3


def test_too_much_identifying_detail_is_refused_and_coarser_levels_are_proposed(house):
    answered = house.ask(rows=["site"], columns=["age:years"], layers=["education:years"])
    assert verdict(answered) == "REFUSED"
    assert "INDIVIDUAL_RISK" in reasons(answered)
    assert any("ten_years" in reason.suggestion for reason in answered.decision.reasons)
    proposed = answered.decision.alternatives
    assert 1 <= len(proposed) <= 3
    for one in proposed:
        assert one.judged
        asked = {
            name: [f"{d.variable}:{d.level}" for d in getattr(one, name)]
            for name in ("rows", "columns", "layers")
        }
        assert verdict(house.ask(**asked)) == "RELEASED"


def test_means_are_those_of_the_records_and_leave_rounded(house, people):
    answered = house.ask(rows=["site"], figures=["MEAN:meddol", "SUM:mdvis"])
    shown = cells(answered)
    for site, group in people.groupby("site"):
        mean, visits = shown[str(site),]
        assert mean == pytest.approx(group.meddol.mean(), abs=0.0501)
        assert mean == round(mean, 1)
        assert visits == group.mdvis.sum()


def test_a_mean_can_still_be_protected_where_the_counts_are_known_already(house):
    counts = house.ask(rows=["site"], columns=["age:ten_years"])
    assert verdict(counts) == "RELEASED"
    means = house.ask(rows=["site"], columns=["age:ten_years"], figures=["UNITS", "MEAN:inpdol"])
    assert verdict(means) == "RELEASED_PROTECTED"
    withheld = [code for code, figures in cells(means).items() if figures == (None, None)]
    assert 1 < len(withheld) < 40
    again = cells(house.ask(rows=["age:ten_years"], columns=["site"]))
    assert all(again[age, site] == cells(counts)[site, age] for site, age in withheld)


def test_a_category_that_holds_a_whole_group_is_withheld_though_the_group_is_known(tmp_path):
    house = build(tmp_path)
    rows = [f"{g},{int(g == 'A' or n % 3 == 0)}" for g in "ABCD" for n in range(60)]
    (tmp_path / "ill.csv").write_text("\n".join(["group,ill", *rows]))
    codes = {"group": "ABCD", "ill": "01"}
    variables = [
        {
            "name": name,
            "identifying": "YES" if name == "group" else "NO",
            "sensitive": name == "ill",
            "levels": [{"codes": [{"code": code} for code in codes[name]]}],
        }
        for name in codes
    ]
    declared = {"name": "ill", "data": {"path": "ill.csv"}, "design": {"coverage": "CENSUS"}}
    house.engine.register(parse_descriptor(declared | {"variables": variables}))
    assert cells(house.ask(dataset="ill", rows=["group"]))["A",] == (60,)
    answered = house.ask(dataset="ill", rows=["group"], columns=["ill"])
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert cells(answered)["A", "1"] == cells(answered)["A", "0"] == (None,)
    assert cells(answered)["A", "_T"] == (60,)


def test_percentages_leave_only_with_their_denominators(house, people):
    answered = house.ask(rows=["site"], columns=["female"], figures=["ROW_PERCENT"], margins=False)
    shown = cells(answered)
    assert ("1", "_T") not in shown
    share = (people[people.site == 1].female == 1).mean() * 100
    assert shown["1", "1"][0] == pytest.approx(share, abs=0.051)


class CountedProtection(LocalProtection):
    calls = 0

    def protect_table(self, *asked):
        self.calls += 1
        return super().protect_table(*asked)


def test_an_old_table_in_another_form_has_the_same_cells_withheld_and_is_not_proved_anew(tmp_path):
    service = CountedProtection()
    house = with_randhie(tmp_path, protection=service)
    first = house.ask(rows=["plan"], columns=["site"])
    assert verdict(first) == "RELEASED_PROTECTED"
    calls = service.calls
    turned = house.ask(rows=["site"], columns=["plan"])
    assert {codes[::-1]: figures for codes, figures in cells(turned).items()} == cells(first)
    assert service.calls == calls
    # Records of these cells have not left yet, nor has a measure.
    counts = house.ask(rows=["plan"], columns=["site"], figures=["UNITS", "RECORDS"])
    assert {codes: figures[:1] for codes, figures in cells(counts).items()} == cells(first)
    assert service.calls > calls
    calls = service.calls
    assert (
        verdict(house.ask(rows=["plan"], columns=["site"], figures=["MEAN:meddol"])) == "RELEASED_PROTECTED"
    )
    assert service.calls > calls


def test_a_cell_that_rules_forbid_and_everybody_knows_is_marked_and_needs_no_proof(tmp_path):
    house = build(tmp_path)
    # In the north nobody has gout, which an earlier table may tell: half of them are well.
    rows = [
        f"{region},{sex},{ill}"
        for region, sizes in (("north", (25, 25, 0)), ("south", (40, 20, 20)), ("west", (30, 25, 25)))
        for sex in "fm"
        for ill, size in zip(("none", "flu", "gout"), sizes, strict=True)
        for _ in range(size)
    ]
    (tmp_path / "ill.csv").write_text("\n".join(["region,sex,ill", *rows]))

    def variable(name, codes, **more):
        return {"name": name, "identifying": "NO", "levels": [{"codes": codes}], **more}

    ills = [{"code": "none", "harmless": True}, {"code": "flu"}, {"code": "gout"}]
    variables = [
        variable("region", [{"code": code} for code in ("north", "south", "west")]),
        variable("sex", [{"code": code} for code in "fm"]),
        variable("ill", ills, sensitive=True),
    ]
    declared = {"name": "ill", "data": {"path": "ill.csv"}, "design": {"coverage": "CENSUS"}}
    house.engine.register(parse_descriptor(declared | {"variables": variables}))
    parts = house.ask(dataset="ill", rows=["region"], columns=["sex"], layers=["ill"])
    assert cells(parts)["north", "f", "flu"] == (25.0,)

    others = house.ask(dataset="ill", rows=["region"], columns=["sex"], ill=["none", "flu"])

    assert verdict(others) == "RELEASED_PROTECTED"
    assert {code for code, figures in cells(others).items() if figures == (None,)} >= {
        ("north", "f"),
        ("north", "m"),
    }


def test_that_a_sensitive_value_is_known_is_no_category_of_it(house):
    valid = house.ask(rows=["year"], columns=["female"], hlthp=["0", "1"])
    assert verdict(valid) == "RELEASED"


def test_what_is_withheld_only_as_a_share_counts_as_known_and_can_be_asked(tmp_path):
    house = build(tmp_path)
    counts = {"A": (30, 31, 32, 33), "B": (3, 0, 0, 0), "C": (12, 11, 13, 14), "D": (50, 51, 52, 53)}
    rows = [f"{g},{code}" for g, sizes in counts.items() for code, n in enumerate(sizes) for _ in range(n)]
    (tmp_path / "shares.csv").write_text("\n".join(["group,kind", *rows]))
    variables = [
        {"name": name, "identifying": "YES", "levels": [{"codes": [{"code": code} for code in codes]}]}
        for name, codes in (("group", "ABCD"), ("kind", "0123"))
    ]
    declared = {"name": "shares", "data": {"path": "shares.csv"}, "design": {"coverage": "CENSUS"}}
    house.engine.register(parse_descriptor(declared | {"variables": variables}))
    asked = {"dataset": "shares", "rows": ["kind"], "columns": ["group"]}
    shares = cells(house.ask(**asked, figures=["COLUMN_PERCENT"]))
    assert shares["_T", "C"] == (None,)
    lost = [(kind, "C") for kind in "0123"]
    assert [shares[code] for code in lost] == [(None,)] * 4
    units = cells(house.ask(**asked))
    told = [code for code in lost if units[code] != (None,)]
    assert told
    assert [units[code] for code in told] == [(counts["C"][int(kind)],) for kind, _ in told]
    assert units["_T", "C"] == units["0", "B"] == (None,)


def test_every_problem_of_a_request_is_told_at_once_with_public_names_only(house):
    request = table_request(
        rows=["sit", "plan:x"], columns=["plan"], figures=["MEAN", "SUM:medol"], female=["7"]
    )
    with pytest.raises(InvalidRequest) as caught:
        house.facility.query_table(house.researcher, request, Pace(10.0))
    problems = {problem.path: problem.message for problem in caught.value.problems}
    assert "site" in problems["rows[0].variable"]
    assert "rows[1].level" in problems
    assert "meddol" in problems["figures[1].measure"]
    assert set(problems) >= {"figures[0].measure", "filter[0].codes[0]"}


def test_an_unknown_dataset_is_not_found(house):
    with pytest.raises(NotFound):
        house.ask(dataset="nobody", rows=["site"])


def test_only_researchers_ask_and_others_do_not_see_their_queries(house):
    asked = house.ask(rows=["site"])
    with pytest.raises(Forbidden):
        house.facility.query_table(house.checker, table_request(rows=["site"]), Pace(10.0))
    with pytest.raises(NotFound):
        house.facility.get_query(person("researcher", "eve"), asked.decision.query)
    seen = house.facility.get_query(house.researcher, asked.decision.query)
    assert seen.decision == asked.decision
    assert not seen.HasField("checker")
    full = house.facility.get_query(house.checker, asked.decision.query)
    assert full.checker.researcher == "ada"
    assert sum(full.checker.facts.units) > 0


def test_the_certificate_proves_the_answer_offline_and_nothing_else(house):
    decision = house.ask(rows=["site"]).decision
    stored = house.ledger.query(decision.query)
    public = house.ledger.key_ring.public_pem()
    assert verify_certificate(stored.certificate, answer_bytes(decision), public)
    decision.table.figures[0].values[0] += 1
    assert not verify_certificate(stored.certificate, answer_bytes(decision), public)


def test_a_decision_of_a_referred_query_is_the_checkers(house):
    referred = next_referred(house)
    assert verdict(referred) == "REFERRED"
    query = referred.decision.query
    listed = house.facility.list_queries(house.checker, pb.ListQueriesRequest(verdicts=[pb.VERDICT_REFERRED]))
    assert [summary.query for summary in listed.queries] == [query]
    with pytest.raises(Forbidden):
        house.facility.review_query(person("researcher", "ada"), review(query, True), Pace(30.0))
    with pytest.raises(Forbidden):
        house.facility.review_query(person("checker", "ada"), review(query, True), Pace(30.0))
    decided = house.facility.review_query(house.checker, review(query, False), Pace(30.0))
    assert verdict(decided) == "REFUSED"
    with pytest.raises(Conflict):
        house.facility.review_query(house.checker, review(query, True), Pace(30.0))
    assert house.facility.get_query(house.researcher, query).decision == decided
    assert house.ledger.verify().ok


def review(query: str, approve: bool) -> pb.ReviewQueryRequest:
    return pb.ReviewQueryRequest(query=query, approve=approve, note="looked at it")


def next_referred(house):
    """A query that the policy refers: its protection is forced to stay unproved."""

    class Unproving:
        def protect_table(self, problem, unsafe, time_limit, timeout, known=None, effort=0):
            from sdcgate.facility.ports import Pattern
            from sdcgate.methods.tables.problem import Proof

            return Pattern(np.asarray(unsafe), Proof.UNPROVED, None)

    judge = house.facility._judge
    kept, judge._protection = judge._protection, Unproving()
    try:
        return house.ask(rows=["site"], columns=["plan"], layers=["female"])
    finally:
        judge._protection = kept
