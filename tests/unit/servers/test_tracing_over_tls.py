"""Traces to a collector with a certificate of a private authority, by the exporter that the house uses."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from certificate_authority import CertificateAuthority
from receivers import Receiver, running_receiver
from sdcgate.servers.logging import configure
from sdcgate.servers.settings import Settings
from sdcgate.servers.tracing import Tracing


@pytest.fixture
def log(monkeypatch) -> Iterator[io.StringIO]:
    made = io.StringIO()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    configure("risk")
    yield made
    logging.captureWarnings(False)


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path, "agency")


@pytest.fixture
def collector(authority) -> Iterator[Receiver]:
    with running_receiver() as running:
        running.pair = authority.make("collector")
        yield running


def traced(collector: Receiver, **section: Path) -> Tracing:
    return Tracing.of(Settings(tracing={"url": f"{collector.url}/T0PS3CRET", **section}), "risk")


def names(collector: Receiver) -> list[str]:
    return [
        span.name
        for _, _, body in collector.taken
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_spans_reach_a_collector_of_a_private_authority_that_wants_a_certificate(
    log, authority, collector, tmp_path, monkeypatch
):
    # What other programs of the machine believe is none of ours.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(CertificateAuthority(tmp_path, "stranger").ca))
    collector.client_ca = authority.ca
    tracing = traced(collector, ca=authority.ca, **authority.make("risk"))
    with tracing.request("AssessTable"):
        pass
    collector.wait_until(lambda: bool(collector.taken))
    tracing.shut_down()
    assert names(collector) == ["AssessTable"]
    assert [path for path, _, _ in collector.taken] == ["/T0PS3CRET/v1/traces"]
    assert collector.unmade == 0
    assert log.getvalue() == ""


def test_a_collector_that_must_not_be_believed_gets_no_span_and_later_ones_once_it_is_mended(
    log, authority, collector, tmp_path, monkeypatch
):
    stranger = CertificateAuthority(tmp_path, "stranger")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(stranger.ca))
    collector.pair = stranger.make("collector")
    tracing = traced(collector, ca=authority.ca)
    with tracing.request("AssessTable"):
        pass
    collector.wait_until(lambda: collector.unmade >= 2)
    assert collector.taken == []
    collector.pair = authority.make("collector")
    with tracing.request("AssessFile"):
        pass
    collector.wait_until(lambda: "AssessFile" in names(collector))
    tracing.shut_down()
    lines = log.getvalue()
    assert {json.loads(line)["event"] for line in lines.splitlines()} == {"library"}
    for hidden in ("T0PS3CRET", "127.0.0.1", str(collector.port)):
        assert hidden not in lines


def test_a_private_authority_is_not_believed_unless_it_is_named(log, collector, monkeypatch):
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)
    tracing = traced(collector)
    with tracing.request("AssessTable"):
        pass
    collector.wait_until(lambda: collector.unmade >= 2)
    assert collector.taken == []
    tracing.shut_down()


def test_files_that_cannot_be_used_keep_the_service_from_starting(authority, collector, tmp_path):
    pair, other = authority.make("risk"), authority.make("other")
    with pytest.raises(OSError, match="KEY_VALUES_MISMATCH"):
        traced(collector, certificate=pair["certificate"], key=other["key"])
    with pytest.raises(FileNotFoundError):
        traced(collector, ca=tmp_path / "nowhere.pem")


def test_an_authority_that_is_replaced_is_believed_without_a_restart(log, authority, collector, tmp_path):
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(CertificateAuthority(tmp_path, "stranger").ca.read_bytes())
    tracing = traced(collector, ca=trusted)
    with tracing.request("AssessTable"):
        pass
    collector.wait_until(lambda: collector.unmade >= 1)
    assert collector.taken == []
    trusted.write_bytes(authority.ca.read_bytes())
    with tracing.request("AssessFile"):
        pass
    collector.wait_until(lambda: "AssessFile" in names(collector))
    tracing.shut_down()
