"""Paths below the folders of ``recurse``, ``copy``, ``tidied`` and ``clean`` states: claims to the files, and texts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

from asyncstate.data.patterns import is_included
from asyncstate.effects.places import FOLDER, LINK, THERE
from asyncstate.effects.resources import folders_above, plain_path
from asyncstate.errors import CommandExecutionError
from asyncstate.extras.contradictions.claim_values import CLEANED, FILLED, PERHAPS, how

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from asyncstate.compile.low.salt_sources import SaltSources
    from asyncstate.model.chunk import LowChunk

_LEAVE_OUT = frozenset({"include_pat", "maxdepth", "merge", "keep_symlinks"})
"""Arguments of ``file.recurse`` with which it is not looked into here."""
_OF_THE_TREE = frozenset({"clean", "dir_mode", "file_mode", "sym_mode", "exclude_pat", "include_empty", "mode"})


def parts(recursing: LowChunk, paths: Collection[str], sources: SaltSources) -> Iterator[LowChunk]:
    """Yield the parts of a ``file.recurse`` that are among ``paths``, as states of a file or a folder."""
    args, source = recursing.args, recursing.args.get("source")
    if isinstance(source, list) and len(source) == 1:
        [source] = source
    if not _LEAVE_OUT.isdisjoint(args) or not isinstance(source, str):
        return
    top = plain_path(recursing.name)
    url, mark, query = source.partition("?")
    own = {key: value for key, value in args.items() if key not in _OF_THE_TREE}
    for path in sorted(paths):
        inside = _inside(path, top)
        if inside is None or _is_excluded(inside, args):
            continue
        part = {**own, "source": f"{url}/{inside}{mark}{query}"}
        chunk = structs.replace(recursing, fun="managed", name=path, args=part)
        kind = sources.kind_of(chunk)
        if kind == "file":
            yield structs.replace(chunk, args={**part, "mode": args.get("file_mode")})
        elif kind == "folder" and "exclude_pat" not in args:
            yield structs.replace(chunk, fun="directory", args={**part, "mode": args.get("dir_mode")})


def wanted(folder: LowChunk, path: str, *, is_folder: bool) -> Iterator[tuple[str, Any]]:
    """Yield what ``recurse`` of a ``file.directory`` sets of a path: argument and value."""
    args, recurse = folder.args, folder.args.get("recurse")
    inside = _inside(path, plain_path(folder.name))
    if not isinstance(recurse, list) or not inside or ("ignore_dirs" if is_folder else "ignore_files") in recurse:
        return
    depth = args.get("max_depth")
    if isinstance(depth, int) and inside.count("/") >= depth:
        return
    mode = args.get("dir_mode") or args.get("mode")
    for argument, value in (
        ("mode", mode if is_folder else args.get("file_mode") or mode),
        ("user", args.get("user")),
        ("group", args.get("group")),
    ):
        if argument in recurse:
            yield argument, value


def removal(folder: LowChunk, path: str, made: Any, chunks: Sequence[LowChunk], sources: SaltSources) -> str:
    """Return how the state of a folder removes what another one has ``made`` below it; "" if it leaves it there.

    ``clean`` neither requires nor excludes it then.
    """
    args, top = folder.args, plain_path(folder.name)
    if folder.fun == "tidied":
        return _tidied(args, top, path, made)
    if folder.fun == "copy":  # of a folder that may have that path, too
        return PERHAPS if args.get("force") is True and not args.get("subdir") else ""
    if args.get("clean") is not True or _is_excluded(path.removeprefix(f"{top}/"), args):
        return ""
    if folder.fun == "recurse" and (not _LEAVE_OUT.isdisjoint(args) or any(parts(folder, [path], sources))):
        return ""
    required = args.get("require")
    named = {item.get("file") for item in required if isinstance(item, dict)} if isinstance(required, list) else set()
    kept = (chunk.name for chunk in chunks if named and (chunk.name in named or chunk.id in named))
    if any(isinstance(each, str) and _share_a_way(plain_path(each), path) for each in kept):
        return ""
    clears = folder.fun == "directory" and "exclude_pat" not in args and named <= {None}
    return CLEANED if clears or not path.endswith("/*") else PERHAPS


def _tidied(args: dict[str, Any], top: str, path: str, made: Any) -> str:
    """Return how ``file.tidied`` removes a path: where it asks for an age or a size, only a run knows."""
    stays = not args.get("rmdirs") if made == FOLDER else how(made) == LINK and args.get("rmlinks") is False
    paths = [] if stays else [path]
    paths += (each for each in folders_above(path) if args.get("rmdirs") and _inside(each, top))
    names = [each if args.get("full_path_match") else os.path.basename(each) for each in paths]
    matches, exclude = args.get("matches") or ".*", args.get("exclude")
    try:
        taken = any(_begins(each, matches) and not _begins(each, exclude) for each in names)
    except (re.error, TypeError):
        return ""  # the state fails
    only = str(args.get("age_size_only")).lower()
    limits = [args.get(each) for each in ((only,) if only in {"age", "size"} else ("age", "size"))]
    limited = any(limits) if str(args.get("age_size_logical_operator")).upper() == "AND" else all(limits)
    takes_all = how(made) == FILLED and matches in (".*", [".*"]) and not exclude
    return "" if not taken else PERHAPS if limited or (made == THERE and not takes_all) else CLEANED


def _begins(subject: str, patterns: Any) -> bool:
    """Whether a name begins with a match of one of these patterns."""
    listed = patterns if isinstance(patterns, list) else [patterns] if patterns else []
    return any(re.match(each, subject) for each in listed)


def _is_excluded(inside: str, args: dict[str, Any]) -> bool:
    try:
        return not is_included(inside, None, args.get("exclude_pat"))
    except CommandExecutionError:
        return True  # the state fails


def _inside(path: str, folder: str) -> str | None:
    """Return a path relative to the folder that it is in, "" for the folder itself; None if it is elsewhere."""
    if path == folder:
        return ""
    head = folder.removesuffix("/") + "/"
    return path[len(head) :] if path.startswith(head) else None


def _share_a_way(one: str, other: str) -> bool:
    return _inside(one, other) is not None or _inside(other, one) is not None
