"""asyncstate: compile and run Salt-style state trees concurrently, with the rows of a serial run.

The public names are imported on first use, so that ``import asyncstate`` and the command line's ``--help`` stay quick.
"""

from __future__ import annotations

from asyncstate import _checkout
from asyncstate._version import __version__

TYPE_CHECKING = False  # `typing` takes longer to import than all that --version needs
if TYPE_CHECKING:
    from typing import Any

    from asyncstate.config import Settings as Settings
    from asyncstate.errors import AsyncStateError as AsyncStateError
    from asyncstate.errors import CompileError as CompileError
    from asyncstate.errors import ConfigError as ConfigError
    from asyncstate.model.plan import Plan as Plan
    from asyncstate.model.result import RunReport as RunReport
    from asyncstate.runtime import StateRuntime as StateRuntime

_PUBLIC = {
    "AsyncStateError": "asyncstate.errors",
    "CompileError": "asyncstate.errors",
    "ConfigError": "asyncstate.errors",
    "Plan": "asyncstate.model.plan",
    "RunReport": "asyncstate.model.result",
    "Settings": "asyncstate.config",
    "StateRuntime": "asyncstate.runtime",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604 - the names are those of the table above

_checkout.mount(__path__[0])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for (PEP 562)."""
    from importlib import import_module  # noqa: PLC0415 - as above

    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
