"""The known hosts of users: known_hosts.

The files are read and written here and not by ssh-keygen, which follows links in users' folders as root, and fails if
one line is malformed.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from asyncstate.data import edits
from asyncstate.dunders import __salt__

from .. import _user_files  # noqa: TID252 - as `modules` for type checkers
from .entries import Entry, entry
from .lines import fingerprint as _fingerprint

Answer = dict[str, Any]

_PORT = 22
_FOR_ALL = "/etc/ssh/ssh_known_hosts"
_ATTEMPTS = 5
_MISMATCH = "Remote host public keys found but none of their fingerprints match the one you have provided"
_PORT_AND_HASH = "argument port can not be used in conjunction with argument hash_known_hosts"

_changing = threading.Lock()


class _File:
    """One known_hosts file: its path, its owner, and its lines."""

    def __init__(self, config: str | None, user: str | None) -> None:
        """Find and read the file. Raises LookupError, with a message, if the arguments name no file."""
        self.account: Answer | None = None
        self.path = config or (".ssh/known_hosts" if user else _FOR_ALL)
        if user:
            self.account = __salt__["user.info"](user)
            if not self.account and not os.path.isabs(self.path):
                raise LookupError(f"User {user} does not exist")
            self.path = os.path.join((self.account or {}).get("home", ""), self.path)
        elif not os.path.isabs(self.path):
            raise LookupError("Cannot determine absolute path to file.")
        self.account = self.account or None
        text = _user_files.read(self.path)
        self.exists = text is not None
        self.text = text or ""
        self.lines = [line.removesuffix("\n") for line in edits.lines_of(self.text)]

    def about(self, host: str) -> list[tuple[int, Entry]]:
        """Return the entries about a host, with their line indexes."""
        entries = ((place, entry(line)) for place, line in enumerate(self.lines))
        return [(place, each) for place, each in entries if each is not None and each.is_about(host)]

    def write(self, lines: list[str]) -> None:
        """Replace the lines."""
        _user_files.write(self.path, "".join(f"{line}\n" for line in lines), self.account)

    def keep_copy(self) -> str:
        """Keep the old content beside the file; return the path of the copy."""
        path = f"{self.path}.old"
        _user_files.write(path, self.text, self.account)
        return path


def get_known_host_entries(
    user: str | None,
    hostname: str,
    config: str | None = None,
    port: Any = None,
    fingerprint_hash_type: str | None = None,
) -> Any:
    """Return ``hostname``, ``enc``, ``key`` and ``fingerprint`` of each known key of a host, None without any.

    Returns a dict with ``error`` if the arguments name no file.
    """
    try:
        found = _File(config, user).about(_name(hostname, port))
    except LookupError as error:
        return _failure(error)
    entries = [each for _, each in found if not each.marker and not each.rest]
    return _described(entries, fingerprint_hash_type) or None


def recv_known_host_entries(
    hostname: str,
    enc: str | None = None,
    port: Any = None,
    hash_known_hosts: bool = True,
    timeout: Any = 5,
    fingerprint_hash_type: str | None = None,
) -> Any:
    """Query a host for its keys, by ssh-keyscan; return what `get_known_host_entries` does."""
    if hostname.startswith("-"):
        return None
    command = ["ssh-keyscan", *(["-p", str(port)] if port else []), *(["-t", enc] if enc else [])]
    command += [*(["-H"] if hash_known_hosts else []), "-T", str(timeout), hostname]
    answer = ""
    for _ in range(_ATTEMPTS):
        answer = __salt__["cmd.run"](command, python_shell=False)
        if answer:
            break
    entries = [each for each in map(entry, answer.splitlines()) if each is not None and not each.rest]
    return _described(entries, fingerprint_hash_type) or None


def check_known_host(
    user: str | None = None,
    hostname: str | None = None,
    key: str | None = None,
    fingerprint: str | None = None,
    config: str | None = None,
    port: Any = None,
    fingerprint_hash_type: str | None = None,
) -> Any:
    """Return what has to be done so that a host is known by this key or fingerprint: "add", "update" or "exists"."""
    if not hostname:
        return _failure("hostname argument required")
    known = get_known_host_entries(user, hostname, config, port, fingerprint_hash_type)
    if isinstance(known, dict):
        return known
    if not known:
        return "add"
    for wanted, kind in ((key, "key"), (fingerprint, "fingerprint")):
        if wanted:
            return "exists" if wanted in [each[kind] for each in known] else "update"
    return "exists"


def set_known_host(
    user: str | None = None,
    hostname: str | None = None,
    fingerprint: str | None = None,
    key: str | None = None,
    port: Any = None,
    enc: str | None = None,
    config: str | None = None,
    hash_known_hosts: bool = True,
    timeout: Any = 5,
    fingerprint_hash_type: str | None = None,
) -> Answer:
    """Make a host known by ``key``, or by the keys it presents, one of which must have this ``fingerprint``.

    Returns ``status``: "exists" with ``keys``, "updated" with ``old`` and ``new``, or "error" with ``error``. Existing
    keys of the same type, or of any type without ``enc``, are replaced.
    """
    if not hostname:
        return _failure("hostname argument required")
    for word in (hostname, enc, key):
        if word and len(word.split()) != 1:
            return _failure(f"{word!r} cannot stand in known_hosts: it is more than one word")
    if key and _fingerprint(key) is None:  # it would not be found again, and be added in every run
        return _failure(f"{key!r} is no public key: it is not base64")
    if port is not None and port != _PORT and hash_known_hosts:
        return _failure(_PORT_AND_HASH)
    known = get_known_host_entries(user, hostname, config, port, fingerprint_hash_type)
    if isinstance(known, dict):
        return known
    keys = [each["key"] for each in known or [] if enc is None or each["enc"] == enc]
    to_check = bool(known) and not key and not fingerprint
    if known and not to_check and _serves(known, keys, key, fingerprint):
        return {"status": "exists", "keys": keys}
    new = [{"hostname": hostname, "enc": enc, "key": key}]
    if not key:
        new = recv_known_host_entries(hostname, enc, port, hash_known_hosts, timeout, fingerprint_hash_type)
        if not new:
            return _failure("Unable to receive remote host keys")
        if fingerprint and fingerprint not in [each["fingerprint"] for each in new]:
            return _failure(_MISMATCH)
        if to_check and {each["key"] for each in new} == set(keys):
            return {"status": "exists", "keys": keys}
    with _changing:  # after the host was queried, so that no thread waits for the network
        return _store(user, hostname, port, enc, config, new, known, hash_all=bool(key) and hash_known_hosts)


def rm_known_host(
    user: str | None = None, hostname: str | None = None, config: str | None = None, port: Any = None
) -> Answer:
    """Remove a host: ``status`` "removed", with ssh-keygen's message as ``comment``, or "error".

    The old file stays beside the new one, with ``.old`` at the end of its name.
    """
    if not hostname:
        return _failure("hostname argument required")
    name = _name(hostname, port)
    with _changing:
        try:
            file = _File(config, user)
        except LookupError as error:
            return _failure(error)
        if not file.exists:
            return _failure(f"Known hosts file {file.path} does not exist")
        places = [place for place, each in file.about(name) if not each.marker]
        if not places:
            return {"status": "removed", "comment": f"Host {name} not found in {file.path}"}
        copy = file.keep_copy()
        file.write([line for place, line in enumerate(file.lines) if place not in places])
    found = [f"# Host {name} found: line {place + 1}" for place in places]
    comment = [*found, f"{file.path} updated.", f"Original contents retained as {copy}"]
    return {"status": "removed", "comment": "\n".join(comment)}


def hash_known_hosts(user: str | None = None, config: str | None = None) -> Answer:
    """Hash the names in a known_hosts, so that the file does not reveal the hosts."""
    with _changing:
        try:
            file = _File(config, user)
        except LookupError as error:
            return _failure(error)
        if not file.exists:
            return _failure(f"Known hosts file {file.path} does not exist")
        copy = file.keep_copy()
        file.write(_hashed(file.lines))
    return {"status": "updated", "comment": f"{file.path} updated.\nOriginal contents retained as {copy}"}


def _serves(known: list[Answer], keys: list[str], key: str | None, fingerprint: str | None) -> bool:
    if fingerprint and fingerprint not in [each["fingerprint"] for each in known]:
        return False
    return not key or key in keys


def _store(
    user: str | None,
    hostname: str,
    port: Any,
    enc: str | None,
    config: str | None,
    new: list[Answer],
    old: Any,
    *,
    hash_all: bool,
) -> Answer:
    try:
        file = _File(config, user)
    except LookupError as error:
        return _failure(error)
    outdated = {
        place
        for place, each in file.about(_name(hostname, port))
        if not each.marker and (enc is None or each.enc == enc)
    }
    lines = [line for place, line in enumerate(file.lines) if place not in outdated]
    for each in new:
        host = each["hostname"]
        if port not in (_PORT, None) and ":" not in host and not host.startswith("|"):
            each["port"] = port
            host = f"[{host}]:{port}"
        lines.append(f"{host} {each['enc']} {each['key']}")
    file.write(_hashed(lines) if hash_all else lines)
    return {"status": "updated", "old": old, "new": new}


def _hashed(lines: list[str]) -> list[str]:
    hashed = []
    for line in lines:
        known = entry(line)
        hashed += known.hashed() if known is not None else [line]
    return hashed


def _described(entries: list[Entry], hash_type: str | None) -> list[Answer]:
    found = []
    for each in entries:
        print_ = _fingerprint(each.key, hash_type)
        if print_:
            found.append({"hostname": each.names, "key": each.key, "enc": each.enc, "fingerprint": print_})
    return found


def _name(hostname: str, port: Any) -> str:
    return hostname if not port or port == _PORT else f"[{hostname}]:{port}"


def _failure(error: object) -> Answer:
    return {"status": "error", "error": str(error)}
