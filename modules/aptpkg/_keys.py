"""The keys that sign package sources: keyring files in the directories that apt reads."""

from __future__ import annotations

import base64
import binascii
import os
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem, residue
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

if TYPE_CHECKING:
    from collections.abc import Iterator

TRUSTED = "/etc/apt/trusted.gpg.d"
"""Keys in this directory are trusted for every source that names no keyring."""
KEYRINGS = "/etc/apt/keyrings"

_ARMOR = re.compile(rb"-----BEGIN PGP PUBLIC KEY BLOCK-----\r?\n(.*?)\r?\n-----END PGP", re.DOTALL)


def add_repo_key(
    path: str | None = None,
    text: str | None = None,
    keyserver: str | None = None,
    keyid: Any = None,
    saltenv: str = "base",
    aptkey: bool = True,
    keydir: str | None = None,
    keyfile: str | None = None,
) -> bool:
    """Make apt trust a key from ``path`` (any URL), ``text`` or a key server; return True.

    The keyring is ``keyfile`` in ``keydir`` (/etc/apt/keyrings if ``aptkey`` is False, else the directory of the keys
    that are trusted for all sources); its name ends in ``.asc`` or ``.gpg``, depending on its content. Salt's legacy
    ``apt-key`` store is not used.
    """
    folder = keydir or (TRUSTED if aptkey else KEYRINGS)
    if path or text:
        key = given_key(path, text, saltenv)
    elif keyid and keyserver:
        key = _received(str(keyid), keyserver)
    else:
        raise InvocationError("a key needs a path, its text, or a keyid and a keyserver")
    name = keyfile or (os.path.basename(path) if path else "")
    facts = _facts(key, path or "the text")
    if not name.endswith((".gpg", ".asc")):
        name = f"{next(iter(facts.values()))['fingerprint']}.gpg"
    store_key(key, os.path.join(folder, name))
    return True


def given_key(path: str | None, text: str | None, saltenv: str) -> bytes:
    """Return the key at ``path`` (any URL), else ``text``. CommandExecutionError if there is no file."""
    if not path:
        return (text or "").encode()
    cached = __salt__["cp.cache_file"](path, saltenv)
    if not cached:
        raise CommandExecutionError(f"Error: file not found: {path}")
    return filesystem.read_bytes(cached)


def store_key(key: bytes, target: str) -> None:
    """Write ``key`` to the keyring ``target``: unchanged to an ``.asc`` file, else without its armor."""
    key = _for_file(key, target)
    filesystem.makedirs(os.path.dirname(target), 0o755)
    try:
        if filesystem.read_bytes(target) == key:
            return
    except FileNotFoundError:
        pass
    filesystem.replace_content(target, key, access=filesystem.Access(mode=0o644))


def check_key(key: bytes, what: str, target: str, *, described: bool) -> None:
    """Raise the error with which `add_repo_key` (without ``described``, `store_key`) refuses a key for ``target``."""
    if described:
        _facts(key, what)
    _for_file(key, target)


def _facts(key: bytes, what: str) -> dict[str, dict[str, Any]]:
    facts = _described(key)
    if not facts:
        raise CommandExecutionError(f"Error: {what} holds no public key")
    return facts


def _for_file(key: bytes, target: str) -> bytes:
    """Return a key as a keyring of this name has it."""
    if not target.endswith(".asc"):
        return _dearmored(key)
    if not _ARMOR.search(key):
        raise CommandExecutionError(f"Error: {target} must be ASCII-armored, but the key is not")
    return key


def get_repo_keys(aptkey: bool = True, keydir: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the keys apt trusts by key ID (``keyid``, ``fingerprint``, ``uid``, ``file``)."""
    found: dict[str, dict[str, Any]] = {}
    for folder in [keydir] if keydir else [TRUSTED, KEYRINGS]:
        for name in sorted(filesystem.listdir(folder)) if filesystem.is_directory(folder) else []:
            path = os.path.join(folder, name)
            if name.endswith((".gpg", ".asc")):
                described = _described(filesystem.read_bytes(path))
                found.update({keyid: {**facts, "file": path} for keyid, facts in described.items()})
    return found


def del_repo_key(name: str | None = None, aptkey: bool = True, keydir: str | None = None, **kwargs: Any) -> str:
    """Remove the keyring that holds the key ``keyid`` and return that ID. CommandExecutionError if there is none."""
    keyid = kwargs.get("keyid")
    if not keyid:
        raise InvocationError("keyid or keyid_ppa and PPA name must be passed")
    wanted = normalised(keyid)
    for key in get_repo_keys(keydir=keydir).values():
        if str(key["fingerprint"]).endswith(wanted):
            filesystem.remove(key["file"])
            return str(keyid)
    raise CommandExecutionError(f"Failed to remove keyid {keyid}: no keyring holds it")


def normalised(keyid: Any) -> str:
    """Return a key ID as gpg prints it: YAML may have read it as a number."""
    text = f"{keyid:X}" if isinstance(keyid, int) else str(keyid)
    return text.strip().removeprefix("0x").removeprefix("0X").replace(" ", "").upper()


def _described(key: bytes) -> dict[str, dict[str, Any]]:
    with _private_home() as home:
        path = os.path.join(home, "key")
        with open(path, "wb") as file:
            file.write(key)
        listing = _gpg(home, "--show-keys", "--with-colons", path)["stdout"]
    found: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] = {}
    for line in str(listing).splitlines():
        fields = line.split(":")
        if fields[0] == "pub":
            current = found[fields[4]] = {"keyid": fields[4], "fingerprint": "", "uid": ""}
        elif fields[0] == "fpr" and not current.get("fingerprint"):
            current["fingerprint"] = fields[9]
        elif fields[0] == "uid" and not current.get("uid"):
            current["uid"] = fields[9]
    return found


def _received(keyid: str, keyserver: str) -> bytes:
    with _private_home() as home:
        done = _gpg(home, "--keyserver", keyserver, "--recv-keys", "--", keyid)
        if done["retcode"]:
            raise CommandExecutionError(f"Error: key retrieval failed: {done['stderr'] or done['stdout']}")
        path = os.path.join(home, "exported")
        _gpg(home, "--output", path, "--export", "--", keyid)
        with open(path, "rb") as file:
            return file.read()


def _gpg(home: str, *arguments: str) -> dict[str, Any]:
    if not __salt__["cmd.which"]("gpg"):
        raise CommandExecutionError("keys of package sources need the program gpg: install the package gpg")
    command = ["gpg", "--batch", "--homedir", home, *arguments]
    done: dict[str, Any] = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True)
    return done


@contextmanager
def _private_home() -> Iterator[str]:
    """Make a temporary home for gpg, so that nothing is added to root's keyring."""
    path = residue.make_temporary_folder(prefix="asyncstate-gpg-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _dearmored(key: bytes) -> bytes:
    found = _ARMOR.search(key)
    if not found:
        return key
    lines = found[1].replace(b"\r", b"").split(b"\n")
    body = [line.strip() for line in lines if line.strip() and b": " not in line and not line.startswith(b"=")]
    try:
        return base64.b64decode(b"".join(body), validate=True)
    except binascii.Error as error:
        raise CommandExecutionError(f"Error: the armor of the key is damaged: {error}") from error
