"""Options, for modules that read a configuration themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from asyncstate.config import Settings, load_settings
from asyncstate.dunders.context import current
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else


def minion_config(path: str | None, **_how: Any) -> dict[str, Any]:
    """Return the options of a minion configuration; a copy of ours if it is missing or this run's own.

    Raises ConfigError for an invalid file.
    """
    call = current.get(None)
    if path and os.path.isfile(path) and (call is None or call.opts.get("conf_file") != path):
        return load_settings([Path(path)]).opts()
    return dict(call.opts) if call is not None else Settings().opts()


__getattr__: ModuleGetattr = nothing_else(__name__)
