"""Logging: every log line names the state that wrote it, and contains no secret.

Every module of this package and every plugin logs through the standard library. `LineLogger` is the class of their
loggers: it adds the fields of the running state to each record and hides secrets in it, before any handler or filter
sees it. The fields are bound when a chunk starts (`RunFields`); they are also structlog context variables.

This package adds no handlers, which belong to the program. Those of the command line are in `asyncstate.cli.logs`.
"""

from __future__ import annotations

from asyncstate.logs.loggers import RimFilter
from asyncstate.logs.record_redaction import hide_secrets

__all__ = ["RimFilter", "hide_secrets"]
