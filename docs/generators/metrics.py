"""The metrics reference, from a registry in which a call has been counted."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from generators.markdown import joined, sentence, table
from sdcgate.servers.metrics import Metrics, PolicyMetrics

_OF_HISTOGRAMS = {"le"}


def metrics_page() -> str:
    """The page."""
    metrics = Metrics("risk")
    metrics.ended("AssessTable", "OK", 0.01)
    PolicyMetrics(metrics.registry)
    families = [family for family in metrics.registry.collect() if family.name.startswith("sdcgate_")]
    return joined(
        "# Metrics",
        "What `/metrics` shows on the metrics port of each service, for Prometheus. Nothing in it depends on "
        "withheld figures, and names that people choose (datasets, queries, researchers) are no labels. "
        "The ports stand in [Operations](../operations.md#processes).",
        table(("metric", "type", "labels", "means"), _rows(families)),
        "Those of policies are the facility's.",
        "Beside these, what Prometheus's Python client tells of every process: `process_cpu_seconds_total`, "
        "`process_resident_memory_bytes`, `process_open_fds`, `python_gc_collections_total` and others.",
    )


def _rows(families: list[Metric]) -> Iterator[tuple[str, str, str, str]]:
    for family in families:
        if family.samples:
            name = family.name + ("_total" if family.type == "counter" else "")
            labels = {label for sample in family.samples for label in sample.labels} - _OF_HISTOGRAMS
            shown = ", ".join(f"`{label}`" for label in sorted(labels))
            yield f"`{name}`", family.type, shown, sentence(family.documentation)
