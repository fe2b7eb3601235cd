"""An OTLP collector on loopback: it decodes what is exported and keeps it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from atoll.testing.contracts.telemetry.tracer import ExportedSpan


@dataclass
class Collector:
    """What was received: whole requests as text, and their spans. `url` is its base URL."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    spans: list[ExportedSpan] = field(default_factory=list)

    def named(self, name: str) -> list[ExportedSpan]:
        """Return the spans of this name."""
        return [one for one in self.spans if one.name == name]

    def take(self, body: bytes) -> None:
        """Decode one request."""
        request = ExportTraceServiceRequest.FromString(body)
        self.texts.append(str(request))
        for group in request.resource_spans:
            service = next(
                one.value.string_value
                for one in group.resource.attributes
                if one.key == "service.name"
            )
            for scope in group.scope_spans:
                self.spans += [_span(one, service) for one in scope.spans]


def _span(span: WireSpan, service: str) -> ExportedSpan:
    values = {
        one.key: one.value.string_value or one.value.int_value or one.value.bool_value
        for one in span.attributes
    }
    return ExportedSpan(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex() or None,
        service,
        span.status.code == Status.STATUS_CODE_ERROR,
        values,
    )


@contextmanager
def collector() -> Iterator[Collector]:
    """Run a collector on a free port."""
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.paths.append(self.path)
            kept.headers.append(dict(self.headers))
            kept.take(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()
