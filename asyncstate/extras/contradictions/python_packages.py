"""Claims of `pip` and `virtualenv` states to Python packages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.effects.places import GONE, THERE
from asyncstate.effects.resources import plain_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.model.chunk import LowChunk

_PIP_PROGRAM = re.compile(r"(/bin/(pip|python)[\d.]*)?/?$")
_PIP_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^]]*\]\s*)?(?:===?\s*([^\s,;*]+)\s*$)?")


def of_pip(chunk: LowChunk) -> Iterator[tuple[str, str, Any]]:
    """Yield which Python packages a state installs or removes by their names, beside its requirements files."""
    if chunk.state == "virtualenv":
        names = chunk.args.get("pip_pkgs")
    elif chunk.fun == "installed" and (chunk.args.get("requirements") or chunk.args.get("editable")):
        return  # it installs what these say, and not its name
    else:
        names = chunk.args.get("pkgs") or [chunk.name]
    yield from of_requirements(chunk, names if isinstance(names, list) else [])


def of_requirements(chunk: LowChunk, names: Iterable[Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield which Python packages a state installs or removes, and in which version, of names as pip takes them."""
    given = chunk.name if chunk.state == "virtualenv" else chunk.args.get("bin_env") or "the system"
    where, gone = plain_path(_PIP_PROGRAM.sub("", str(given))), chunk.fun == "removed"
    for each in names if gone or chunk.fun in {"installed", "managed"} else ():
        found = _PIP_NAME.match(each) if isinstance(each, str) else None
        if found is None or "/" in each:
            continue
        name = re.sub("[-_.]+", "-", found[1]).lower()
        words, resource = f"Python package {name} of {where}", f"pip:{where}:{name}"
        yield words, resource, GONE if gone else THERE
        if found[2] and not gone:
            yield f"version of {words}", resource, ("version", found[2])
