"""The metrics reference, from registries in which each metric has been counted once."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from generators.markdown import joined, sentence, table
from sdcgate.facility.fitting_room import FittingRoom
from sdcgate.facility.watching import Stage
from sdcgate.ledger.standing import Referred, Standing
from sdcgate.methods.risk.individual import TableRisk
from sdcgate.policy.loading import load_policies
from sdcgate.servers.decision_log.following import DecisionLogMetrics
from sdcgate.servers.facility_metrics import FittingMetrics, LedgerMetrics, QueryMetrics
from sdcgate.servers.metrics import Metrics, PolicyMetrics
from sdcgate.servers.rooms import Rooms
from sdcgate.servers.settings import GrpcServer
from sdcgate.servers.tracing import Tracing

_OF_HISTOGRAMS = {"le"}
_HEADER = ("metric", "type", "labels", "means")


def metrics_page() -> str:
    """The page."""
    return joined(
        "# Metrics",
        "What `/metrics` shows on the metrics port of each service, for Prometheus. The ports are for "
        "operators ([Operations](../operations.md#processes)); what to make of the metrics stands in "
        "[Monitoring](../monitoring.md). Nothing is of a single cell. Datasets are labels, as stewards "
        "register them; what researchers and checkers name (queries, projects, themselves) is none.",
        "Names and labels are stable: rules and dashboards of agencies rest on them.",
        "## Every service",
        "The gateway has no threads that calls wait for: it lacks the metrics of threads and places.",
        table(_HEADER, _rows(_of_every_service().collect())),
        "## The facility",
        table(_HEADER, _rows(_of_the_facility().collect())),
        "## The process",
        "What Prometheus's Python client tells of every process: `process_cpu_seconds_total`, "
        "`process_resident_memory_bytes`, `process_open_fds`, `process_max_fds`, "
        "`process_start_time_seconds`, `python_gc_collections_total` and others.",
    )


def _of_every_service() -> CollectorRegistry:
    metrics = Metrics("risk")
    metrics.ended("AssessTable", "OK", 0.01)
    metrics.waited.labels("risk").observe(0.01)
    metrics.watch(Rooms("risk", GrpcServer()))
    return metrics.registry


def _of_the_facility() -> CollectorRegistry:
    registry = CollectorRegistry()
    queries = QueryMetrics(registry, Tracing())
    with queries.stage(Stage.COMPUTE):
        queries.judged("survey", TableRisk(9, 1, 0, 0.0, 0.0, 0.0, 0.0))
    queries.audited("survey", proved=True, rounds=1)
    queries.decided("survey", "RELEASED_PROTECTED", {"MINIMUM_UNITS"})
    queries.repeated("survey", "RELEASED")
    queries.reviewed("survey", "REFUSED")
    ledger, moment = LedgerMetrics(registry), datetime.now(UTC)
    ledger.stands(Standing(1, moment, (Referred("survey", 1, moment),)), moment.timestamp())
    ledger.applies([("survey", load_policies()["israel-cbs"].effective("remote", "survey"))])
    FittingMetrics(registry, FittingRoom())
    log = DecisionLogMetrics(registry)
    log.delivered.labels("file")
    log.failures.labels("file")
    PolicyMetrics(registry)
    return registry


def _rows(families: Iterable[Metric]) -> Iterator[tuple[str, str, str, str]]:
    for family in families:
        if family.samples and family.name.startswith("sdcgate_"):
            name = family.name + ("_total" if family.type == "counter" else "")
            labels = {label for sample in family.samples for label in sample.labels} - _OF_HISTOGRAMS
            shown = ", ".join(f"`{label}`" for label in sorted(labels))
            yield f"`{name}`", family.type, shown, sentence(family.documentation)
