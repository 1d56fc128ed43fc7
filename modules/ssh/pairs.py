"""Key pairs of this host and of users."""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

from .. import _user_files  # noqa: TID252 - as `modules` for type checkers

_HOST_KEY = re.compile(r"ssh_host_(?P<type>.+?)_key(?P<public>(?P<certificate>-cert)?\.pub)?$")
_KINDS = ("rsa", "dsa", "ecdsa", "ed25519")
_OPENSSH_MAGIC = b"openssh-key-v1\0"


def host_keys(keydir: str | None = None, private: bool = True, certs: bool = True) -> dict[str, str]:
    """Return the keys of this host by type, ``rsa`` and ``rsa.pub``; "" for one that cannot be read."""
    folder = keydir or "/etc/ssh"
    found = {}
    try:
        names = sorted(filesystem.listdir(folder))
    except OSError as error:
        raise CommandExecutionError(f"Cannot read {folder}: {error.strerror}") from error
    for name in names:
        match = _HOST_KEY.match(name)
        if match and (private or match["public"]) and (certs or not match["certificate"]):
            found[match["type"] + (match["public"] or "")] = _text(os.path.join(folder, name))
    return found


def user_keys(user: Any = None, pubfile: Any = None, prvfile: Any = None) -> dict[str, dict[str, str]]:
    """Return the keys of users in ``~/.ssh``, ``{user: {"id_rsa.pub": text}}``; those without any are left out.

    ``pubfile`` or ``prvfile`` names the file to read; False reads none of that kind.
    """
    users = user or __salt__["user.list_users"]()
    names = _chosen(pubfile, [f"id_{kind}.pub" for kind in _KINDS]) + _chosen(
        prvfile, [f"id_{kind}" for kind in _KINDS]
    )
    found = {}
    for each in users if isinstance(users, list) else [users]:
        account = __salt__["user.info"](each)
        if "home" not in account:
            continue
        keys = {}
        for name in names:
            text = _own_text(os.path.join(account["home"], ".ssh", name), account)
            if text is not None:
                keys[os.path.basename(name)] = text.strip()
        if keys:
            found[each] = keys
    return found


def key_is_encrypted(key: str) -> bool:
    """Return whether a private key, a path or its text, has a passphrase."""
    text = key if "-----BEGIN" in key else _text(key)
    if "ENCRYPTED" in text:
        return True
    body = "".join(line for line in text.splitlines() if "-----" not in line)
    try:
        raw = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return False
    cipher = raw[len(_OPENSSH_MAGIC) + 4 :]
    return raw.startswith(_OPENSSH_MAGIC) and not cipher.startswith(b"none")


def _chosen(given: Any, default: list[str]) -> list[str]:
    if given:
        return [given]
    return [] if given is False else default


def _own_text(path: str, account: dict[str, Any]) -> str | None:
    try:
        return _user_files.read(path)
    except CommandExecutionError:
        return None


def _text(path: str) -> str:
    try:
        return filesystem.read_bytes(path).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
