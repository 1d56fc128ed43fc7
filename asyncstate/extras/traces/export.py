"""Export of spans to a collector of OpenTelemetry, in a thread that never blocks a run.

The standard variables configure it: OTEL_EXPORTER_OTLP_ENDPOINT and its relatives, OTEL_RESOURCE_ATTRIBUTES,
OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, TRACEPARENT.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from asyncstate._version import __version__
from asyncstate.process.descriptors import Thread
from asyncstate.report.terminal import count, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

_BATCH = 512
_MOST = 100_000
"""Limit of buffered spans. Further ones are dropped."""
_AFTER = 5.0
"""Seconds after which an incomplete batch is sent."""
_PATIENCE = 3.0
"""Timeout for the collector at the end of the program, in seconds."""
_UNREACHABLE = re.compile(r"\[Errno -?\d+\] ([^'\")]+)")
"""The library's message if there is no connection; the group is the reason."""


class Sender(SpanProcessor):
    """Sends ended spans in a thread. Ending a span never blocks.

    The library logs an error for each attempt: here they become the one reason that `close` returns. A collector that
    never answered and cannot be reached is not waited for.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._news = threading.Condition()
        self._waiting: deque[ReadableSpan] = deque()
        self._sending = self._lost = 0
        self._is_closing = self._was_heard = False
        self._thread: threading.Thread | None = None
        self._words = _Words(self._wake)
        self._words.take_over()

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span for sending."""
        if span.context is None or not span.context.trace_flags.sampled:
            return
        with self._news:
            if len(self._waiting) >= _MOST:
                self._lost += 1
                return
            self._waiting.append(span)
            if self._thread is None:
                thread = Thread(target=self._work, name="asyncstate-traces", daemon=True)
                with suppress(RuntimeError):  # the next span tries again
                    thread.start()
                    self._thread = thread
            if len(self._waiting) >= _BATCH:
                self._news.notify_all()

    def close(self, seconds: float = _PATIENCE) -> str:
        """Send the remaining spans, within ``seconds``; return the reason for unsent ones, "" if there are none."""
        with self._news:
            self._is_closing = True
            self._news.notify_all()
            self._news.wait_for(self._is_over, seconds)
            lost = self._lost + len(self._waiting) + self._sending
            self._waiting.clear()
            why = self._words.last or f"the collector did not answer within {seconds:g} s"
        with suppress(RuntimeError):
            Thread(target=self._exporter.shutdown, daemon=True).start()  # it may wait for the current request
        unreachable = _UNREACHABLE.search(why)
        why = unreachable[1] if unreachable else one_line(why, 300)
        return f"{count(lost, 'span')} could not be sent: {why}" if lost else ""

    def _is_over(self) -> bool:
        if not self._waiting and not self._sending:
            return True
        return not self._was_heard and _UNREACHABLE.search(self._words.last) is not None

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: len(self._waiting) >= _BATCH or self._is_closing, _AFTER)
                batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
                self._sending = len(batch)
                if not batch and self._is_closing:
                    return
            sent = not batch or self._is_sent(batch)
            with self._news:
                self._was_heard = self._was_heard or (sent and bool(batch))
                self._lost += 0 if sent else self._sending
                self._sending = 0
                self._news.notify_all()

    def _is_sent(self, batch: list[ReadableSpan]) -> bool:
        try:
            return self._exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 - whatever a collector or a library does, runs go on
            self._words.last = f"{type(error).__name__}: {error}"
            return False


class _Words(logging.Handler):
    """Keeps the last message that the library logs, instead of printing it, and calls ``told``."""

    def __init__(self, told: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        self._told = told

    def take_over(self) -> None:
        for name in ("opentelemetry", "urllib3"):
            logger = logging.getLogger(name)
            logger.setLevel(logging.WARNING)
            logger.propagate = False
            logger.handlers = [self]

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()
        self._told()


class Export:
    """The export of this program's spans: ``tracer`` makes them, ``parent`` is their parent from the environment."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        given = {} if named else {"service.name": "asyncstate"}
        self._sender = Sender(exporter or OTLPSpanExporter())
        provider = TracerProvider(
            resource=Resource.create({**given, "service.version": __version__}), shutdown_on_exit=False
        )
        provider.add_span_processor(self._sender)
        self.tracer: Tracer = provider.get_tracer("asyncstate", __version__)
        self.parent: Context = TraceContextTextMapPropagator().extract(
            {name: os.environ[name.upper()] for name in ("traceparent", "tracestate") if name.upper() in os.environ}
        )

    def close(self) -> str:
        """Send the remaining spans; return the reason for unsent ones, "" if there are none."""
        return self._sender.close()
