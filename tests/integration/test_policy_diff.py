"""What a new policy would have done to the queries of a ledger: verdicts and numbers of cells."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from house import COPY, cells, person, verdict
from installation import Installation
from sdcgate.cli import main
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.pace import Pace
from sdcgate.ledger.events import RegistrationEvent
from sdcgate.ledger.removable import Content
from sdcgate.ledger.retention import apply, plan
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

TWO_PAIRS = (
    "  differencing: {consequence: refuse}\n  redesign",
    "  review: {pairs_of_eyes: 2}\n  differencing: {consequence: refuse}\n  redesign",
)
FIVE = {"rows": ["plan"], "columns": ["site"]}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("installation"))
    house = made.house
    assert verdict(house.ask(**FIVE)) == "RELEASED_PROTECTED"
    assert verdict(house.ask(rows=["female"])) == "RELEASED"
    assert verdict(house.ask(rows=["site", "year"], columns=["age:broad"], layers=["female"])) == "REFUSED"
    yield made
    house.ledger.close()


def rows(result: Result) -> dict[tuple[str, str], int]:
    """Numbers of queries by verdict then and now."""
    found = re.findall(r"^([A-Z_]+) +((?:[A-Z_]+|no verdict)) +(\d+)", result.stdout, re.MULTILINE)
    return {(before, after): int(number) for before, after, number in found}


def test_under_the_same_policy_every_query_ends_as_it_did(installation: Installation) -> None:
    result = installation.diff("israel-cbs", "--ledger")
    assert result.exit_code == 0, result.output
    assert "no setting differs" in result.stdout
    assert rows(result) == {
        ("RELEASED_PROTECTED", "RELEASED_PROTECTED"): 1,
        ("RELEASED", "RELEASED"): 1,
        ("REFUSED", "REFUSED"): 1,
    }
    assert (
        "cells shown then 168, now 168: 0 newly withheld, 0 newly shown\nqueries that change: 0"
        in result.stdout
    )
    assert result.stderr == "3 of 3 queries asked again\n"


def test_a_new_policy_is_told_by_verdicts_and_numbers_of_cells(installation: Installation) -> None:
    stricter = installation.policy(("minimum_units: {units: 10,", "minimum_units: {units: 20,"))
    result = installation.diff(stricter, "--ledger")
    assert rows(result)["RELEASED_PROTECTED", "RELEASED_PROTECTED"] == 1
    (withheld,) = re.findall(r"(\d+) newly withheld, 0 newly shown\nqueries", result.stdout)
    assert 1 <= int(withheld) <= 20
    listed = result.stdout.partition("queries that change: 1\n")[2]
    assert re.fullmatch(rf"  q-\w+  randhie  {withheld} cells newly withheld, 0 newly shown\n", listed)

    laxer = installation.policy(
        ("minimum_units: {units: 10,", "minimum_units: {units: 5,"),
        ("dimensions: {maximum: 3,", "dimensions: {maximum: 4,"),
    )
    result = installation.diff(laxer, "--ledger")
    assert rows(result) == {
        ("RELEASED_PROTECTED", "RELEASED"): 1,
        ("RELEASED", "RELEASED"): 1,
        ("REFUSED", "RELEASED"): 1,
    }
    assert re.search(r"now \d+: 0 newly withheld, \d+ newly shown", result.stdout)


def test_nothing_is_written_to_the_ledger_and_nothing_is_left_behind(installation: Installation) -> None:
    before = installation.house.ledger.head()
    state = sorted(path.name for path in installation.settings.state_dir.iterdir())
    installation.diff("five-safes", "--ledger")
    assert installation.house.ledger.head() == before
    assert sorted(path.name for path in installation.settings.state_dir.iterdir()) == state


def test_when_the_time_is_over_it_says_how_far_it_came(installation: Installation, monkeypatch) -> None:
    moments = iter([0.0, 0.0, 0.5, 0.5])
    from sdcgate.cli import policy_diff

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return next(moments, 99.0)

    monkeypatch.setattr(policy_diff, "time", Clock)
    result = installation.diff("israel-cbs", "--ledger", "--time-limit", "5")
    assert result.exit_code == 0
    assert "1 of 3 queries asked again; the time is over" in result.stdout


def test_a_ledger_without_such_queries_says_so_and_without_a_ledger_none_is_made(
    installation: Installation, tmp_path: Path
) -> None:
    environment = {"SDCGATE_STATE_DIR": str(installation.settings.state_dir)}
    other = CliRunner().invoke(
        main, ["policy", "diff", "five-safes", "five-safes", "--ledger"], env=environment
    )
    assert "no query that was decided under this policy" in other.stdout
    environment = {"SDCGATE_STATE_DIR": str(tmp_path / "nowhere")}
    missing = CliRunner().invoke(
        main, ["policy", "diff", "five-safes", "five-safes", "--ledger"], env=environment
    )
    assert (missing.exit_code, "there is no ledger at" in missing.stderr) == (2, True)
    assert not (tmp_path / "nowhere").exists()


def test_reviews_versions_and_outputs_are_replayed_at_their_places(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    house = made.house
    first = house.ask(rows=["female"], figures=["UNITS", "RECORDS"])
    shown = cells(first)
    output = pb.SubmitOutputRequest(dataset="randhie", label="job 17")
    output.rows.add(variable="female", codes=["0", "1"], cells=[0, 1])
    output.facts.units.extend(int(shown[code,][0]) for code in "01")
    output.facts.records.extend(int(shown[code,][1]) for code in "01")
    submitted = house.facility.submit_output(person("portal", "portal-1"), output, Pace(60.0))
    assert verdict(submitted) == "RELEASED"
    # A second version with a measure less: what was asked of the first is asked of the first again.
    house.engine.register(parse_descriptor({**made.descriptor, "measures": made.descriptor["measures"][:-1]}))
    referred = house.ask(rows=["female"])
    later = house.ask(rows=["site"], columns=["idp"])
    assert (verdict(referred), verdict(later)) == ("REFERRED", "REFERRED")
    assert verdict(made.review(later.decision.query, False)) == "REFUSED"
    assert verdict(made.review(referred.decision.query, True, exception=True)) == "RELEASED"
    assert verdict(house.ask(rows=["child"])) == "REFERRED"
    result = made.diff("israel-cbs", "--ledger")
    assert rows(result) == {
        ("RELEASED", "RELEASED"): 3,
        ("REFUSED", "REFUSED"): 1,
        ("REFERRED", "REFERRED"): 1,
    }
    assert "queries that change: 0" in result.stdout
    house.ledger.close()


def test_a_review_whose_note_is_blank_as_notes_once_could_be_is_replayed(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    house, options = made.house, pb.ResultsOptions(dataset="randhie", name="chart.png")
    answer = house.facility.submit_results(person("portal", "portal-1"), options, b"one", Pace(60.0))
    request = pb.ReviewQueryRequest(query=answer.outputs[0].decision.query, note=" \n")
    assert verdict(house.facility.review_query(house.checker, request, Pace(60.0))) == "REFUSED"
    result = made.diff("israel-cbs", "--ledger")
    assert rows(result) == {("REFUSED", "REFUSED"): 1}
    assert "queries that change: 0" in result.stdout
    house.ledger.close()


def test_what_two_checkers_approved_is_approved_by_both_again(tmp_path: Path) -> None:
    made = Installation(tmp_path, TWO_PAIRS)
    house, options = made.house, pb.ResultsOptions(dataset="randhie", name="chart.png")
    answer = house.facility.submit_results(person("portal", "portal-1"), options, b"one", Pace(60.0))
    request = pb.ReviewQueryRequest(
        query=answer.outputs[0].decision.query, approve=True, exception=True, note="a chart of totals"
    )
    assert verdict(house.facility.review_query(house.checker, request, Pace(60.0))) == "REFERRED"
    henry = person("checker", "henry")
    assert verdict(house.facility.review_query(henry, request, Pace(60.0))) == "RELEASED"
    two = made.policy(TWO_PAIRS)
    assert rows(made.diff(two, "--ledger")) == {("RELEASED", "RELEASED"): 1}
    assert rows(made.diff("israel-cbs", "--ledger")) == {("RELEASED", "RELEASED"): 1}
    house.ledger.close()


def test_a_dataset_that_is_gone_has_no_verdict_and_the_others_have(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    made.house.engine.register(
        parse_descriptor({**made.descriptor, "name": "copy", "source": "copy", **COPY})
    )
    made.house.ask(rows=["female"])
    made.house.ask(dataset="copy", rows=["female"])
    made.house.ledger.close()
    snapshot = made.settings.state_dir / "snapshots" / "copy"
    snapshot.rename(snapshot.with_name(".copy"))
    result = made.diff("israel-cbs", "--ledger")
    assert rows(result) == {("RELEASED", "RELEASED"): 1, ("RELEASED", "no verdict"): 1}
    assert (
        "copy  RELEASED -> no verdict  4 cells newly withheld, 0 newly shown  There is no dataset 'copy'."
        in result.stdout
    )


def test_a_query_whose_request_was_removed_is_told_and_the_others_are_replayed(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    house, descriptor = made.house, made.descriptor
    assert verdict(house.ask(rows=["site"])) == "RELEASED"
    changed = {**descriptor, "measures": descriptor["measures"][:-1]}
    house.engine.register(parse_descriptor(changed))
    for version in (1, 2):
        house.ledger.append_registration(
            RegistrationEvent(
                source="randhie",
                dataset="randhie",
                version=version,
                descriptor=b"",
                content_hash=f"sha256:{version}",
                author="stefan",
            )
        )
    referred = house.ask(rows=["female"])
    assert verdict(made.review(referred.decision.query, True, exception=True)) == "RELEASED"
    periods = {Content.ANSWERS: 0}
    planned = plan(house.ledger, periods, datetime.now(UTC))
    assert len(apply(house.ledger, planned, periods, author="olga", note="yearly")) == 1
    result = made.diff("israel-cbs", "--ledger")
    house.ledger.close()
    assert result.exit_code == 0, result.output
    assert rows(result)["RELEASED", "no verdict"] == 1
    assert "removed under retention: it is not asked again" in result.stdout


def test_models_and_statistics_are_replayed(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    house = made.house
    model = pb.QueryModelRequest(dataset="randhie", kind=1, formula="meddol ~ female")
    median = pb.QueryStatisticRequest(dataset="randhie", kind=9, measure="meddol")
    largest = pb.QueryStatisticRequest(dataset="randhie", kind=12, measure="meddol")
    assert verdict(house.facility.query_model(house.researcher, model, Pace(60.0))) == "RELEASED"
    assert verdict(house.facility.query_statistic(house.researcher, median, Pace(60.0))) == "RELEASED"
    assert verdict(house.facility.query_statistic(house.researcher, largest, Pace(60.0))) == "REFUSED"

    result = made.diff("israel-cbs", "--ledger")
    house.facility.close()
    house.ledger.close()
    assert rows(result) == {("RELEASED", "RELEASED"): 2, ("REFUSED", "REFUSED"): 1}
    assert "cells shown then 3, now 3: 0 newly withheld, 0 newly shown" in result.stdout


def test_files_that_could_not_be_read_are_replayed_and_released_as_they_were(tmp_path: Path) -> None:
    made = Installation(tmp_path)
    house, options = made.house, pb.ResultsOptions(dataset="randhie", name="chart.png")
    portal = person("portal", "portal-1")
    for content in (b"one", b"two"):
        answer = house.facility.submit_results(portal, options, content, Pace(60.0))
        assert verdict(answer.outputs[0].decision) == "REFERRED"
    query = answer.outputs[0].decision.query
    request = pb.ReviewQueryRequest(query=query, approve=True, exception=True, note="a chart of totals")
    assert verdict(house.facility.review_query(house.checker, request, Pace(60.0))) == "RELEASED"
    result = made.diff("israel-cbs", "--ledger")
    assert rows(result) == {("REFERRED", "REFERRED"): 1, ("RELEASED", "RELEASED"): 1}
    house.ledger.close()
