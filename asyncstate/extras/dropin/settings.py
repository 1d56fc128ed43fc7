"""The settings of a ``salt-call``: from Salt's configuration folder, then from the command line."""

from __future__ import annotations

import copy
import glob
import os
from typing import TYPE_CHECKING, Any

from asyncstate.extras.dropin.options import CONFIG_DIR
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.errors import PillarError
    from asyncstate.extras.dropin.options import Request

log: logging.Logger = get_logger(__name__)

_TRUST = "ASYNCSTATE_TRUST_WRITABLE"


def settings_of(console: Console, request: Request, localconfig: str = "") -> Settings:
    """Return the settings, and start the log. Raises ConfigError.

    The configuration is ``minion`` in the named folder; else the files of ``ASYNCSTATE_CONFIG``; else
    ``minion`` in Salt's own folder; else asyncstate's. ``localconfig`` is a file whose options come last.
    """
    from asyncstate.config import load_settings
    from asyncstate.extras.dropin.trust import trust_plugins, trusts_configuration

    files = [*_files(request), *([localconfig] if localconfig else [])]
    overrides = _overrides(request)
    lent = not request.trust_writable and _TRUST not in os.environ and trusts_configuration(files)
    if lent or request.trust_writable:
        overrides["trust_writable"] = True
    settings = load_settings(files, overrides, as_salt=True)
    console.log(settings.log_level, settings.log_granular_levels)
    if lent:
        settings.trust_writable = False
        trust_plugins(settings)
    if not request.local and settings.extra.get("master") and settings.extra.get("master_type") != "disable":
        log.warning("There is no master: the tree is that of this machine. --local says that this is meant.")
    return settings


def _files(request: Request) -> list[str]:
    from asyncstate.config import default_files

    named = request.config_dir or os.environ.get("SALT_CONFIG_DIR", "")
    if not named and (own := os.environ.get("ASYNCSTATE_CONFIG")):
        return [os.path.abspath(file) for file in own.split(os.pathsep)]
    minion = os.path.join(os.path.abspath(os.path.expanduser(named or CONFIG_DIR)), "minion")
    if os.path.isfile(minion):
        return [minion]
    return [] if named else default_files()


def _overrides(request: Request) -> dict[str, Any]:
    folders = _absolute(request.module_dirs)
    overrides = {
        "id": request.minion_id,
        "foresight": False,
        "file_roots": {"base": _expanded(request.file_roots)} if request.file_roots else None,
        "pillar_roots": {"base": _expanded(request.pillar_roots)} if request.pillar_roots else None,
        "states_dirs": _absolute(request.states_dirs),
        "module_dirs": folders,
        "cachedir": os.path.abspath(request.cachedir) if request.cachedir else None,
        "state_output": request.state_output,
        "state_verbose": request.state_verbose,
        "state_output_diff": request.state_output_diff or None,
    }
    return {name: value for name, value in overrides.items() if value not in (None, "", [])}


def _absolute(folders: list[str]) -> list[str]:
    return [os.path.abspath(folder) for folder in folders]


def _expanded(folders: list[str]) -> list[str]:
    """Return absolute paths, with ``*`` in them expanded as Salt does."""
    return [found for folder in _absolute(folders) for found in sorted(glob.glob(folder)) or [folder]]


def past_pillar(settings: Settings, error: PillarError) -> Settings:
    """Return settings with the rendered part of the pillar in place of its files, and its errors as ``_errors``."""
    other = copy.copy(settings)
    other.pillar_roots = {}
    other.pillar = {**error.rendered, "_errors": [issue.message for issue in error.issues[1:]]}
    return other


def changed(settings: Settings, **values: Any) -> Settings:
    """Return a copy of the settings with other values; None keeps a value. ``pillar`` is merged over theirs."""
    other = copy.copy(settings)
    pillar = values.pop("pillar", None)
    for name, value in values.items():
        if value is not None:
            setattr(other, name, value)
    if other.pillarenv_from_saltenv and values.get("saltenv") and not values.get("pillarenv"):
        other.pillarenv = other.saltenv
    if pillar:
        other.pillar = other.pillar_with(pillar)
    return other
