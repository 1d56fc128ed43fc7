"""The path that a state of a file makes or removes, and what it leaves there: a file, a folder, a link or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.effects.resources import plain_path

if TYPE_CHECKING:
    from asyncstate.model.chunk import LowChunk

THERE, GONE = "there", "gone"
FILE, FOLDER, LINK = "file", "directory", "link"
_MAKES = {
    **dict.fromkeys(("managed", "serialize", "append", "prepend", "decode", "hardlink"), FILE),
    **dict.fromkeys(("directory", "recurse"), FOLDER),
    **dict.fromkeys(("copy", "rename", "touch"), THERE),
    "symlink": LINK,
    "absent": GONE,
}
"""The kind of file that functions of ``file`` leave at their path."""
FILL = {
    **dict.fromkeys(("git.latest", "git.cloned", "git.detached"), "target"),
    **dict.fromkeys(("archive.extracted", "virtualenv.managed"), "name"),
}
"""Functions of other modules that fill a folder, and the argument that names it."""


def place(chunk: LowChunk) -> str | None:
    """Return the path that a state of a file makes or removes, or the folder that another state fills."""
    path = chunk.args.get(FILL[chunk.function], chunk.name) if chunk.function in FILL else chunk.name
    return plain_path(path) if isinstance(path, str) and path.startswith("/") else None


def kind_left(chunk: LowChunk) -> str:
    """Return what a state leaves at its `place`: a file, a folder …; "" if that is not known."""
    if chunk.state == "ini":
        return FILE if chunk.fun != "sections_absent" else ""
    if chunk.state in {"file", "x509"}:
        return _MAKES.get(chunk.fun, "") if chunk.state == "file" else FILE
    return FOLDER if chunk.function in FILL else ""
