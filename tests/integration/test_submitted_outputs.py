"""Outputs that a portal computed with pandas, on their way to a verdict."""

import json

import pandas as pd
import pytest
import statsmodels
from typer.testing import CliRunner

import sdcgate_client
from house import cells, person, reasons, table_request, verdict, with_randhie
from sdcgate.cli import main
from sdcgate.facility.errors import Conflict, Forbidden, InvalidRequest
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.policy.loading import load_policies
from sdcgate_client import Client, output_request
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2
from sdcgate_proto.sdcgate.types.v1 import table_pb2 as types
from served_house import ServedHouse

PORTAL = person("portal", "portal-1")


@pytest.fixture
def house(tmp_path):
    return with_randhie(tmp_path)


@pytest.fixture(scope="module")
def people():
    frame = pd.read_csv(statsmodels.__path__[0] + "/datasets/randhie/src/randhie.csv")
    return frame.rename(columns=str.lower)


def dimension(into, variable, codes, cells, level=""):
    into.add(variable=variable, level=level, codes=codes, cells=cells)


def output_of(people, rows, columns=None, layers=None, measure="", **filters):
    """What a portal's job printed: units, records and sums of a measure by one to three variables."""
    request = pb.SubmitOutputRequest(dataset="randhie", label="job 17, table 2")
    names = [name for name in (rows, columns, layers) if name is not None]
    for variable, codes in filters.items():
        request.filter.add(variable=variable, codes=codes)
        people = people[people[variable].astype(int).astype(str).isin(codes)]
    groups = people.groupby(names)
    found = groups.agg(units=("zper", "nunique"), records=("zper", "size")).reset_index()
    for place, name in enumerate(names):
        values = found[name].astype(int).astype(str)
        codes = sorted(values.unique(), key=int)
        into = (request.rows, request.columns, request.layers)[place]
        dimension(into, name, codes, [codes.index(value) for value in values])
    request.facts.units.extend(found.units)
    request.facts.records.extend(found.records)
    if measure:
        sums = groups[measure].sum().reset_index()[measure]
        request.figures.add(statistic=types.STATISTIC_UNITS)
        request.figures.add(statistic=types.STATISTIC_MEAN, measure=measure)
        request.facts.measures.add(measure=measure, sums=sums, valid_records=found.records)
    return request


def submit(house, request, caller=PORTAL):
    return house.facility.submit_output(caller, request, Pace(60.0))


def test_an_output_that_is_what_it_says_leaves_with_the_datasets_own_figures(house, people):
    answered = submit(house, output_of(people, "site", "female", measure="meddol"))
    assert verdict(answered) == "RELEASED"
    found = cells(answered)
    expected = people.groupby(["site", "female"]).agg(units=("zper", "nunique"), mean=("meddol", "mean"))
    assert len(found) == 12
    for (site, female), row in expected.iterrows():
        assert found[str(int(site)), str(int(female))] == (row.units, pytest.approx(row["mean"], abs=0.05))


def test_small_cells_of_an_output_are_withheld_as_they_are_in_the_same_table_asked_for(house, people):
    submitted = submit(house, output_of(people, "plan", "site"))
    asked = house.ask(rows=["plan"], columns=["site"])
    assert (verdict(submitted), reasons(submitted)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    table = cells(asked)
    assert {code: table[code] for code in cells(submitted)} == cells(submitted)
    assert None in {units for (units,) in cells(submitted).values()}


def test_an_output_may_part_variables_that_one_decides(house, people):
    """The plan decides the coinsurance, and whether there is an individual deductible."""
    answered = submit(house, output_of(people, "coins", "female", "idp", measure="meddol"))
    asked = house.ask(rows=["coins"], columns=["female"], layers=["idp"], figures=["UNITS", "MEAN:meddol"])
    assert verdict(answered) == verdict(asked) == "RELEASED"
    expected = people.groupby(["coins", "female", "idp"])["meddol"].mean()
    found = cells(answered)
    assert len(found) == len(expected)
    for codes, mean in expected.items():
        cell = tuple(str(int(code)) for code in codes)
        assert found[cell] == cells(asked)[cell]
        assert found[cell][1] == pytest.approx(mean, abs=0.05)


def test_only_cells_of_the_output_leave(house, people):
    request = output_of(people, "site")
    for _ in range(2):
        request.rows[0].cells.pop()
        request.facts.units.pop()
        request.facts.records.pop()
    assert set(cells(submit(house, request))) == {("1",), ("2",), ("3",), ("4",)}


def test_a_guess_at_a_withheld_cell_changes_nothing(house, people, tmp_path):
    honest = output_of(people, "plan", "site")
    answer = submit(house, honest)
    statuses = answer.decision.table.statuses
    guess = pb.SubmitOutputRequest()
    guess.CopyFrom(honest)
    for cell, status in enumerate(statuses):
        if status == types.CELL_STATUS_WITHHELD:
            guess.facts.units[cell] += 1
            guess.facts.records[cell] += 5
    guessed = submit(house, guess)
    assert verdict(guessed) == verdict(answer)
    assert guessed.decision.table == answer.decision.table
    assert [r.message for r in guessed.decision.reasons] == [r.message for r in answer.decision.reasons]


def test_an_output_whose_published_figures_are_not_the_datasets_is_referred(house, people):
    request = output_of(people, "site")
    request.facts.units[2] += 1
    answered = submit(house, request)
    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["BINDING"])
    assert not answered.decision.HasField("table")
    assert "UNITS in 1 cell: site 3." in answered.decision.reasons[0].message


def test_what_a_comparison_told_counts_as_released(house, people):
    """Figures found by guessing must not be free: the table they were compared with is in the ledger."""
    request = output_of(people, "plan", "site")
    request.facts.units[0] += 1
    assert verdict(submit(house, request)) == "REFERRED"
    released = house.ledger.releases("randhie")
    assert [release.query_id for release in released] == [submit(house, request).decision.query]
    later = house.ask(rows=["plan"], columns=["site"], year=["1", "2", "3", "5"])
    assert (verdict(later), reasons(later)) == ("REFUSED", ["DIFFERENCING"])


def test_figures_are_compared_as_they_are_rounded(house, people):
    honest = output_of(people, "site", measure="meddol")
    request = pb.SubmitOutputRequest()
    request.CopyFrom(honest)
    request.facts.measures[0].sums[0] *= 1 + 1e-6
    assert verdict(submit(house, request)) == "RELEASED"
    request.facts.measures[0].sums[0] *= 1.01
    assert reasons(submit(house, request)) == ["BINDING"]


def test_totals_over_valid_codes_only_need_their_population_declared(house, people):
    request = output_of(people, "site")
    request.rows[0].codes.append("_T")
    request.rows[0].cells.append(6)
    request.facts.units.append(people.zper.nunique())
    request.facts.records.append(len(people))
    assert cells(submit(house, request))["_T",] == (5912,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda r: setattr(r.rows[0], "variable", "sites"),
            "There is no variable of this name. Did you mean site",
        ),
        (lambda r: setattr(r.rows[0], "level", "block"), "There is no level of this name"),
        (lambda r: r.rows[0].codes.__setitem__(0, "seven"), "site.codes: 'seven': There is no code"),
        (lambda r: r.filter.add(variable="site", codes=["1", "2"]), "site.codes: '3': There is no code"),
    ],
)
def test_what_cannot_be_bound_is_referred_without_a_look_at_the_data(
    house, people, change, message, monkeypatch
):
    monkeypatch.setattr(house.engine, "compute", None)
    request = output_of(people, "site")
    change(request)
    answered = submit(house, request)
    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["BINDING"])
    assert message in answered.decision.reasons[0].message
    assert submit(house, request).repeated


def test_everything_that_is_wrong_with_an_output_is_told_at_once(house, people):
    request = output_of(people, "site", "female", measure="meddol")
    request.columns[0].variable = "site"
    request.rows[0].cells[3] = 17
    del request.columns[0].cells[-1]
    with pytest.raises(InvalidRequest) as refused:
        submit(house, request)
    assert [problem.path for problem in refused.value.problems] == [
        "rows[0].cells",
        "rows[0].cells",
        "columns[0].variable",
        "columns[0].cells",
    ]
    request = output_of(people, "site", measure="meddol")
    del request.facts.units[:]
    del request.facts.records[0]
    request.facts.measures[0].sums[1] = float("nan")
    with pytest.raises(InvalidRequest) as refused:
        submit(house, request)
    assert [problem.path for problem in refused.value.problems] == [
        "facts.records",
        "facts.measures[0].sums",
        "facts.units",
    ]


def test_a_cell_may_not_stand_twice(house, people):
    request = output_of(people, "site")
    request.rows[0].cells[1] = 0
    with pytest.raises(InvalidRequest, match="name a cell twice"):
        submit(house, request)


def test_a_table_over_the_dimensions_of_the_policy_is_refused_as_an_output_too(house, people):
    request = output_of(people, "site", "female")
    for variable in ("year", "plan"):
        dimension(request.layers, variable, ["1"], [0] * 12)
    assert (verdict(submit(house, request)), reasons(submit(house, request))) == (
        "REFUSED",
        ["MAXIMUM_DIMENSIONS"],
    )


def test_who_may_not_submit_is_turned_away(house, people):
    with pytest.raises(Forbidden):
        submit(house, output_of(people, "site"), person("steward", "stefan"))


def test_a_checker_sees_the_cells_that_a_portal_sent_and_its_researcher_does_not(house, people):
    request = output_of(people, "site")
    request.facts.units[2] += 1
    query = submit(house, request).decision.query
    own = house.facility.get_query(PORTAL, query)
    assert own.output.label == "job 17, table 2"
    assert not own.output.HasField("facts")
    assert not own.HasField("checker")
    view = house.facility.get_query(house.checker, query)
    assert list(view.output.facts.units) == list(request.facts.units)
    assert list(view.checker.binding) == ["UNITS in 1 cell: site 3."]


def review(house, query, **how):
    request = pb.ReviewQueryRequest(query=query, note="looked at", **how)
    return house.facility.review_query(house.checker, request, Pace(60.0))


def test_an_approved_output_that_differs_leaves_with_the_datasets_figures(house, people):
    request = output_of(people, "site")
    request.facts.units[2] += 1
    decision = review(house, submit(house, request).decision.query, approve=True)
    assert (verdict(decision), reasons(decision)) == ("RELEASED", ["REVIEW"])
    assert cells(decision)["3",] == (735,)


def test_an_output_that_cannot_be_bound_leaves_only_by_an_exception_that_the_ledger_keeps(house, people):
    request = output_of(people, "site")
    request.rows[0].variable = "region"
    query = submit(house, request).decision.query
    with pytest.raises(Conflict, match="`exception`"):
        review(house, query, approve=True)
    decision = review(house, query, approve=True, exception=True)
    assert (verdict(decision), reasons(decision)) == ("RELEASED", ["REVIEW"])
    assert cells(decision)["3",] == (735,)
    stored = house.ledger.query(query)
    assert stored.verdict == "RELEASED"
    (release,) = house.ledger.releases("randhie")
    assert not release_pb2.Release.FromString(release.payload).tables
    with pytest.raises(Conflict):
        review(house, query, approve=False)


def test_the_ledger_audit_lists_what_left_by_an_exception_and_no_refusal(house, people):
    request = output_of(people, "site")
    request.rows[0].variable = "region"
    query = submit(house, request).decision.query
    review(house, query, approve=True, exception=True)
    assert reasons(house.ask(rows=["female"], site=["2"], plan=["17"])) == ["MINIMUM_BASE"]
    policies = Policies(house.ledger, load_policies(), "israel-cbs")
    found = audit_source(house.ledger, house.engine, policies, "randhie", 100, 10.0)
    assert (found.tables, found.overrides) == (0, (query,))


def test_a_refused_output_stays_refused(house, people):
    request = output_of(people, "site")
    request.rows[0].variable = "region"
    query = submit(house, request).decision.query
    assert verdict(review(house, query, approve=False)) == "REFUSED"
    assert verdict(submit(house, request)) == "REFUSED"


def test_outputs_and_tables_are_compared_with_each_other(house, people):
    """The README's pair: plan by site, then the same without year 4."""
    assert verdict(submit(house, output_of(people, "plan", "site"))) == "RELEASED_PROTECTED"
    years = ["1", "2", "3", "5"]
    answered = submit(house, output_of(people, "plan", "site", year=years))
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["DIFFERENCING"])


def test_the_same_output_of_another_project_has_the_same_answer(house, people):
    request = output_of(people, "site")
    first = submit(house, request)
    request.project, request.label = "other", "again"
    again = submit(house, request)
    assert (again.repeated, again.decision.query) == (True, first.decision.query)


def test_the_ledgers_open_part_has_no_figure_of_an_output(house, people):
    request = output_of(people, "site")
    query = submit(house, request).decision.query
    kept = pb.SubmitOutputRequest.FromString(house.ledger.query(query).request)
    assert (kept.label, kept.HasField("facts")) == ("job 17, table 2", False)


def test_a_request_for_a_table_is_no_output(house):
    house.ask(rows=["site"])
    request = table_request(rows=["site"])
    assert house.facility.query_table(house.researcher, request, Pace(60.0)).repeated


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    made = ServedHouse(tmp_path_factory.mktemp("a portal's house"))
    try:
        assert made.register_randhie().status_code == 201
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def crosstab(people):
    """What a portal's job has in hand: a frame with totals, as pandas makes it."""
    cells = people.groupby(["site", "female"]).agg(
        persons=("zper", "nunique"), records=("zper", "size"), meddol=("meddol", "sum")
    )
    whole = people.groupby("site").agg(
        persons=("zper", "nunique"), records=("zper", "size"), meddol=("meddol", "sum")
    )
    whole["female"] = "All"
    return pd.concat([cells.reset_index(), whole.reset_index()])


def request_of(crosstab):
    return output_request(
        crosstab,
        "site",
        "female",
        units="persons",
        measures={"meddol": {"sums": "meddol", "valid_records": "records"}},
        label="job 17",
    )


def test_a_portal_submits_a_frame_over_rest(served, crosstab):
    key = served.keys["portal"]
    with Client(served.supervisor.url, key) as portal:
        answer = portal.submit_output("randhie", request_of(crosstab))
        assert (answer.verdict, answer.repeated) == ("RELEASED", False)
        table = answer.to_pandas()
        total = table[(table.site == "3") & (table.female == "_T")]
        assert total.units.tolist() == [735]
        assert portal.submit_output("randhie", request_of(crosstab)).repeated
        assert portal.query(answer.query).request["label"] == "job 17"


def test_a_portal_asks_no_tables_and_a_steward_submits_none(served, crosstab):
    with (
        Client(served.supervisor.url, served.keys["portal"]) as portal,
        pytest.raises(sdcgate_client.Forbidden),
    ):
        portal.table("randhie", "site")
    with (
        Client(served.supervisor.url, served.keys["stefan"]) as steward,
        pytest.raises(sdcgate_client.Forbidden),
    ):
        steward.submit_output("randhie", request_of(crosstab))


def test_a_ragged_output_is_told_field_by_field_over_rest(served, crosstab):
    request = request_of(crosstab)
    request["facts"]["units"].pop()
    request["columns"][0]["cells"][0] = 9
    with Client(served.supervisor.url, served.keys["portal"]) as portal:
        with pytest.raises(sdcgate_client.InvalidRequest) as refused:
            portal.submit_output("randhie", request)
        assert [path for path, _ in refused.value.errors] == ["columns[0].cells", "facts.units"]


def test_an_output_goes_the_way_of_review_on_the_command_line(served, crosstab, tmp_path):
    request = request_of(crosstab)
    request["rows"][0]["variable"] = "region"
    file = tmp_path / "output.json"
    file.write_text(json.dumps(request))

    def run(who, *command):
        environment = {"SDCGATE_URL": served.supervisor.url, "SDCGATE_API_KEY": served.keys[who]}
        return CliRunner().invoke(main, list(command), env=environment)

    submitted = run("portal", "query", "submit", "randhie", str(file))
    assert "REFERRED" in submitted.output
    assert "There is no variable of this name" in submitted.output
    query = submitted.output.split()[1]
    shown = run("grace", "review", "show", query)
    assert "not what it is declared to be: rows[0].variable" in shown.output
    held = run("grace", "review", "approve", query, "--note", "looked at")
    assert (held.exit_code, "`exception`" in held.output) == (1, True)
    released = run("grace", "review", "approve", query, "--note", "looked at", "--exception")
    assert "RELEASED" in released.output


def test_an_output_is_returned_with_what_to_change(house, people):
    request = output_of(people, "site")
    request.facts.units[2] += 1
    query = submit(house, request).decision.query

    decision = review(house, query, approve=False, returned="Use registered levels of age.")

    assert verdict(decision) == "REFUSED"
    seen = house.facility.get_query(PORTAL, query).decision.reasons[-1]
    assert seen.message == "An output checker has returned this query to you."
    assert seen.suggestion == "Use registered levels of age."


def test_what_is_approved_is_not_returned(house, people):
    request = output_of(people, "site")
    request.facts.units[2] += 1
    query = submit(house, request).decision.query

    with pytest.raises(InvalidRequest) as refused:
        review(house, query, approve=True, returned="Thanks.")
    assert refused.value.problems[0].path == "returned"
