"""Traces of requests through the services (OpenTelemetry), where a collector is set; off by default.

Spans say which service did what, and how long: never what was asked or answered. They have no attributes but
ATTRIBUTES, and of an exception only its type. A trace leads from the gateway through facility, risk and
protection; what callers from outside send as a trace's id is not taken over.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from threading import Thread
from typing import TYPE_CHECKING, Any

import structlog

from sdcgate.servers.certificates import receiver_context
from sdcgate.servers.logging import REQUEST_ID

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

    from sdcgate.servers.settings import Settings

TRACE_KEY = "traceparent"
"""Metadata of calls between services: which span a call is of (W3C Trace Context)."""
TRACE_ID = "trace_id"
ATTRIBUTES = frozenset(
    {
        "error.type",
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "rpc.method",
        "rpc.response.status_code",
        "rpc.system.name",
        "sdcgate.dataset",
        "sdcgate.request_id",
        "sdcgate.verdict",
    }
)
"""All that a span may say beside its name and its times."""
EXPORT_SECONDS = 5.0
LAST_SECONDS = 1.0
"""How long a service that ends waits for its last spans to leave."""

_carried: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("sdcgate_trace", default=())


def carried() -> tuple[tuple[str, str], ...]:
    """Metadata that lets the trace go on in the service that is called; empty without a trace."""
    return _carried.get()


class Tracing:
    """Makes the spans of one service; of a service that is not traced, none."""

    def __init__(self, tracer: "Tracer | None" = None, shut_down: Callable[[], None] = lambda: None) -> None:
        self._tracer = tracer
        self.shut_down = shut_down
        """Sends what is left, as far as that is quick."""

    @classmethod
    def of(cls, settings: "Settings", service: str) -> "Tracing":
        """The traces that the settings want.

        Raises:
            RuntimeError: they want some and the packages are not installed.
            OSError: a file of the collector's TLS cannot be used.
        """
        if not settings.tracing.url:
            return cls()
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            from sdcgate.servers.collector_session import CollectorSession
        except ImportError:
            raise RuntimeError("traces need more packages: pip install 'sdcgate[tracing]'") from None
        address = f"{settings.tracing.url.rstrip('/')}/v1/traces"
        receiver_context(settings.tracing)
        authority, certificate, key = (
            None if file is None else str(file)
            for file in (settings.tracing.ca, settings.tracing.certificate, settings.tracing.key)
        )
        exporter = OTLPSpanExporter(
            endpoint=address,
            timeout=EXPORT_SECONDS,
            certificate_file=authority,
            client_certificate_file=certificate,
            client_key_file=key,
            session=CollectorSession(),
        )
        return cls.to(exporter, service, settings.tracing.percent / 100)

    @classmethod
    def to(cls, exporter: "SpanExporter", service: str, share: float = 1.0) -> "Tracing":
        """Traces to an exporter, of a share of the requests; sent by a thread that keeps nobody waiting."""
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

        name = {"service.name": f"sdcgate-{service}", "service.version": version("sdcgate")}
        provider = TracerProvider(
            sampler=ParentBasedTraceIdRatio(share),
            resource=Resource.create(name),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(BatchSpanProcessor(exporter))

        def shut_down() -> None:
            # A collector that is away must not keep the service from ending.
            ending = Thread(target=provider.shutdown, name="traces", daemon=True)
            ending.start()
            ending.join(LAST_SECONDS)

        return cls(provider.get_tracer("sdcgate"), shut_down)

    @contextmanager
    def request(
        self, name: str, parent: str | bytes | None = None, attributes: Mapping[str, Any] | None = None
    ) -> Iterator[None]:
        """A span of a request that came in; `parent` is the metadata that came with it."""
        if self._tracer is None:
            yield
            return
        from opentelemetry.propagators.textmap import default_getter
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        text = parent.decode("ascii", "replace") if isinstance(parent, bytes) else parent
        given = {TRACE_KEY: text} if text else {}
        context = TraceContextTextMapPropagator().extract(given, getter=default_getter)
        bound = structlog.contextvars.get_contextvars().get(REQUEST_ID)
        own = {**(attributes or {}), **({"sdcgate.request_id": bound} if bound else {})}
        with self._started(name, context=context, kind=SpanKind.SERVER):
            self.note(own)
            yield

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """A span of a part of the work."""
        if self._tracer is None:
            yield
            return
        with self._started(name):
            yield

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes to the span under way; what is not among ATTRIBUTES is left out."""
        if self._tracer is None:
            return
        from opentelemetry.trace import get_current_span

        get_current_span().set_attributes(
            {name: value for name, value in attributes.items() if name in ATTRIBUTES}
        )

    @contextmanager
    def _started(self, name: str, **how: Any) -> Iterator[None]:
        from opentelemetry.trace import Status, StatusCode, get_current_span
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if self._tracer is None:
            raise LookupError("not traced")
        # The text of an exception may say anything: it is not recorded.
        with self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **how
        ) as span:
            carrier: dict[str, str] = {}
            TraceContextTextMapPropagator().inject(carrier)
            token = _carried.set(tuple(carrier.items()))
            trace = f"{span.get_span_context().trace_id:032x}"
            try:
                with structlog.contextvars.bound_contextvars(**{TRACE_ID: trace}):
                    yield
            except Exception as error:
                get_current_span().set_attribute("error.type", type(error).__name__)
                get_current_span().set_status(Status(StatusCode.ERROR))
                raise
            finally:
                _carried.reset(token)
