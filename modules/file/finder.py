"""``file.find``: files by name, type, size, age, owner, content."""

from __future__ import annotations

import glob
import grp
import logging
import os
import pwd
import re
import shlex
import stat
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate import filesystem
from asyncstate.dunders import __salt__, check_cancelled

from .accounts import gid_to_group, uid_to_user
from .diffs import decode
from .hashes import get_hash
from .paths import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

log = logging.getLogger(__name__)

_TYPES = {
    "b": stat.S_IFBLK,
    "c": stat.S_IFCHR,
    "d": stat.S_IFDIR,
    "f": stat.S_IFREG,
    "l": stat.S_IFLNK,
    "p": stat.S_IFIFO,
    "s": stat.S_IFSOCK,
}
_LETTERS = {kind: letter for letter, kind in _TYPES.items()}
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_INTERVAL = re.compile(
    r"\s*(?P<sign>[+-]?)\s*(?:(?P<w>\d+(?:\.\d*)?)\s*[wW])?\s*(?:(?P<d>\d+(?:\.\d*)?)\s*[dD])?\s*"
    r"(?:(?P<h>\d+(?:\.\d*)?)\s*[hH])?\s*(?:(?P<m>\d+(?:\.\d*)?)\s*[mM])?\s*(?:(?P<s>\d+(?:\.\d*)?)\s*[sS])?\s*$"
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class _Entry(NamedTuple):
    path: str
    name: str
    found: os.stat_result


def find(path: str, *args: str, **kwargs: Any) -> Any:
    """Return the paths at and below the glob ``path`` that pass every test, sorted.

    Tests: ``name``, ``iname`` (globs), ``regex``, ``iregex`` (on the base name), ``type`` (letters of b c d f l p s),
    ``owner``, ``group``, ``size`` (``+1k``, ``-2m``, ``5b``), ``mtime`` (``3d``, ``-1w``), ``grep``; ``mindepth`` and
    ``maxdepth``. Actions: ``print`` (path, name, size, type, mode, mtime, user, group, md5), ``delete`` (type letters,
    or a for all), ``exec`` (a command with ``{}``); ``test: True`` deletes nothing. For a wrong argument, returns
    the text ``error: …``.
    """
    options = {key: value for key, value in kwargs.items() if not key.startswith("_")}
    if "delete" in args:
        options["delete"] = "f"
    elif "print" in args:
        options["print"] = "path"
    try:
        search = _Search(options)
    except ValueError as error:
        return f"error: {error}"
    return sorted(item for start in glob.glob(expand(path)) for item in search.run(start))


class _Search:
    def __init__(self, options: dict[str, Any]) -> None:
        self.mindepth = int(options.pop("mindepth", 0))
        depth = options.pop("maxdepth", None)
        self.maxdepth = None if depth is None else int(depth)
        self.dry_run = bool(options.pop("test", False))
        self.tests: list[Callable[[_Entry], bool]] = []
        self.actions: list[Callable[[_Entry], Any]] = []
        for key, value in options.items():
            if not value:
                raise ValueError(f'missing value for "{key}" option')
            if key not in _OPTIONS:
                raise ValueError(f'invalid option "{key}"')
            _OPTIONS[key](self, key, str(value))
        if not self.actions:
            _print(self, "print", "path")

    def run(self, start: str) -> Iterator[Any]:
        if self.mindepth < 1:
            yield from self._visit(start)
        if filesystem.is_directory(start):
            yield from self._walk(start)

    def _walk(self, start: str) -> Iterator[Any]:
        base = start.rstrip("/").count("/")
        for folder, folders, files in filesystem.walk(start):
            check_cancelled()
            depth = folder.rstrip("/").count("/") - base + 1
            if self.maxdepth is not None and depth > self.maxdepth:
                folders.clear()
                continue
            if depth >= self.mindepth:
                for name in folders + files:
                    yield from self._visit(os.path.join(folder, name))

    def _visit(self, path: str) -> Iterator[Any]:
        try:
            found = filesystem.stat(path)
        except OSError:
            try:
                found = filesystem.lstat(path)
            except OSError:
                return
        entry = _Entry(path, os.path.basename(path), found)
        if all(test(entry) for test in self.tests):
            for action in self.actions:
                result = action(entry)
                if result is not None:
                    yield result


def _glob_test(search: _Search, key: str, value: str) -> None:
    pattern = re.compile(
        value.replace(".", "\\.").replace("?", ".?").replace("*", ".*") + "$",
        re.IGNORECASE if key == "iname" else 0,
    )
    search.tests.append(lambda entry: pattern.match(entry.name) is not None)


def _compile(value: str, flags: int = 0) -> re.Pattern[str]:
    try:
        return re.compile(value, flags)
    except re.error as error:
        raise ValueError(f'invalid regular expression: "{value}"') from error


def _regex_test(search: _Search, key: str, value: str) -> None:
    pattern = _compile(value, re.IGNORECASE if key == "iregex" else 0)
    search.tests.append(lambda entry: pattern.match(entry.name) is not None)


def _kinds(value: str) -> set[int]:
    letters = "".join(value.replace(",", "").split())
    for letter in letters:
        if letter not in _TYPES:
            raise ValueError(f'invalid file type "{letter}"')
    return {_TYPES[letter] for letter in letters}


def _type_test(search: _Search, key: str, value: str) -> None:
    kinds = _kinds(value)
    # links are followed, so that ``l`` finds only broken links, as in Salt
    search.tests.append(lambda entry: stat.S_IFMT(entry.found.st_mode) in kinds)


def _owner_test(search: _Search, key: str, value: str) -> None:
    uids = set()
    for name in value.replace(",", " ").split():
        try:
            uids.add(int(name) if name.isdigit() else pwd.getpwnam(name).pw_uid)
        except KeyError as error:
            raise ValueError(f'no such user "{name}"') from error
    search.tests.append(lambda entry: entry.found.st_uid in uids)


def _group_test(search: _Search, key: str, value: str) -> None:
    gids = set()
    for name in value.replace(",", " ").split():
        try:
            gids.add(int(name) if name.isdigit() else grp.getgrnam(name).gr_gid)
        except KeyError as error:
            raise ValueError(f'no such group "{name}"') from error
    search.tests.append(lambda entry: entry.found.st_gid in gids)


def _size_test(search: _Search, key: str, value: str) -> None:
    text = value.strip()
    sign = text[:1] if text[:1] in "+-" else ""
    number = text[len(sign) :]
    unit = _UNITS.get(number[-1:].lower(), 0)
    if unit:
        number = number[:-1].strip()
    try:
        size = int(float(number) * (unit or 1))
    except ValueError as error:
        raise ValueError(f'invalid size: "{value}"') from error
    low = 0 if sign == "-" else size
    high = {"-": size, "+": sys.maxsize}.get(sign, size + (unit or 1) - 1)
    search.tests.append(lambda entry: low <= entry.found.st_size <= high)


def _mtime_test(search: _Search, key: str, value: str) -> None:
    match = _INTERVAL.match(value)
    if match is None:
        raise ValueError(f"invalid time interval: '{value}'")
    given = {unit: float(match[unit]) for unit in _SECONDS if match[unit] is not None}
    if not given:
        raise ValueError(f"invalid time interval: '{value}'")
    resolution = _SECONDS[next(iter(given))]
    seconds = sum(number * _SECONDS[unit] for unit, number in given.items())
    moment = time.time() - int(seconds / resolution) * resolution
    younger = match["sign"] == "-"
    search.tests.append(
        lambda entry: entry.found.st_mtime >= moment if younger else int(entry.found.st_mtime) <= moment
    )


def _grep_test(search: _Search, key: str, value: str) -> None:
    pattern = _compile(value)

    def test(entry: _Entry) -> bool:
        if not stat.S_ISREG(entry.found.st_mode):
            return False
        return pattern.search(decode(filesystem.read_bytes(entry.path))) is not None

    search.tests.append(test)


_PRINTED: dict[str, Callable[[_Entry], Any]] = {
    "path": lambda entry: entry.path,
    "name": lambda entry: os.path.basename(entry.path),
    "size": lambda entry: entry.found.st_size,
    "type": lambda entry: _LETTERS.get(stat.S_IFMT(entry.found.st_mode), "?"),
    "mode": lambda entry: entry.found.st_mode & 0o777,
    "mtime": lambda entry: int(entry.found.st_mtime),
    "user": lambda entry: uid_to_user(entry.found.st_uid),
    "group": lambda entry: gid_to_group(entry.found.st_gid),
    "md5": lambda entry: get_hash(entry.path, "md5") if stat.S_ISREG(entry.found.st_mode) else "",
}


def _print(search: _Search, key: str, value: str) -> None:
    wanted = [_PRINTED[part] for part in value.replace(",", " ").split() if part in _PRINTED] or [_PRINTED["path"]]

    def action(entry: _Entry) -> Any:
        values = [show(entry) for show in wanted]
        return values[0] if len(values) == 1 else values

    search.actions.append(action)


def _delete(search: _Search, key: str, value: str) -> None:
    kinds = set(_LETTERS) if "a" in value else _kinds(value)

    def test(entry: _Entry) -> bool:
        return stat.S_IFMT(filesystem.lstat(entry.path).st_mode) in kinds

    def action(entry: _Entry) -> str | None:
        path = entry.path
        if not search.dry_run:
            try:
                if filesystem.is_plain_directory(path):
                    filesystem.remove_tree(path)
                else:
                    filesystem.remove(path)
            except OSError as error:
                log.warning("Could not remove '%s': %s", path, error)
                return None
        return path

    search.tests.append(test)
    search.actions.append(action)


def _exec(search: _Search, key: str, value: str) -> None:
    def action(entry: _Entry) -> str:
        command = [part.replace("{}", entry.path) for part in shlex.split(value)]
        answer = __salt__["cmd.run_all"](command, python_shell=False, rstrip=False)
        return f"{value.replace('{}', entry.path)}:\n{answer['stdout']}\n"

    search.actions.append(action)


_OPTIONS: dict[str, Callable[[_Search, str, str], None]] = {
    "name": _glob_test,
    "iname": _glob_test,
    "regex": _regex_test,
    "iregex": _regex_test,
    "type": _type_test,
    "owner": _owner_test,
    "group": _group_test,
    "size": _size_test,
    "mtime": _mtime_test,
    "grep": _grep_test,
    "print": _print,
    "delete": _delete,
    "exec": _exec,
}
