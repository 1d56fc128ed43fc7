"""The authorized keys of users: authorized_keys.

The file is read and written by `_user_files`, so that its owner cannot redirect root with links. New keys go to the
end; other lines stay, except empty ones when a key is replaced or removed.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from asyncstate import filesystem
from asyncstate.data import edits
from asyncstate.dunders import __salt__, editing
from asyncstate.errors import CommandExecutionError

from .. import _user_files  # noqa: TID252 - as `modules` for type checkers
from .lines import Key, fingerprint, key_type, parse

_DEFAULT = ".ssh/authorized_keys"


def auth_keys(user: Any = None, config: str = _DEFAULT, fingerprint_hash_type: str | None = None) -> dict[str, Any]:
    """Return ``{key: {"enc", "comment", "options", "fingerprint"}}`` of a user.

    For several users, or all if none is given, the result is by user; those without a file are left out.
    """
    if user and not isinstance(user, list):
        return _keys_of(user, config, fingerprint_hash_type) or {}
    users = user or __salt__["user.list_users"]()
    found = {each: _keys_of(each, config, fingerprint_hash_type) for each in users}
    return {each: keys for each, keys in found.items() if keys is not None}


def check_key(
    user: str,
    key: str,
    enc: str,
    comment: str,
    options: Any,
    config: str = _DEFAULT,
    cache_keys: Any = None,
    fingerprint_hash_type: str | None = None,
) -> str:
    """Return what authorizing a key would need: "add", "update" or, if nothing, "exists"."""
    enc = key_type(enc)
    known = auth_keys(user, config, fingerprint_hash_type).get(key)
    if known is None:
        return "add"
    old = Key(known["enc"], key, known["comment"], known["options"])
    return "exists" if str(old) == str(Key(enc, key, comment, _listed(options))) else "update"


def check_key_file(
    user: str,
    source: str,
    config: str = _DEFAULT,
    saltenv: str = "base",
    fingerprint_hash_type: str | None = None,
) -> dict[str, str]:
    """Return the result of `check_key` for every key in a file of the tree; {} without a file or keys."""
    path = __salt__["cp.cache_file"](source, saltenv)
    keys = _keys_in(path, fingerprint_hash_type) if path else {}
    about: dict[str, Any] = {"config": config, "fingerprint_hash_type": fingerprint_hash_type}
    return {key: check_key(user, key, each.enc, each.comment, each.options, **about) for key, each in keys.items()}


def set_auth_key(
    user: str,
    key: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    options: Any = None,
    config: str = _DEFAULT,
    cache_keys: Any = None,
    fingerprint_hash_type: str | None = None,
) -> str:
    """Authorize a key: "new", "replace", "no change"; "fail" without an account or its home, "Invalid public key"."""
    if len(key.split()) > 1:
        return "invalid"
    enc = key_type(enc)
    account = __salt__["user.info"](user)
    if not account:
        return "fail"
    if not key or fingerprint(key, fingerprint_hash_type) is None:
        return "Invalid public key"
    line = Key(enc, key, comment, _listed(options))
    if "\n" in str(line)[:-1] or "\r" in str(line):
        raise CommandExecutionError(f"The comment or the options of the key {key} have a line break")
    path = _path(account, config)
    with editing(path) as edit:
        status = check_key(user, key, enc, comment, options, config, None, fingerprint_hash_type)
        if status == "exists":
            return "no change"
        text = _user_files.read(path)
        if status == "update":
            _user_files.write(path, _edited(text or "", key, str(line)), account)
            return "replace"
        if path.startswith(account["home"]) and not filesystem.is_directory(account["home"]):
            return "fail"
        old = text or ""
        lines = edits.lines_of(f"{old}{'' if old.endswith(chr(10)) or not old else chr(10)}")
        lines.insert(edit.place(map(_key_of, lines), key), str(line))
        _user_files.write(path, "".join(lines), account)
        if text is None and not filesystem.foretells():
            _relabel(path)
    return "new"


def set_auth_key_from_file(
    user: str,
    source: str,
    config: str = _DEFAULT,
    saltenv: str = "base",
    fingerprint_hash_type: str | None = None,
    **kwargs: Any,
) -> str:
    """Authorize every key of a file of the tree; ``options`` replaces theirs.

    Returns the first of these that `set_auth_key` returned: "fail" (also without any key), "replace", "new", "no
    change".
    """
    about: dict[str, Any] = {"config": config, "fingerprint_hash_type": fingerprint_hash_type}
    done = [
        set_auth_key(user, key, each.enc, each.comment, kwargs.get("options") or each.options, **about)
        for key, each in _keys_in(_fetched(source, saltenv), fingerprint_hash_type).items()
    ]
    return next((word for word in ("fail", "replace", "new") if word in done), "no change") if done else "fail"


def rm_auth_key(user: str, key: str, config: str = _DEFAULT, fingerprint_hash_type: str | None = None) -> str:
    """Remove an authorized key: "Key removed" or "Key not present". Lines that are neither key nor comment go too."""
    account = __salt__["user.info"](user)
    if not account:
        return "Key not present"
    path = _path(account, config)
    with editing(path):
        if key not in auth_keys(user, config, fingerprint_hash_type):
            return "Key not present"
        lines = edits.lines_of(_edited(_user_files.read(path) or "", key, ""))
        kept = [line for line in lines if line.startswith("#") or parse(line) is not None]
        _user_files.write(path, "".join(kept), account)
    return "Key removed"


def rm_auth_key_from_file(
    user: str,
    source: str,
    config: str = _DEFAULT,
    saltenv: str = "base",
    fingerprint_hash_type: str | None = None,
) -> str:
    """Remove all keys in a file of the tree from the authorized keys.

    "Key removed" if one was removed, else "Key not present"; "fail" if the file has no keys.
    """
    keys = _keys_in(_fetched(source, saltenv), fingerprint_hash_type)
    done = {rm_auth_key(user, key, config, fingerprint_hash_type) for key in keys}
    if not done:
        return "fail"
    return "Key removed" if "Key removed" in done else "Key not present"


def _keys_of(user: str, config: str, hash_type: str | None) -> dict[str, Any] | None:
    account = __salt__["user.info"](user)
    try:
        path = _path(account, config) if account else ""
    except CommandExecutionError:
        return None
    text = _user_files.read(path) if path else None
    if text is None:
        return None
    return {
        key: {
            "enc": each.enc,
            "comment": each.comment,
            "options": each.options,
            "fingerprint": fingerprint(key, hash_type),
        }
        for key, each in _parsed(text, hash_type).items()
    }


def _keys_in(path: str, hash_type: str | None) -> dict[str, Key]:
    try:
        return _parsed(filesystem.read_bytes(path).decode("utf-8", "surrogateescape"), hash_type)
    except OSError as error:
        raise CommandExecutionError(f"Problem reading ssh key file {path}") from error


def _parsed(text: str, hash_type: str | None) -> dict[str, Key]:
    keys = (parse(line) for line in edits.lines_of(text))
    return {each.key: each for each in keys if each is not None and fingerprint(each.key, hash_type) is not None}


def _fetched(source: str, saltenv: str) -> str:
    path = __salt__["cp.cache_file"](source, saltenv)
    if not path:
        raise CommandExecutionError("Failed to pull key file from salt file server")
    return str(path)


def _key_of(line: str) -> str | None:
    known = parse(line)
    return None if known is None else known.key


def _edited(text: str, key: str, line: str) -> str:
    """Return the lines of a file, stripped and without empty ones, with ``line`` in place of a key's lines."""
    lines = []
    for old in filter(None, map(str.strip, edits.lines_of(text))):
        known = parse(old)
        lines.append(line if known is not None and known.key == key else f"{old}\n")
    return "".join(lines)


def _path(account: dict[str, Any], config: str) -> str:
    """Return the path of an account's keys: ``%u``, ``%h`` and ``%%`` mean what they mean in sshd_config."""
    tokens = {"%": "%", "u": account["name"], "h": account["home"]}
    parts = []
    characters = iter(config)
    for character in characters:
        if character != "%":
            parts.append(character)
            continue
        token = next(characters, None)
        if token is None:
            raise CommandExecutionError("AuthorizedKeysFile path: Last character can't be escape character")
        if token not in tokens:
            raise CommandExecutionError(f'AuthorizedKeysFile path: unknown token character "%{token}"')
        parts.append(tokens[token])
    return os.path.normpath(os.path.join(account["home"], "".join(parts)))


def _listed(options: Any) -> list[str]:
    return [options] if isinstance(options, str) else [str(each) for each in options or []]


def _relabel(path: str) -> None:
    """Restore the SELinux labels of a new file and its folder, if there is SELinux."""
    if shutil.which("restorecon"):
        __salt__["cmd.run_all"](["restorecon", os.path.dirname(path), path], python_shell=False)
