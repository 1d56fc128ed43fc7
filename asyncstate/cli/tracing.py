"""Tracing of runs by OpenTelemetry: its activation, and the messages if it fails."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from asyncstate.errors import ConfigError

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.report.trace_export import Export

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"


class Tracing:
    """The export of the spans of one run."""

    def __init__(self, console: Console, settings: Settings) -> None:
        self.console = console
        self.settings = settings
        self._export: Export | None = None

    def begin(self) -> Export | None:
        """Return the export of spans; None if neither the settings nor the environment want one.

        Raises ConfigError if the settings want spans and they cannot be exported; if only the environment does, the
        console shows a message, and the run goes on.
        """
        if not is_wanted(self.settings):
            return None
        try:
            self._export = _made()
        except ConfigError as error:
            if self.settings.traced == "on":
                raise
            said = f"warning: this run is not traced: {error}"
            self.console.say(said, "  traces: off silences this warning")
        return self._export

    def end(self) -> None:
        """Send the remaining spans, with a message if that fails. Waits some seconds at most."""
        export, self._export = self._export, None
        why = "" if export is None else export.close()
        if why and self.console.warns:
            self.console.say(f"warning: {why}", f"  the collector is {_collector()}")


def _collector() -> str:
    """Return the collector that the environment names."""
    from asyncstate.data.urls import without_credentials

    named = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "http://localhost:4318")
    return str(without_credentials(named))


def is_wanted(settings: Settings) -> bool:
    """Whether runs are traced: the settings decide, or else the environment."""
    return settings.traced == "on" or (settings.traced == "auto" and _is_asked_for())


def _is_asked_for() -> bool:
    """Whether the environment requests traces, by the specification of OpenTelemetry."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip()
    return exporter != "none" and bool(exporter or any(os.environ.get(name) for name in _ENDPOINTS))


def _made() -> Export:
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if exporter not in ("otlp", "none"):
        raise ConfigError(f"OTEL_TRACES_EXPORTER is {exporter}, and only otlp is known")
    for name in _PROTOCOLS:
        if os.environ.get(name, _PROTOCOL) != _PROTOCOL:
            raise ConfigError(f"{name} is {os.environ[name]}, and only {_PROTOCOL} is known")
    try:
        from asyncstate.report.trace_export import Export
    except ImportError as error:
        if not str(error.name).startswith(("opentelemetry", "google", "requests")):
            raise
        raise ConfigError(
            "traces need OpenTelemetry: pip install 'opentelemetry-sdk>=1.30' "
            "'opentelemetry-exporter-otlp-proto-http>=1.30'"
        ) from None
    try:
        return Export()
    except Exception as error:  # noqa: BLE001 - what a library makes of odd variables of the environment
        raise ConfigError(f"OpenTelemetry refuses its settings: {type(error).__name__}: {error}") from None
