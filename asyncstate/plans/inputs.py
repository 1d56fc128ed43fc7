"""Digests of the inputs that a plan is compiled from, and their key.

A record reveals only whether a secret has changed. With a plain digest, any reader of the record could try all
likely secrets; so the digests are keyed with random bytes that stay on this machine, in ``state_dir``, private.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import msgspec

from asyncstate import filesystem
from asyncstate._version import __version__
from asyncstate.data.urls import salt_url
from asyncstate.errors import AsyncStateError, PlanError
from asyncstate.filesystem import Replacement
from asyncstate.model.encode import CUT, DEEPEST, SORTED, encoded, plain, utf8
from asyncstate.pattern import lazy_pattern
from asyncstate.plans.record import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_NAME: Final = "plan.key"
_BYTES: Final = 32
_DIGEST_BYTES: Final = 16
_REMOVE: Final = "Remove the file: the next plan makes a new key, and plans made before can no longer be applied"
MARK: Final = b"!"
"""The prefix of the bytes of a value that has no form in JSON."""


class Key:
    """Makes digests against which a guess can only be checked with the key. Equal values have equal digests."""

    __slots__ = ("_hash", "name")

    def __init__(self, secret: bytes) -> None:
        self._hash = blake2b(key=secret, digest_size=_DIGEST_BYTES)
        self.name: str = self.bytes(b"the name of the key")
        """Names the key: digests of two keys cannot be compared."""

    @classmethod
    def of(cls, state_dir: str, *, make: bool = True) -> Key:
        """Return the key of ``state_dir``, made if missing.

        Raises PlanError if it cannot be read or made. Without ``make`` a key that is missing, or that this user may
        not read, is replaced by one that is used once: its digests can be compared with no others.
        """
        path = os.path.join(state_dir, _NAME)
        if not make:
            try:
                return cls(_read(path))
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                return cls(os.urandom(_BYTES))
        try:
            try:
                return cls(_read(path))
            except FileNotFoundError:
                _make(state_dir, path)
                return cls(_read(path))
        except (OSError, AsyncStateError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise PlanError(f"the key for the digests of plans, {path}: {said}") from None

    def bytes(self, data: bytes) -> str:
        """Return the digest of bytes."""
        digest = self._hash.copy()
        digest.update(data)
        return digest.hexdigest()

    def of_value(self, *parts: object) -> str:
        """Return the digest of plain data of any kind; ``1``, ``"1"`` and ``True`` differ."""
        return self.bytes(canonical(list(parts)))


def canonical(value: object) -> bytes:
    """Return the bytes of a value: the same for equal values, at any order of keys in mappings.

    Values that JSON has no form for, or whose form another value shares (dates, keys that are numbers), are written
    with their types.
    """
    try:
        data = encoded(value, SORTED)
        if msgspec.json.decode(data) == value:
            return data
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return MARK + encoded(_typed(value))


def _read(path: str) -> bytes:
    with filesystem.open_read(path) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        data = file.read(_BYTES + 1)
    if mode & 0o077:
        raise PlanError(f"others may read the file (mode {mode:04o}). {_REMOVE}")
    if len(data) != _BYTES:
        raise PlanError(f"the file holds no key. {_REMOVE}")
    return data


def _make(state_dir: str, path: str) -> None:
    """Make a key. If two programs do so at once, both use the first one that gets the file name."""
    filesystem.makedirs(state_dir, 0o700)
    with Replacement(path, 0o600) as new:
        new.write(os.urandom(_BYTES))
        os.fsync(new.fd)
        temporary = new.keep()
    try:
        with suppress(FileExistsError):
            filesystem.link(temporary, path)
    finally:
        filesystem.remove(temporary)


def _typed(value: object, depth: int = 0) -> object:
    """Return plain data that holds the type of each value."""
    kind = type(value)
    if depth > DEEPEST:
        return CUT
    if isinstance(value, Mapping):
        pairs = [[_typed(key, depth + 1), _typed(item, depth + 1)] for key, item in value.items()]
        return ["mapping", sorted(pairs, key=repr)]
    if isinstance(value, (list, tuple)):
        return [kind.__name__, [_typed(item, depth + 1) for item in value]]
    return [kind.__name__, plain(value)]


OF_THE_MOMENT: Final = frozenset(
    """cwd pid path ps shell pythonpath systempath pythonexecutable locale_info mem_total swap_total disks ssds dns
    ip_interfaces ip4_interfaces ip6_interfaces ipv4 ipv6 fqdns fqdn_ip4 fqdn_ip6 hwaddr_interfaces ip_gw ip4_gw
    ip6_gw""".split()
)
"""Grains of this process, its network and its disks: they change from one hour to the next, and runs change them. If
one of them affects the compilation, the states differ."""

DECIDING: Final = (
    "disabled_requisites duplicate_ids failhard global_state_conditions implicit_order jinja_env jinja_sls_env lanes "
    "nodegroups pillarenv providers renderer saltenv state_aggregate state_auto_order state_top "
    "state_top_saltenv top_file_merging_strategy"
).split()
"""The options that affect a run."""

_IMPORTED: Final = lazy_pattern(rb"""\{%[-+]?\s*(?:import|include|from|extends)\s+["']([^"'\n]+)["']""")
_LARGE: Final = 1 << 20
"""The size above which a file is no template, and is read once."""


def inputs_of(
    key: Key,
    *,
    files: Mapping[str, str],
    plugins: Mapping[str, str],
    roots: Mapping[str, Sequence[str]],
    pillar: Mapping[str, Any],
    grains: Mapping[str, Any],
    opts: Mapping[str, Any],
) -> Inputs:
    """Return the digests of the inputs that a plan was compiled from.

    ``files`` are the tree's files, ``plugins`` the files of its plugins, each with the sha256 of its content.
    ``roots`` are the folders of each environment: a file below one is called ``salt://…``.
    """
    return Inputs(
        files=digests_of(key, files, roots),
        pillar={str(name): key.of_value("pillar", name, value) for name, value in pillar.items()},
        grains={
            str(name): key.of_value("grain", name, value) for name, value in grains.items() if name not in OF_THE_MOMENT
        },
        plugins={
            "asyncstate": key.of_value("asyncstate", __version__),
            **digests_of(key, plugins, roots),
        },
        options={name: key.of_value("option", name, opts.get(name)) for name in DECIDING},
    )


def digests_of(key: Key, contents: Mapping[str, str], roots: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the digest of each content, by the name of its file in the tree."""
    return {name_in_tree(path, roots): key.of_value("content", content) for path, content in sorted(contents.items())}


def contents_of(files: Mapping[str, str], roots: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the sha256 of files of the tree, and of those that the templates among them import; "" for none.

    ``files`` are paths, each with the sha256 of the content read, "" if it is to be read now.
    """
    return {path: known or content_of(path) for path, known in _with_imports(files, roots).items()}


def contents_of_plugins(folders: Iterable[str]) -> dict[str, str]:
    """Return the sha256 of the plugin files in folders, by path."""
    return {path: content_of(path) for folder in folders for path in _plugins(folder)}


def _with_imports(files: Mapping[str, str], roots: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the files, and those that the templates among them import when a state renders them.

    Imports of SLS files are among the files: the compiler has read them.
    """
    found = dict(files)
    waiting = [path for path in files if not path.endswith(".sls")]
    for path in waiting:
        for name in _IMPORTED.findall(_start(path)):
            imported = _imported(name.decode(errors="surrogateescape"), path, roots)
            if imported and imported not in found:
                found[imported] = ""
                waiting.append(imported)
    return found


def _imported(name: str, path: str, roots: Mapping[str, Sequence[str]]) -> str:
    """Return the file that a template imports, "" if there is none."""
    if name.startswith(("./", "../")):
        folders = [os.path.dirname(path)]
    else:
        near = [
            folders for folders in roots.values() if any(path.startswith(f"{each.rstrip('/')}/") for each in folders)
        ]
        folders = [folder for each in near or roots.values() for folder in each]
    for folder in folders:
        candidate = os.path.normpath(os.path.join(folder, name))
        try:
            if filesystem.is_file(candidate):
                return candidate
        except (OSError, AsyncStateError, ValueError):
            continue
    return ""


def _start(path: str) -> bytes:
    """Return the content of a file that may be a template, else nothing."""
    try:
        content = filesystem.read_bytes(path, _LARGE)
    except (OSError, AsyncStateError):
        return b""
    return content if b"{%" in content else b""


def name_in_tree(path: str, roots: Mapping[str, Sequence[str]]) -> str:
    """Return the URL of a file of the tree; its path if it is in no root."""
    path = utf8(path)
    for env, folders in roots.items():
        for folder in folders:
            if path.startswith(f"{folder.rstrip('/')}/"):
                return salt_url(path[len(folder.rstrip("/")) + 1 :], None if env == "base" else env)
    return path


def content_of(path: str) -> str:
    """Return the sha256 of a file, "" if it cannot be read."""
    try:
        with filesystem.open_read(path) as file:
            found = os.fstat(file.fileno())
            version = filesystem.version_of(found)
            known = _of_large.get(path)
            if known is None or known[0] != version:
                known = version, filesystem.digest(file, "sha256")
                if found.st_size > _LARGE:
                    _of_large[path] = known
            return known[1]
    except (OSError, AsyncStateError):
        return ""


_of_large: Final[dict[str, tuple[tuple[int, ...], str]]] = {}
"""The digests of large files: several records of one run cover the same files."""


def _plugins(folder: str) -> Iterator[str]:
    """Yield the Python files below a folder."""
    for below, folders, names in filesystem.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(below, name) for name in sorted(names) if name.endswith(".py"))
