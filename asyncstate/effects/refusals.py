"""States that a run refuses: programs of root in a place that another state gives to another user.

That user could exchange files there while root's program works on them. Footprints tell what is given away: a state
with an owner gives what it writes, and the folders that it makes. What a later state gives away counts in the next run.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.effects.resources import ENTRY, PATH, TREE, folder_and_marks, plain_path
from asyncstate.model.plan import Contradiction
from asyncstate.model.requisite import CONDITIONS
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.effects.declared import Footprint
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
    "mount.mounted": ("mount", ("name",)),
    "alternatives.install": ("update-alternatives", ("link",)),
}
"""The states that run a program which root may not run where another user can exchange files, and the arguments."""
_OVER = frozenset({"mount.mounted", "alternatives.install"})
"""The states whose program puts something over a path: users must not be able to exchange the folders above it."""
_RUN_AS = frozenset({"mount", "cmd", "cron", "docker_container", "pip"})
"""State modules whose ``user`` runs a program, or has what is written elsewhere."""
_WITH_A_USER = frozenset({"git", "virtualenv", "pip"})
"""The programs whose states can run them as another user."""
_ONCE = frozenset({"docker_image.present"})
"""The states that run no program where what they make is there."""
_OF_COMMANDS = frozenset({"cmd", "module"})
"""State modules that may change an owner unseen."""
_MAY_NOT_RUN = frozenset(
    {*CONDITIONS, *(f"{kind}{suffix}" for kind in ("onchanges", "onfail", "prereq") for suffix in ("", "_any", "_all"))}
)
"""Arguments with which a state does not run each time."""


class _Place(Value):
    """The path where a ``program`` works, and the ``folder`` on the way that is given away."""

    program: str
    path: str
    folder: str


class _Gift(Value):
    """A path that a chunk gives to a user. ``made``: the folder is theirs only if that chunk makes it."""

    giver: int
    user: str
    made: str = ""


def refused(chunks: Sequence[LowChunk], known: Sequence[Footprint]) -> Iterator[Contradiction]:
    """Yield the states that run a program as root in a place that another one gives to another user.

    The next run begins with the owners that the first one leaves.
    """
    given: dict[str, _Gift] = {}
    certain = set[int]()
    for chunk in chunks:
        for place in _refusals(chunk, given):
            found = _at_once(chunk, chunks, given[place.folder], place)
            if found.certain:
                certain.add(chunk.index)
            yield found
        _give(chunk, known[chunk.index], given)
    if not given:
        return
    for chunk in chunks:
        for place in _refusals(chunk, given) if chunk.index not in certain else ():
            gift = given[place.folder]
            # only file states change the owner of what is there
            changes_owner = chunks[gift.giver].state == "file" and not gift.made
            if gift.giver > chunk.index and changes_owner and chunk.function not in _ONCE:
                yield _next_time(chunk, chunks, known, gift, place)
        _give(chunk, known[chunk.index], given)


def _give(chunk: LowChunk, footprint: Footprint, given: dict[str, _Gift]) -> None:
    """Enter what a chunk gives away and takes back."""
    for path, gift in _gifts(chunk, footprint):
        if gift.user and not (gift.made and path in given):
            given[path] = gift
        elif not gift.user:
            below = [each for each in given if each.startswith(f"{path}/")] if _holds_below(chunk) else []
            for each in (path, *below):
                given.pop(each, None)


def _holds_below(chunk: LowChunk) -> bool:
    """Return whether a state gives the owner to the content of a folder, or removes it."""
    recurse = chunk.args.get("recurse")
    return chunk.function == "file.absent" or (
        chunk.function == "file.directory" and isinstance(recurse, list) and "user" in recurse
    )


def _refusals(chunk: LowChunk, given: dict[str, _Gift]) -> Iterator[_Place]:
    """Yield the place of the first refusal of a chunk, if there is one."""
    if not _is_root(chunk.args.get("user")):
        return
    for program, place, above in _places(chunk):
        path = plain_path(place)
        for folder in _with_parents(os.path.dirname(path) if above else path):
            if folder in given:
                yield _Place(program, place, folder)
                return


def _at_once(chunk: LowChunk, chunks: Sequence[LowChunk], gift: _Gift, place: _Place) -> Contradiction:
    giver, program, folder = chunks[gift.giver], place.program, place.folder
    return Contradiction(
        REFUSED,
        gift.giver,
        chunk.index,
        f"{chunk.place} runs {program} as root in {place.path}, but {giver.place} gives {folder} to {gift.user}, who "
        "can replace files there meanwhile: the run refuses it",
        f"say user: {gift.user}" if program in _WITH_A_USER else f"let root own {folder} while it runs {program} there",
        folder,
        not gift.made or giver.state == "user",
        gift.made,
    )


def _next_time(
    chunk: LowChunk, chunks: Sequence[LowChunk], known: Sequence[Footprint], gift: _Gift, place: _Place
) -> Contradiction:
    """Return the refusal of the next run. It may pass if one of the states does not run then, or a command helps."""
    giver, program, folder = chunks[gift.giver], place.program, place.folder
    own = f"let root own {folder}"
    helped = any(
        each.state in _OF_COMMANDS and any(_is_within(folder, name) for name in known[each.index].writes)
        for each in (*chunks[: chunk.index], *chunks[gift.giver + 1 :])
    )
    may_pass = not _MAY_NOT_RUN.isdisjoint(chunk.args.keys() | giver.args.keys())
    return Contradiction(
        REFUSED,
        gift.giver,
        chunk.index,
        f"{chunk.place} runs {program} as root in {place.path}, and later {giver.place} gives {folder} to {gift.user}, "
        "who can replace files there: the next run refuses it",
        f"say user: {gift.user} and let {giver.place} run before it, or {own}" if program in _WITH_A_USER else own,
        folder,
        not helped and not may_pass,
    )


def _is_within(folder: str, name: str) -> bool:
    path = name.removeprefix(PATH).removesuffix(TREE)
    return name.startswith(PATH) and (path == folder or (name.endswith(TREE) and folder.startswith(f"{path}/")))


def _places(chunk: LowChunk) -> Iterator[tuple[str, str, bool]]:
    """Yield the programs of a state, where each works, and whether only the folders above count."""
    if chunk.function not in _PROGRAMS:
        return
    program, arguments = _PROGRAMS[chunk.function]
    for argument in arguments:
        value = chunk.name if argument == "name" else chunk.args.get(argument)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and (path := each.removeprefix("file://").partition("[")[0]).startswith("/"):
                yield program, path, chunk.function in _OVER


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
    owner = chunk.args.get("user")
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
        user = marks.split(":")[1] if marks else ""
        if not _is_root(user):
            path = folder.removeprefix(PATH)
            yield path, _Gift(index, user, path)


def _is_root(user: Any) -> bool:
    return not user or user in ("root", "0")


def _with_parents(path: str) -> Iterator[str]:
    while path != "/":
        yield path
        path = os.path.dirname(path)
