"""A collector of OpenTelemetry on loopback: takes OTLP over HTTP and decodes it with the protocol's own messages."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def value(any_value):
    kind = any_value.WhichOneof("value")
    return [value(each) for each in any_value.array_value.values] if kind == "array_value" else getattr(any_value, kind)


def values(attributes):
    return {each.key: value(each.value) for each in attributes}


class Collector:
    """``spans`` by name; ``resources`` and ``paths`` of the requests. Answers each with ``status``, or never (None)."""

    def __init__(self, status=200):
        self.status = status
        self.spans, self.resources, self.paths = {}, [], []
        self._go = threading.Event()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.paths.append(self.path)
                if collector.status is None:
                    collector._go.wait()
                    return
                if collector.status == 200:
                    collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args):
                """Be quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def take(self, request):
        for each in request.resource_spans:
            self.resources.append(values(each.resource.attributes))
            for scope in each.scope_spans:
                self.spans.update({span.name: span for span in scope.spans})

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._go.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
