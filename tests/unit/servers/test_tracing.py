import subprocess
import sys

import pytest
import structlog
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from sdcgate.servers.logging import REQUEST_ID
from sdcgate.servers.settings import Settings
from sdcgate.servers.tracing import TRACE_KEY, Tracing, carried


class Traced:
    """Services that are traced, in one process."""

    def __init__(self):
        self.made = []

    def service(self, name, share=1.0):
        exporter = InMemorySpanExporter()
        self.made.append((Tracing.to(exporter, name, share), exporter))
        return self.made[-1][0]

    def spans(self):
        found = []
        for tracing, exporter in self.made:
            tracing.shut_down()
            found += exporter.get_finished_spans()
        return {f"{span.resource.attributes['service.name']} {span.name}": span for span in found}


@pytest.fixture
def traced():
    return Traced()


def test_what_is_carried_from_service_to_service_makes_one_trace(traced):
    gateway, facility = traced.service("gateway"), traced.service("facility")
    with gateway.request("gateway"):
        metadata = dict(carried())
    with facility.request("QueryTable", metadata[TRACE_KEY]), facility.span("facility.compute"):
        pass
    spans = traced.spans()
    one, two, three = (
        spans["sdcgate-gateway gateway"],
        spans["sdcgate-facility QueryTable"],
        spans["sdcgate-facility facility.compute"],
    )
    assert one.context.trace_id == two.context.trace_id == three.context.trace_id
    assert (two.parent.span_id, three.parent.span_id) == (one.context.span_id, two.context.span_id)
    assert carried() == ()


def test_attributes_that_are_not_on_the_list_are_left_out(traced):
    tracing = traced.service("risk")
    with tracing.request("AssessTable", None, {"rpc.method": "AssessTable", "cells": "8675309"}):
        tracing.note({"sdcgate.verdict": "RELEASED", "units": 8675309})
    (span,) = traced.spans().values()
    assert dict(span.attributes) == {"rpc.method": "AssessTable", "sdcgate.verdict": "RELEASED"}


def test_of_an_exception_the_span_has_the_type_and_not_a_word(traced):
    tracing = traced.service("risk")
    with pytest.raises(ValueError, match="8675309"), tracing.request("AssessTable"):
        raise ValueError("cell 8675309")
    (span,) = traced.spans().values()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert dict(span.attributes) == {"error.type": "ValueError"}
    assert span.events == ()
    assert "8675309" not in span.to_json()


def test_span_and_log_lines_have_each_others_ids(traced):
    tracing = traced.service("facility")
    with (
        structlog.contextvars.bound_contextvars(**{REQUEST_ID: "r-1"}),
        tracing.request("QueryTable"),
    ):
        logged = structlog.contextvars.get_contextvars()
    (span,) = traced.spans().values()
    assert span.attributes["sdcgate.request_id"] == "r-1"
    assert logged == {REQUEST_ID: "r-1", "trace_id": f"{span.context.trace_id:032x}"}


def test_a_request_that_is_not_sampled_leaves_no_span_in_any_service(traced):
    gateway, facility = traced.service("gateway", 0.0), traced.service("facility", 1.0)
    with gateway.request("gateway"):
        metadata = dict(carried())
        with facility.request("QueryTable", metadata[TRACE_KEY]):
            pass
    assert traced.spans() == {}


@pytest.mark.parametrize("parent", [None, "", "nonsense", b"\xff", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_parent_that_is_none_begins_a_new_trace(traced, parent):
    with traced.service("risk").request("AssessTable", parent):
        pass
    (span,) = traced.spans().values()
    assert span.parent is None


def test_without_a_collector_nothing_is_traced_and_nothing_carried():
    tracing = Tracing.of(Settings(), "risk")
    with tracing.request("AssessTable", "00-" + "a" * 32 + "-" + "b" * 16 + "-01"), tracing.span("part"):
        tracing.note({"sdcgate.verdict": "RELEASED"})
        assert carried() == ()
        assert "trace_id" not in structlog.contextvars.get_contextvars()


def test_a_collector_without_the_packages_keeps_the_service_from_starting():
    code = """
import sys
sys.modules["opentelemetry.exporter.otlp.proto.http.trace_exporter"] = None
from sdcgate.servers.settings import Settings
from sdcgate.servers.tracing import Tracing
try:
    Tracing.of(Settings(tracing={"url": "http://127.0.0.1:4318"}), "risk")
except RuntimeError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "traces need more packages: pip install 'sdcgate[tracing]'\n"


def test_services_that_are_not_traced_do_not_load_the_packages():
    services = "sdcgate.servers.gateway, sdcgate.servers.facility"
    code = f"import sys, {services}; print('opentelemetry.sdk' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
