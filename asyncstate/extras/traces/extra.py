"""Registration of traces of runs with the engine."""

from __future__ import annotations

from asyncstate.extend import Extra

EXTRA = Extra(traces="asyncstate.extras.traces.tracing:Traces")
