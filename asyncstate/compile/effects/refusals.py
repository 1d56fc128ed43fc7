"""States that a run refuses: programs of root in a place that an earlier state gives to another user.

That user could exchange files there while root's program works on them. Footprints tell what is given away: a state
with an owner gives what it writes, and the folders that it makes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.compile.effects.resources import ENTRY, PATH, TREE, folder_and_marks, plain_path
from asyncstate.model.plan import Contradiction
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.compile.effects.declared import Footprint
    from asyncstate.model.chunk import LowChunk

REFUSED = "E431"
_PIP = """
    bin_env cwd requirements editable find_links target source build download download_cache cache_dir log
""".split()
_PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("git.latest", "git.cloned", "git.detached"), ("git", ("target",))),
    "git.present": ("git", ("name",)),
    "virtualenv.managed": ("virtualenv", ("name", "venv_bin", "python", "requirements")),
    **dict.fromkeys(("pip.installed", "pip.removed", "pip.uptodate"), ("pip", tuple(_PIP))),
    "file.patch": ("patch", ("name",)),
    "mount.swap": ("swapon", ("name",)),
    "docker_image.present": ("docker build", ("build",)),
}
"""The states that run a program which root may not run where another user can exchange files, and the arguments."""
_OVER = {
    "mount.mounted": ("mount", "name"),
    "alternatives.install": ("update-alternatives", "link"),
}
"""The states whose program puts something over a path: users must not be able to exchange the folders above it."""
_RUN_AS = frozenset({"mount", "cmd", "cron", "docker_container", "pip"})
"""State modules whose ``user`` runs a program, or has what is written elsewhere."""


class _Gift(Value):
    """A path that a chunk gives to a user. ``made``: the folder is theirs only if that chunk makes it."""

    giver: int
    user: str
    made: str = ""


def refused(chunks: Sequence[LowChunk], known: Sequence[Footprint]) -> Iterator[Contradiction]:
    """Yield the states that run a program as root in a place that an earlier one gives to another user."""
    given: dict[str, _Gift] = {}
    for chunk in chunks:
        if _is_root(chunk.args.get("user")):
            yield from _refusals(chunk, chunks, given)
        for path, gift in _gifts(chunk, known[chunk.index]):
            if gift.user and not (gift.made and path in given):
                given[path] = gift
            elif not gift.user:
                given.pop(path, None)


def _refusals(chunk: LowChunk, chunks: Sequence[LowChunk], given: dict[str, _Gift]) -> Iterator[Contradiction]:
    """Yield the first refusal of a chunk, if there is one."""
    for program, place, above in _places(chunk):
        path = plain_path(place)
        folder = next((each for each in _with_parents(os.path.dirname(path) if above else path) if each in given), "")
        if not folder:
            continue
        gift = given[folder]
        giver = chunks[gift.giver]
        yield Contradiction(
            REFUSED,
            gift.giver,
            chunk.index,
            f"{chunk.place} runs {program} as root in {place}, but {giver.place} gives {folder} to {gift.user}, who "
            "can replace files there meanwhile: the run refuses it",
            f"say user: {gift.user}"
            if program in {"git", "virtualenv", "pip"}
            else f"let root own {folder} while it runs {program} there",
            folder,
            not gift.made or giver.state == "user",
            gift.made,
        )
        return


def _places(chunk: LowChunk) -> Iterator[tuple[str, str, bool]]:
    """Yield the programs of a state, where each works, and whether only the folders above count."""
    program, arguments = _PROGRAMS.get(chunk.function, ("", ()))
    for argument in arguments:
        value = chunk.name if argument == "name" else chunk.args.get(argument)
        for each in value if isinstance(value, list) else [value]:
            path = each.removeprefix("-e ").removeprefix("file://").partition("[")[0] if isinstance(each, str) else ""
            if path.startswith("/"):
                yield program, path, False
    program, argument = _OVER.get(chunk.function, ("", ""))
    value = chunk.name if argument == "name" else chunk.args.get(argument)
    if program and isinstance(value, str) and value.startswith("/"):
        yield program, value, True


def _gifts(chunk: LowChunk, footprint: Footprint) -> Iterator[tuple[str, _Gift]]:
    """Yield the paths that a state gives to a user, to root with an empty name, or takes away."""
    index = chunk.index
    if chunk.state == "user":
        home = chunk.args.get("home") or f"/home/{chunk.name}"
        makes_home = chunk.fun == "present" and chunk.args.get("createhome", True) is True
        if makes_home and not _is_root(chunk.name) and isinstance(home, str):
            home = plain_path(home)
            yield home, _Gift(index, str(chunk.name), home)
        return
    if chunk.state in _RUN_AS or chunk.function == "file.symlink":
        return
    owner = chunk.args.get("user", chunk.args.get("owner"))
    if chunk.function == "file.absent":
        owner = "root"
    if isinstance(owner, (str, int)) and owner != "":
        user = "" if _is_root(owner) else str(owner)
        whole = [name for name in footprint.writes if name.startswith(PATH) and ENTRY not in name]
        for path in (name.removeprefix(PATH).removesuffix(TREE) for name in whole[:1]):
            # what an archive has is given away, a folder that is there is not
            yield path, _Gift(index, user, path if chunk.state == "archive" else "")
    for name in footprint.makes:
        folder, marks = folder_and_marks(name)
        user = marks.removeprefix("?").split(":")[1] if marks else ""
        if user and not _is_root(user) and folder.startswith(PATH):
            path = folder.removeprefix(PATH)
            yield path, _Gift(index, user, path)


def _is_root(user: Any) -> bool:
    return user in {None, "", "root", 0, "0"} if isinstance(user, (str, int, type(None))) else True


def _with_parents(path: str) -> Iterator[str]:
    while path not in {"/", "", "."}:
        yield path
        path = os.path.dirname(path)
