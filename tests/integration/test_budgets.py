"""Budgets on the way of a query: what costs, what is free, who is told what, and that nobody asks more."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from house import LocalRisk, person, reasons, table_request, verdict, with_randhie
from sdcgate.engine.engine import Engine
from sdcgate.facility.errors import Forbidden, NotFound
from sdcgate.facility.pace import Pace
from sdcgate.facility.replay import queries_of
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, parse_policy
from sdcgate_proto.sdcgate.facility.v1 import budget_pb2

TEXT = (BUNDLED / "five-safes.yaml").read_text()
BOB = person("researcher", "bob")
STEWARD = person("steward", "stefan")


def policies(budgets: str, **more: str):
    text = TEXT.replace("access_levels:", f"  budgets: {budgets}\naccess_levels:", 1)
    for old, new in more.values():
        assert old in text
        text = text.replace(old, new)
    return {**load_policies(), "five-safes": parse_policy(text)}


def place(folder, budgets: str, **options):
    return with_randhie(folder, policies=policies(budgets), policy="five-safes", **options)


def ask(house, caller, **request):
    return house.facility.query_table(caller, table_request(**request), Pace(60.0))


def left(house, caller, **of):
    request = budget_pb2.GetBudgetRequest(dataset="randhie", **of)
    return {
        (one.holder, one.name, one.period): (
            one.queries.left if one.HasField("queries") else None,
            one.cells.left if one.HasField("cells") else None,
        )
        for one in house.facility.get_budget(caller, request).budgets
    }


TABLES = [
    {"rows": ["site"]},
    {"rows": ["plan"]},
    {"rows": ["site"], "columns": ["plan"]},
    {"rows": ["female"]},
    {"rows": ["year"]},
]


def test_who_has_spent_his_questions_is_told_so_and_when_he_may_ask_again(tmp_path):
    house = place(tmp_path, "{researcher: [{period: year, queries: 2}]}")
    assert verdict(ask(house, house.researcher, **TABLES[0])) == "RELEASED"
    assert verdict(ask(house, house.researcher, **TABLES[1])) != "REFUSED"
    answered = ask(house, house.researcher, **TABLES[3])
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["BUDGET"])
    next_year = datetime.now(UTC).year + 1
    assert answered.decision.reasons[0].message == (
        "A researcher may ask at most 2 queries a year. 2 of 2 queries are spent, and this question costs "
        f"1 query and 4 cells. The next year begins on {next_year}-01-01 00:00 UTC."
    )
    assert not answered.decision.alternatives


def test_a_question_that_was_answered_costs_nothing_and_one_that_was_refused_does(tmp_path):
    house = place(tmp_path, "{researcher: [{period: year, queries: 2}]}")
    ask(house, house.researcher, **TABLES[0])
    for _ in range(3):
        assert ask(house, house.researcher, **TABLES[0]).repeated
    refused = ask(house, house.researcher, rows=["site", "plan", "female", "year", "child", "coins"])
    assert reasons(refused)[0] == "MAXIMUM_DIMENSIONS"
    assert reasons(ask(house, house.researcher, **TABLES[1])) == ["BUDGET"]
    assert ask(house, house.researcher, **TABLES[0]).repeated


def test_the_refusal_is_of_him_only_and_only_until_there_is_budget_again(tmp_path):
    house = place(tmp_path, "{researcher: [{period: year, queries: 1}]}")
    ask(house, house.researcher, **TABLES[0])
    refused = ask(house, house.researcher, **TABLES[1])
    assert reasons(refused) == ["BUDGET"]
    again = ask(house, house.researcher, **TABLES[1])
    assert (again.repeated, again.decision.query) == (True, refused.decision.query)
    assert verdict(ask(house, BOB, **TABLES[1])) == "RELEASED"
    assert verdict(ask(house, house.researcher, **TABLES[1])) == "RELEASED"
    house.facility.replace_policies(policies("{researcher: [{period: year, queries: 2}]}"))
    assert verdict(ask(house, house.researcher, **TABLES[3])) == "RELEASED"


def test_no_microdata_are_touched_for_who_has_nothing_left(tmp_path, monkeypatch):
    house = place(tmp_path, "{researcher: [{period: year, cells: 10}]}")
    monkeypatch.setattr(Engine, "compute", lambda *_: pytest.fail("microdata were read"))
    assert reasons(ask(house, house.researcher, rows=["site"], columns=["plan"])) == ["BUDGET"]


def test_cells_are_those_asked_for_and_as_many_for_what_may_be_proposed(tmp_path):
    house = place(tmp_path, "{researcher: [{period: year, cells: 1000}]}")
    ask(house, house.researcher, **TABLES[0])
    proposals = house.facility._policies.of(house.engine.dataset("randhie")).redesign.proposals
    sites = len(house.engine.dataset("randhie").level("site", "site").codes) + 1
    assert left(house, house.researcher) == {
        ("researcher", "ada", "year"): (None, 1000 - sites * (1 + proposals))
    }


def test_projects_and_datasets_have_budgets_of_their_own(tmp_path):
    budgets = "{project: [{period: year, queries: 2}], dataset: [{period: month, queries: 3}]}"
    house = place(tmp_path, budgets)

    def asked(caller, table, project):
        request = table_request(**table)
        request.project = project
        return reasons(house.facility.query_table(caller, request, Pace(60.0)))

    assert asked(house.researcher, TABLES[0], "a") == []
    assert "BUDGET" not in asked(BOB, TABLES[1], "a")
    assert asked(BOB, TABLES[3], "a") == ["BUDGET"]
    assert left(house, BOB, project="a") == {
        ("project", "a", "year"): (0, None),
        ("dataset", "randhie", "month"): (1, None),
    }
    assert asked(BOB, TABLES[3], "b") == []
    assert asked(BOB, TABLES[4], "b") == ["BUDGET"]


def test_what_is_left_does_not_depend_on_what_was_answered(tmp_path):
    """Two houses that differ in the answers only: one releases what the other refuses or withholds."""
    budgets = "{researcher: [{period: year, queries: 90, cells: 9000}]}"
    strict = ("minimum_units: {units: 10", "minimum_units: {units: 4000")
    houses = []
    for name, more in (("a", {}), ("b", {"strict": strict})):
        folder = tmp_path / name
        folder.mkdir()
        houses.append(with_randhie(folder, policies=policies(budgets, **more), policy="five-safes"))
    seen = [
        [(verdict(ask(house, house.researcher, **table)), left(house, house.researcher)) for table in TABLES]
        for house in houses
    ]
    assert [one for one, _ in seen[0]] != [one for one, _ in seen[1]]
    assert [rest for _, rest in seen[0]] == [rest for _, rest in seen[1]]


def test_of_many_questions_at_one_moment_no_more_are_answered_than_are_left(tmp_path):
    house = place(tmp_path, "{researcher: [{period: year, queries: 3}]}")
    together = threading.Barrier(len(TABLES))

    def one(table):
        together.wait()
        return reasons(ask(house, house.researcher, **table)) == ["BUDGET"]

    with ThreadPoolExecutor(len(TABLES)) as pool:
        refused = list(pool.map(one, TABLES))
    assert refused.count(False) == 3
    assert left(house, house.researcher) == {("researcher", "ada", "year"): (0, None)}


def test_what_is_left_tells_of_no_answer_before_it_is_seen(tmp_path):
    """An answer is recorded before its step of time is over; the budget must not tell when."""
    paced = policies(
        "{researcher: [{period: year, queries: 1}]}",
        pace=("maximum_cells: ", "latency_step_ms: 2000, maximum_cells: "),
    )
    house = with_randhie(tmp_path, policies=paced, policy="five-safes")
    ask(house, house.researcher, **TABLES[0])
    assert left(house, house.researcher) == {("researcher", "ada", "year"): (1, None)}
    assert reasons(ask(house, house.researcher, **TABLES[1])) == ["BUDGET"], "it is spent all the same"
    time.sleep(2.1)
    assert left(house, house.researcher) == {("researcher", "ada", "year"): (0, None)}


def test_a_question_that_ended_in_an_error_costs_nothing(tmp_path):
    class Broken(LocalRisk):
        def assess_table(self, *_):
            raise RuntimeError

    house = place(tmp_path, "{researcher: [{period: year, queries: 1}]}", risk=Broken())
    with pytest.raises(RuntimeError):
        ask(house, house.researcher, **TABLES[0])
    assert left(house, house.researcher) == {("researcher", "ada", "year"): (1, None)}


def test_a_researcher_sees_his_own_budget_and_who_checks_sees_anybodys(tmp_path):
    house = place(
        tmp_path, "{researcher: [{period: year, queries: 5}], dataset: [{period: day, queries: 9}]}"
    )
    ask(house, BOB, **TABLES[0])
    with pytest.raises(Forbidden, match="your own budget"):
        left(house, house.researcher, researcher="bob")
    everybody = {("dataset", "randhie", "day"): (8, None)}
    assert left(house, house.researcher) == {("researcher", "ada", "year"): (5, None), **everybody}
    for caller in (house.checker, STEWARD, person("operator", "olga")):
        assert left(house, caller) == everybody
        assert left(house, caller, researcher="bob") == {
            ("researcher", "bob", "year"): (4, None),
            **everybody,
        }
    with pytest.raises(NotFound):
        house.facility.get_budget(BOB, budget_pb2.GetBudgetRequest(dataset="rand"))


def test_another_name_of_the_same_source_does_not_begin_anew(tmp_path):
    house = place(tmp_path, "{researcher: [{period: year, queries: 1}]}")
    known = house.engine.dataset("randhie")
    twin = known.descriptor.model_copy(update={"name": "twin"})
    house.engine.register(twin)
    ask(house, house.researcher, **TABLES[0])
    assert reasons(ask(house, house.researcher, dataset="twin", rows=["plan"])) == ["BUDGET"]


def test_a_replay_of_the_ledger_asks_without_budgets_what_was_decided(tmp_path):
    house = place(tmp_path, "{researcher: [{period: year, queries: 1}]}")
    ask(house, house.researcher, **TABLES[0])
    ask(house, house.researcher, **TABLES[1])
    assert len(queries_of(house.ledger, "five-safes")) == 2
