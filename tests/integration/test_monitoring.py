"""The house as its operators see it: metrics, one trace through all processes, logs, status, decision log."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from certificate_authority import CertificateAuthority
from receivers import Receiver, running_receiver
from sdcgate.servers.tracing import ATTRIBUTES
from served_house import ServedHouse

SERVICES = ("gateway", "facility", "risk", "protection")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def collector(authority: CertificateAuthority) -> Iterator[Receiver]:
    with running_receiver() as receiver:
        receiver.pair = authority.make("collector")
        yield receiver


@pytest.fixture(scope="module")
def siem(authority: CertificateAuthority) -> Iterator[Receiver]:
    with running_receiver() as receiver:
        receiver.pair = authority.make("siem")
        yield receiver


@pytest.fixture(scope="module")
def house(
    tmp_path_factory: pytest.TempPathFactory,
    authority: CertificateAuthority,
    collector: Receiver,
    siem: Receiver,
) -> Iterator[ServedHouse]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SDCGATE_TRACING__URL", collector.url)
        environment.setenv("SDCGATE_TRACING__CA", str(authority.ca))
        environment.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        environment.setenv("SDCGATE_DECISION_LOG__WEBHOOK__URL", f"{siem.url}/decisions")
        environment.setenv("SDCGATE_DECISION_LOG__WEBHOOK__CA", str(authority.ca))
        environment.setenv("SDCGATE_DECISION_LOG__POLL_SECONDS", "0.05")
        environment.setenv("SDCGATE_DECISION_LOG__LONGEST_WAIT_SECONDS", "0.2")
        house = ServedHouse(tmp_path_factory.mktemp("house"), facility={"standing_poll_seconds": 0.1})
    house.register_randhie()
    yield house
    house.stop()


@pytest.fixture(scope="module")
def protected(house: ServedHouse) -> httpx.Response:
    return house.ask(rows=["plan"], columns=["site"], layers=["female"])


@pytest.fixture(scope="module")
def refused(house: ServedHouse) -> httpx.Response:
    return house.ask(rows=["site"], columns=["year"], layers=["age:broad", "female"])


def until(reached: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := reached()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def samples(house: ServedHouse, service: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = httpx.get(f"{house.metrics_address(service)}/metrics").text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(house: ServedHouse, name: str, of: str = "facility", **labels: str) -> float | None:
    return samples(house, of).get((name, frozenset(labels.items())))


def test_decisions_are_counted_by_dataset_verdict_and_reason(house, protected, refused):
    said = {"dataset": "randhie", "verdict": "RELEASED_PROTECTED"}
    assert value(house, "sdcgate_decisions_total", **said) == 1
    assert value(house, "sdcgate_decision_reasons_total", **said, reason="MINIMUM_UNITS") == 1
    said = {"dataset": "randhie", "verdict": "REFUSED"}
    assert value(house, "sdcgate_decisions_total", **said) == 1
    assert value(house, "sdcgate_decision_reasons_total", **said, reason="MAXIMUM_DIMENSIONS") == 1


def test_a_repeated_question_is_no_decision(house, protected):
    repeated = {"dataset": "randhie", "verdict": "RELEASED_PROTECTED"}
    before = value(house, "sdcgate_repeated_answers_total", **repeated) or 0
    assert house.ask(rows=["plan"], columns=["site"], layers=["female"]).status_code == 200
    assert value(house, "sdcgate_repeated_answers_total", **repeated) == before + 1
    assert value(house, "sdcgate_decisions_total", **repeated) == 1


def test_risk_audit_and_stages_of_judged_tables_are_seen(house, protected, refused):
    assert value(house, "sdcgate_table_risk_share_count", dataset="randhie") == 1
    # Fourteen sites and plans at a sampling fraction of 0.001: far below one in a hundred.
    assert value(house, "sdcgate_table_risk_share_bucket", dataset="randhie", le="0.01") == 1
    assert value(house, "sdcgate_audits_total", dataset="randhie", result="proved") == 1
    assert value(house, "sdcgate_audit_rounds_count") == 1
    for stage in ("compute", "assess", "protect", "proof", "record"):
        assert value(house, "sdcgate_stage_seconds_count", stage=stage) >= 1


def test_the_ledger_its_policy_and_its_verification_are_seen(house, protected, monkeypatch):
    assert value(house, "sdcgate_ledger_reachable") == 1
    with house.ledger() as ledger:
        head = ledger.head().sequence
        report = ledger.verify()
    until(lambda: value(house, "sdcgate_ledger_events") == head)
    assert abs(value(house, "sdcgate_ledger_head_timestamp_seconds") - time.time()) < 3600
    policy = protected.json()["policy"]
    applied = {"dataset": "randhie", "policy": policy["name"], "hash": policy["hash"]}
    assert value(house, "sdcgate_policy_info", **applied) == 1
    assert value(house, "sdcgate_ledger_verified_timestamp_seconds") == 0

    from sdcgate.servers.verification_file import keep_verification

    keep_verification(house.settings.verification_file, report)
    until(lambda: value(house, "sdcgate_ledger_verified_events") == head)
    assert value(house, "sdcgate_ledger_verified_faults") == 0
    assert abs(value(house, "sdcgate_ledger_verified_timestamp_seconds") - time.time()) < 3600


def test_the_reference_page_has_the_metrics_of_the_running_services_and_no_others(house):
    page = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
    every, facility = (
        set(re.findall(r"^\| `(sdcgate_\w+)` \|", part, re.M)) for part in page.split("## The fac")
    )

    def shown(service: str) -> set[str]:
        text = httpx.get(f"{house.metrics_address(service)}/metrics").text
        told = dict(re.findall(r"^# TYPE (sdcgate_\w+) (\w+)$", text, re.M))
        return {name for name in told if not name.endswith("_created")}

    of_threads = {name for name in every if re.search(r"threads|waiting|turned_away", name)}
    assert len(of_threads) == 5
    assert shown("gateway") == every - of_threads
    assert shown("risk") == shown("protection") == every
    assert shown("facility") == every | facility


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_says_what_it_is_and_that_it_is_ready(house, protected, service):
    found = samples(house, service)
    builds = [dict(labels) for (name, labels) in found if name == "sdcgate_build_info"]
    assert [build["service"] for build in builds] == [service]
    assert found["sdcgate_ready", frozenset({("service", service)})] == 1


@pytest.mark.parametrize("service", SERVICES[1:])
def test_threads_and_places_to_wait_are_seen(house, protected, service):
    room = {"service": service, "room": "own"}
    assert value(house, "sdcgate_threads", service, **room) == 8
    assert value(house, "sdcgate_waiting_places", service, **room) == 32
    assert value(house, "sdcgate_calls_turned_away_total", service, **room) == 0
    assert value(house, "sdcgate_wait_seconds_count", service, service=service) > 0


def spans(collector: Receiver) -> list[tuple[str, Any]]:
    """Service and span of everything that the collector was sent."""
    found = []
    for _, _, body in list(collector.taken):
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            name = {a.key: a.value.string_value for a in resource.resource.attributes}["service.name"]
            found += [(name, span) for scope in resource.scope_spans for span in scope.spans]
    return found


def said(span: Any) -> dict[str, Any]:
    return {a.key: a.value.string_value or a.value.int_value for a in span.attributes}


@pytest.fixture(scope="module")
def trace(house: ServedHouse, collector: Receiver, protected: httpx.Response) -> list[tuple[str, Any]]:
    """The spans of the protected table's request."""
    identity = protected.headers["x-request-id"]

    def whole() -> list[tuple[str, Any]] | None:
        found = spans(collector)
        ours = {span.trace_id for _, span in found if said(span).get("sdcgate.request_id") == identity}
        assert len(ours) <= 1
        of_trace = [(service, span) for service, span in found if span.trace_id in ours]
        return (
            of_trace if {service for service, _ in of_trace} >= {f"sdcgate-{s}" for s in SERVICES} else None
        )

    return until(whole)


def test_one_trace_leads_through_all_four_processes(trace):
    names = {span.span_id: (service, span.name) for service, span in trace}
    parents = {(service, span.name): names.get(span.parent_span_id) for service, span in trace}
    assert parents["sdcgate-gateway", "gateway"] is None
    query = ("sdcgate-facility", "sdcgate.facility.v1.FacilityService/QueryTable")
    assert parents[query] == ("sdcgate-gateway", "gateway")
    for stage in ("compute", "knowledge", "assess", "proof", "record"):
        assert parents["sdcgate-facility", f"facility.{stage}"][0] == "sdcgate-facility"
    assert parents["sdcgate-risk", "sdcgate.risk.v1.RiskService/AssessTable"] == (
        "sdcgate-facility",
        "facility.assess",
    )
    assert parents["sdcgate-protection", "sdcgate.protection.v1.ProtectionService/ProtectTable"] == (
        "sdcgate-facility",
        "facility.protect",
    )


def test_spans_say_who_was_called_and_nothing_that_was_asked_or_found(trace, protected):
    for _, span in trace:
        assert set(said(span)) <= ATTRIBUTES
        assert len(span.events) == 0
    whole = b"".join(span.SerializeToString() for _, span in trace)
    for asked in (b"female", b"plan", protected.json()["query"].encode()):
        assert asked not in whole
    by_name = {span.name: said(span) for _, span in trace}
    assert by_name["gateway"]["http.route"] == "/v1/datasets/{dataset}/tables"
    assert by_name["gateway"]["http.response.status_code"] == 201
    query = by_name["sdcgate.facility.v1.FacilityService/QueryTable"]
    assert query["sdcgate.verdict"] == "RELEASED_PROTECTED"
    assert query["rpc.response.status_code"] == "OK"


def test_log_lines_of_all_services_have_the_request_and_its_trace(house, trace, protected):
    traced = trace[0][1].trace_id.hex()
    identity = protected.headers["x-request-id"]
    for service in SERVICES:
        lines = [line for line in house.log(service) if line.get("request_id") == identity]
        assert lines
        assert {line["trace_id"] for line in lines if line["event"] == "call"} <= {traced}
    assert {line["trace_id"] for line in house.log("risk") if line.get("request_id") == identity} == {traced}


def test_a_trace_that_a_caller_brings_along_is_not_taken_over(house, collector):
    foreign = "4bf92f3577b34da6a3ce929d0e0e4736"
    answer = house.send("GET", "/v1/datasets", headers={"traceparent": f"00-{foreign}-00f067aa0ba902b7-01"})
    identity = answer.headers["x-request-id"]

    def ours() -> list[str]:
        return [
            span.trace_id.hex()
            for _, span in spans(collector)
            if said(span).get("sdcgate.request_id") == identity
        ]

    assert foreign not in until(ours)


def test_the_status_is_sent_once_and_then_only_that_it_is_the_same(house):
    first = house.send("GET", "/v1/status", key="olga")
    tag = first.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
    assert first.headers["cache-control"] == "private, no-cache"
    for given in (tag, f"W/{tag}", f'"another", {tag}', "*"):
        again = house.send("GET", "/v1/status", key="olga", headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    for given in ('"another"', tag.strip('"')):
        other = house.send("GET", "/v1/status", key="olga", headers={"If-None-Match": given})
        assert (other.status_code, other.json()) == (200, first.json())


def test_the_status_does_not_depend_on_what_was_asked(house):
    before = house.send("GET", "/v1/status").headers["etag"]
    assert house.ask(rows=["site"], columns=["female"]).status_code == 201
    assert house.send("GET", "/v1/status").headers["etag"] == before


def test_nobody_without_a_key_is_told_that_the_status_is_the_same(house):
    tag = house.send("GET", "/v1/status", key="olga").headers["etag"]
    answer = house.send("GET", "/v1/status", key="", headers={"If-None-Match": tag})
    assert answer.status_code == 401


def test_answers_about_the_data_have_no_tag_and_are_not_stored(house, protected):
    assert "etag" not in protected.headers
    assert protected.headers["cache-control"] == "no-store"


def test_the_decision_log_tells_every_event_of_the_ledger_in_order(house, siem, protected, refused):
    with house.ledger() as ledger:
        head = ledger.head().sequence
        stored = {event.sequence: event.hash.hex() for event in ledger.events_after(0, 1000)}
    siem.wait_until(lambda: bool(siem.sequences) and siem.sequences[-1] >= head)
    assert siem.sequences[:head] == list(range(1, head + 1))
    assert {e["sequence"]: e["hash"] for e in siem.events if e["sequence"] <= head} == stored
    (told,) = [event for event in siem.events if event.get("query") == protected.json()["query"]]
    assert told["verdict"] == "RELEASED_PROTECTED"
    assert told["reasons"] == [reason["code"] for reason in protected.json()["reasons"]]
    assert told["policy"] == protected.json()["policy"]
    assert told["researcher"].startswith("p-")
    assert b'"ada"' not in b"".join(body for _, _, body in siem.taken)


def test_while_the_webhook_is_down_answers_come_and_later_all_are_told(house, siem):
    siem.stop()
    answers = [house.ask(rows=["site"], female=[code]).status_code for code in ("0", "1")]
    assert set(answers) <= {200, 201, 202}
    siem.start()
    with house.ledger() as ledger:
        head = ledger.head().sequence
    siem.wait_until(lambda: siem.sequences[-1] >= head)
    assert list(dict.fromkeys(siem.sequences)) == list(range(1, head + 1))


def test_the_decision_log_goes_on_after_the_facility_was_killed(house, siem):
    house.kill("facility")
    house.restart("facility")
    until(lambda: house.send("GET", "/v1/status", key="olga").status_code == 200)
    house.ask(rows=["site"], columns=["age:broad"])
    with house.ledger() as ledger:
        head = ledger.head().sequence
    siem.wait_until(lambda: siem.sequences[-1] >= head)
    assert list(dict.fromkeys(siem.sequences)) == list(range(1, head + 1))
    until(lambda: value(house, "sdcgate_decision_log_delivered_sequence", sink="webhook") == head)
