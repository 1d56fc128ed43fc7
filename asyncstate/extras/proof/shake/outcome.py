"""The outcome of a run, its rows and its files, and the differences between two runs."""

from __future__ import annotations

import hashlib
import os
import stat
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

IGNORED = (
    "*/__pycache__/*",
    "*.pyc",
    "/dev/*",
    "/etc/*-",
    "/etc/.pwd.lock",
    "/etc/ld.so.cache",
    "/proc/*",
    "/run/*",
    "/sys/*",
    "/tmp/*",  # noqa: S108 - a pattern, not a file
    "/var/cache/*",
    "/var/lib/apt/lists/*",
    "/var/lib/dpkg/*-old",
    "/var/lib/systemd/*",
    "/var/log/*",
    "/var/tmp/*",  # noqa: S108 - as above
)
"""System paths that may differ between two runs. As in a shell's ``case``, ``*`` also matches a slash."""

_BLOCK = 1 << 20


class Entry(msgspec.Struct, frozen=True):
    """A path: its kind, mode and owner, and the digest of its content, or the target of a link. Not its times."""

    kind: str
    mode: int
    user: int
    group: int
    content: str = ""

    @classmethod
    def of(cls, path: str) -> Entry | None:
        """Return the entry of a path, without following links; None if it does not exist."""
        try:
            found = os.lstat(path)
            kind = _KINDS.get(stat.S_IFMT(found.st_mode), "unknown")
            content = ""
            if kind == "link":
                content = os.readlink(path)
            elif kind == "file":
                content = _digest(path)
            elif kind in ("character device", "block device"):
                content = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError:
            content = "not readable"
        return cls(kind, 0 if kind == "link" else stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, content)


_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
}


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def entries(root: str) -> dict[str, Entry]:
    """Return every path at and below a folder, relative to it: ``/`` is the folder itself."""
    return {path: entry for path in paths_below(root) if (entry := Entry.of(root + path)) is not None}


def paths_below(root: str) -> Iterator[str]:
    """Yield every path at and below a folder, with a leading slash; links are not followed."""
    yield "/"
    stack = [""]
    while stack:
        folder = stack.pop()
        with os.scandir(f"{root}{folder}/") as listing:
            found = sorted(listing, key=lambda each: each.name)
        for each in found:
            path = f"{folder}/{each.name}"
            yield path
            if each.is_dir(follow_symlinks=False):
                stack.append(path)


class Outcome(msgspec.Struct, frozen=True):
    """The end of a run: its repeatable rows by tag, changes by path (None: deleted), the reason if it broke off."""

    rows: dict[str, dict[str, Any]]
    paths: dict[str, Entry | None]
    ended: str = ""


class Difference(msgspec.Struct, frozen=True):
    """A difference from the serial run: a row, by its tag, or a path, with both values, ``serial`` and ``found``.

    ``what`` is ``row``, ``path`` or ``run``; ``part`` is the key of the row, or ``content``, ``mode``, ``owner``,
    ``kind``, ``missing``.
    """

    what: str
    name: str
    part: str
    serial: str
    found: str


def differences(
    serial: Outcome, found: Outcome, base: Callable[[str], Entry | None] = lambda _path: None
) -> list[Difference]:
    """Return the differences of a run from the serial one. ``base`` returns a path's entry before both runs."""
    result = []
    if serial.ended != found.ended:
        result.append(Difference("run", "", "end", serial.ended or "complete", found.ended or "complete"))
    for tag in dict.fromkeys((*serial.rows, *found.rows)):
        result += _in_rows(tag, serial.rows.get(tag), found.rows.get(tag))
    for path in sorted({*serial.paths, *found.paths}):
        left, right = (run.paths[path] if path in run.paths else base(path) for run in (serial, found))
        if left != right:
            result.append(Difference("path", path, *_in_entries(left, right)))
    return result


def _in_rows(tag: str, left: dict[str, Any] | None, right: dict[str, Any] | None) -> Iterator[Difference]:
    if left is None or right is None:
        there = {True: "there is one", False: "there is none"}
        yield Difference("row", tag, "missing", there[left is not None], there[right is not None])
        return
    for key in dict.fromkeys((*left, *right)):
        if left.get(key) != right.get(key):
            yield Difference("row", tag, key, _shown(left.get(key)), _shown(right.get(key)))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _in_entries(left: Entry | None, right: Entry | None) -> tuple[str, str, str]:
    """Return the first part in which two entries differ, with both values."""
    if left is None or right is None:
        return "missing", left.kind if left else "nothing", right.kind if right else "nothing"
    if left.kind != right.kind:
        return "kind", left.kind, right.kind
    if left.content != right.content:
        is_link = left.kind == "link"
        was, became = (each.content if is_link else f"sha256 {each.content[:12]}" for each in (left, right))
        return "content", was, became
    if left.mode != right.mode:
        return "mode", f"{left.mode:04o}", f"{right.mode:04o}"
    return "owner", f"{left.user}:{left.group}", f"{right.user}:{right.group}"


class Tolerance:
    """Tolerated differences: paths that match a pattern, and differences between two serial runs."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = patterns
        self._random: set[tuple[str, str, str]] = set()

    def learn(self, between_serial_runs: Iterable[Difference]) -> list[Difference]:
        """Tolerate the differences between two serial runs from now on; return them."""
        found = self.beyond(between_serial_runs)
        self._random.update(map(_key, found))
        return found

    def beyond(self, found: Iterable[Difference]) -> list[Difference]:
        """Return the differences that are not tolerated."""
        return [each for each in found if not self._tolerates(each)]

    def _tolerates(self, found: Difference) -> bool:
        if _key(found) in self._random:
            return True
        return found.what == "path" and any(fnmatchcase(found.name, pattern) for pattern in self._patterns)


def _key(found: Difference) -> tuple[str, str, str]:
    return found.what, found.name, found.part
