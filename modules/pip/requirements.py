"""Requirements in pip's syntax, and the files that list them."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from asyncstate import filesystem, residue
from asyncstate.dunders import __salt__
from asyncstate.errors import InvocationError

from .versions import SpecList, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lzma")
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"\(?(?P<specs>[^;)]*)\)?\s*(?:;.*)?"
)
_AT_URL = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*@\s*\S+://\S+")
_SPEC = re.compile(r"\s*(~=|===|==|!=|<=|>=|<|>)\s*(\S+)\s*")
_INCLUDED = re.compile(r"(?:-r|--requirement|-c|--constraint)(?:\s+|=)\s*(\S+)")
_COMMENT = re.compile(r"(^|\s)#.*", re.MULTILINE)
_LINE_OPTIONS = re.compile(r"\s--[a-z].*")
_EDITABLE = re.compile(r"(?:-e|--editable)(?:\s+|=)\s*(?=\S)")


class Requirement(NamedTuple):
    """A package: its normalized ``name`` ("" if only fetching shows it) and ``specs``, ``[(operator, version), …]``."""

    name: str
    specs: SpecList


def normalize(name: str) -> str:
    """Return the normalized form of a package's name: ``Foo.Bar_x`` is ``foo-bar-x``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str) -> Requirement:
    """Return the requirement of a line such as ``name[extra]>=1,<2``, a path or a URL. InvocationError if invalid."""
    plain = text.strip()
    named = _AT_URL.match(plain)
    if named:
        return Requirement(normalize(named[1]), [])
    if "://" in plain:
        return _of_url(plain)
    if plain.startswith(".") or os.sep in plain or plain.lower().endswith(_ARCHIVES):
        return _of_file(plain)
    match = _REQUIREMENT.fullmatch(plain)
    specs = _specs(match["specs"] or "") if match else []
    if match is None or specs is None:
        if "=" in plain and "==" not in plain:
            raise InvocationError(
                f"Invalid version specification in package {text}. '=' is not supported, use '==' instead."
            )
        raise InvocationError(f"pip raised an exception while parsing '{text}': Invalid requirement: {text!r}")
    return Requirement(normalize(match["name"]), specs)


@contextmanager
def requirement_files(requirements: Any, user: str | None, saltenv: str) -> Iterator[list[str]]:
    """Yield the paths of requirements files; those of the tree (``salt://``) are copied so that ``user`` can read them.

    InvocationError for one that is not in the tree.
    """
    names = [name.strip() for name in requirements.split(",")] if isinstance(requirements, str) else requirements
    if not isinstance(names, (list, tuple)):
        raise InvocationError("requirements must be a string or list")
    folders: list[str] = []
    try:
        paths = []
        for name in names:
            path = str(name)
            if path.startswith("salt://"):
                path = __salt__["cp.cache_file"](path, saltenv)
                if not path:
                    raise InvocationError(f"pip requirements file '{name}' not found")
                if user:
                    folders.append(residue.make_temporary_folder(prefix="asyncstate-pip-"))
                    path = _copied(path, folders[-1], int(__salt__["file.user_to_uid"](user)))
            paths.append(path)
        yield paths
    finally:
        for folder in folders:
            shutil.rmtree(folder)


def lines_of(path: str) -> list[str]:
    """Return the requirements of a file and of those it includes, without options; editable ones as paths or URLs.

    Of constraints, only those that make pip fetch something are requirements. Raises InvocationError.
    """
    return [
        _LINE_OPTIONS.sub("", line)
        for file in _with_included(path)
        for line in file.lines
        if not line.startswith("-") and (not file.constrains or "/" in line)
    ]


class _File(NamedTuple):
    """A requirements file, and its ``lines`` without comments and the files of this machine that it includes.

    Editable requirements, and included files elsewhere, are paths or URLs. One that ``constrains`` installs nothing.
    """

    path: str
    content: bytes
    lines: list[str]
    constrains: bool


def _with_included(path: str) -> Iterator[_File]:
    """Yield a requirements file and those of this machine that it includes, each once. Raises InvocationError."""
    found, waiting = {path}, [(path, False)]
    while waiting:
        source, constrains = waiting.pop()
        try:
            content = filesystem.read_bytes(source)
            text = _COMMENT.sub("", content.decode().replace("\\\n", ""))
        except (OSError, UnicodeDecodeError) as error:
            raise InvocationError(f"Could not open requirements file: {error}") from error
        lines = []
        for line in filter(None, map(str.strip, text.splitlines())):
            included = _INCLUDED.match(line)
            if included is None:
                lines.append(_EDITABLE.sub("", line, count=1))
            elif "://" in included[1]:
                lines.append(included[1])
            else:
                file = os.path.normpath(os.path.join(os.path.dirname(source), included[1]))
                waiting += [] if file in found else [(file, constrains or line.startswith(("-c", "--c")))]
                found.add(file)
        yield _File(source, content, lines, constrains)


def _copied(path: str, folder: str, owner: int) -> str:
    """Copy a requirements file and those it includes into a folder, which is given to its user only afterwards.

    Until then, the user cannot put a link into it that root would write through.
    """
    files = list(_with_included(path))
    above = os.path.commonpath([os.path.dirname(file.path) for file in files])
    for file in files:
        copy = os.path.join(folder, os.path.relpath(file.path, above))
        os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
        filesystem.replace_content(copy, file.content, access=filesystem.Access(owner, -1, 0o600))
    for made, _, _ in os.walk(folder, topdown=False):
        os.chown(made, owner, -1)
    return os.path.join(folder, os.path.relpath(path, above))


def _of_url(text: str) -> Requirement:
    parts = urlsplit(text)
    egg = parse_qs(parts.fragment).get("egg")
    if egg:
        return requirement(egg[0])
    if "+" in parts.scheme:
        return Requirement("", [])
    return _of_archive(unquote(parts.path))


def _of_file(text: str) -> Requirement:
    path = re.sub(r"\[[^\]]*\]$", "", text)
    if path.lower().endswith(_ARCHIVES) or filesystem.is_directory(path):
        return _of_archive(path)
    raise InvocationError(
        f"pip raised an exception while parsing '{text}': Invalid requirement: {text!r}: Expected package name at the "
        "start of dependency specifier"
    )


def _of_archive(path: str) -> Requirement:
    """Return the requirement in the name of a wheel; any other archive would have to be opened."""
    parts = os.path.basename(path).removesuffix(".whl").split("-")
    if path.endswith(".whl") and len(parts) >= 5:
        return Requirement(normalize(parts[0]), [("==", parts[1])])
    return Requirement("", [])


def _specs(text: str) -> SpecList | None:
    if not text.strip():
        return []
    found = []
    for part in text.split(","):
        match = _SPEC.fullmatch(part)
        if match is None or (match[1] != "===" and parsed(match[2].removesuffix(".*")) is None):
            return None
        found.append((match[1], match[2]))
    return found
