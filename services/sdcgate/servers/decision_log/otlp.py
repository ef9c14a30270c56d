"""Deliveries to a collector of OpenTelemetry: log records by OTLP 1.x over HTTP, in its JSON (/v1/logs)."""

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from sdcgate.ledger.events import timestamp_of
from sdcgate.servers.decision_log.entries import Entry, line_of

TOLD = ("sequence", "hash", "kind", "dataset", "verdict")
"""Fields that are attributes as well, to be searched by."""
INFO = 9
"""SEVERITY_NUMBER_INFO."""


def otlp_batch(entries: Sequence[Entry]) -> tuple[bytes, Mapping[str, str]]:
    """A batch as an ExportLogsServiceRequest: a record an event, whose body is its line of JSON."""
    about = {"service.name": "sdcgate-facility", "service.version": version("sdcgate")}
    scope = {"name": "sdcgate.decision_log", "version": version("sdcgate")}
    logs = {"scope": scope, "logRecords": [_record(entry) for entry in entries]}
    request = {"resourceLogs": [{"resource": {"attributes": _attributes(about)}, "scopeLogs": [logs]}]}
    return json.dumps(request, separators=(",", ":")).encode(), {"Content-Type": "application/json"}


def partly_refused(answer: bytes) -> bool:
    """Whether a collector that answered with success says that it dropped records."""
    try:
        told = json.loads(answer)["partialSuccess"]["rejectedLogRecords"]
        return int(told) > 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _record(entry: Entry) -> dict[str, Any]:
    moment = timestamp_of(entry["recorded_at"])
    nanoseconds = int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000
    told = {f"sdcgate.{name}": entry[name] for name in TOLD if name in entry}
    return {
        "timeUnixNano": str(nanoseconds),
        "observedTimeUnixNano": str(nanoseconds),
        "severityNumber": INFO,
        "severityText": "INFO",
        "eventName": "sdcgate.decision_log.event",
        "body": {"stringValue": line_of(entry).decode().rstrip("\n")},
        "attributes": _attributes(told),
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]
