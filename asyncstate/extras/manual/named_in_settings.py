"""Unknown names in the settings: modules, interfaces, node groups, options of Jinja, an interpreter."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from asyncstate.config.values import origin_file
from asyncstate.errors import Issue
from asyncstate.extras.manual.providers import bundled_interfaces, plugin_files, tree_interfaces
from asyncstate.model.rules import CODES
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.render import built_in
from asyncstate.render.jinja_options import KNOWN_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from asyncstate.runtime import StateRuntime

CODE = "W404"
_GROUP = re.compile(r"\bN@(\S+)")


def unknown_names(runtime: StateRuntime) -> Iterator[Issue]:
    """Yield a warning for each name in the settings that does not exist."""
    settings = runtime.settings
    rule = CODES[CODE]
    for option, name, what, known in _names(runtime) if rule not in settings.ignore_rules else ():
        few = f"known are {', '.join(sorted(known))}" if len(known) < 30 else ""
        hint = did_you_mean(nearest(name, known)) or few
        file = origin_file(settings.origins.get(option, ""))
        yield Issue(f"{option}: there is no {what} '{name}'", file, 0, hint or "remove it", rule, code=CODE)
    python = settings.salt_python
    if isinstance(python, str) and os.path.isabs(python) and not os.access(python, os.X_OK):
        file = origin_file(settings.origins.get("salt_python", ""))
        hint = "name the Python of an environment in which Salt is installed, auto, or off"
        yield Issue(f"salt_python: there is no program {python}", file, 0, hint, rule, code=CODE)


def _names(runtime: StateRuntime) -> Iterator[tuple[str, str, str, Collection[str]]]:
    """Yield option, name and kind of what does not exist, with the names that do."""
    settings, host = runtime.settings, runtime.host
    if settings.providers or settings.disable_modules or settings.smi_require:
        files = plugin_files(host.opts, host.file_client)
        interfaces = {**bundled_interfaces(), **tree_interfaces(host.opts, host.file_client)[0]}
        modules = {*files, *interfaces}
        given: list[tuple[str, Iterable[str], str, Collection[str]]] = [
            ("disable_modules", settings.disable_modules, "module", modules),
            ("smi_require", settings.smi_require, "interface", interfaces),
            ("providers", settings.providers, "virtual module", modules),
            ("providers", settings.providers.values(), "file of execution modules", files),
        ]
        for option, names, what, known in given:
            yield from ((option, name, what, known) for name in names if name not in known)
    renderers = {*built_in(), *host.renderers}
    parts = {
        "renderer": settings.renderer.split("|"),
        "renderer_blacklist": settings.renderer_blacklist,
        "renderer_whitelist": settings.renderer_whitelist,
    }
    for option, pieces in parts.items():
        for name in (piece.split()[0] for piece in pieces if piece.strip()):  # the rest of a piece are its arguments
            if name not in renderers:
                yield option, name, "renderer", renderers
    for option in ("jinja_env", "jinja_sls_env"):
        for name in (str(each).lower() for each in getattr(settings, option)):
            if name not in KNOWN_OPTIONS:
                yield option, name, "option of Jinja", KNOWN_OPTIONS
    for words in settings.nodegroups.values():
        for name in _GROUP.findall(words if isinstance(words, str) else " ".join(map(str, words))):
            if name not in settings.nodegroups:
                yield "nodegroups", name, "node group", settings.nodegroups
