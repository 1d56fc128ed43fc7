"""The ``ssh_auth`` states: the authorized SSH keys of a user, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate import filesystem
from asyncstate.data.values import parse_key_line
from asyncstate.dunders import Row, __env__, __salt__, changed, entry_of, failed, is_dry_run, make_row, unchanged

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Mapping

_REASONS = {
    "fail": "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?",
    "invalid": "Invalid public ssh key, most likely has spaces or invalid syntax",
}
_REASONS["Invalid public key"] = _REASONS["invalid"]
_SEVERAL = "A key is one line, and this name has several: list keys under names, or give their file as source"


class _Wanted(NamedTuple):
    """One key, as described by the arguments or by the line given as ``name``."""

    name: str
    enc: str
    comment: str
    options: Any


def present(
    name: str,
    user: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    source: str = "",
    options: str | list[str] | None = None,
    config: str = ".ssh/authorized_keys",
    fingerprint_hash_type: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that a key is authorized for ``user``: ``name``, or every key in the file ``source`` of the tree.

    ``name`` is a whole line, with options, type and comment, or the key alone. ``options`` is a list, such as
    ``[no-pty]``, and replaces those in a source. ``config`` is relative to the home directory; ``%h`` is that
    directory and ``%u`` the user's name. ::

        ssh-ed25519 AAAAC3Nz… admin@example:
          ssh_auth.present:
            - user: deploy
    """
    if not source and len(name.strip().splitlines()) > 1:
        return failed(name, _SEVERAL)
    where = {"config": config, "fingerprint_hash_type": fingerprint_hash_type}
    key = _parsed(name, enc, comment, options) if not source else _Wanted(name, enc, comment, options)
    foretold: Row | None = None
    if is_dry_run():
        result, sentence = _predict_present(user, key, source, where)
        foretold = make_row(name, sentence, result=result)
        if result is not None or not filesystem.foretells():
            return foretold
    if not source:
        done = __salt__["ssh.set_auth_key"](
            user, key.name, enc=key.enc, comment=key.comment, options=key.options or [], **where
        )
    elif _fetch(source):
        done = __salt__["ssh.set_auth_key_from_file"](user, source, saltenv=_env(), options=options, **where)
    else:
        done = "no key"
    row = _present_row(name, key.name, user, source, done, where)
    return foretold if foretold is not None and row["result"] is not False else row


def absent(
    name: str,
    user: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    source: str = "",
    options: str | list[str] | None = None,
    config: str = ".ssh/authorized_keys",
    fingerprint_hash_type: str | None = None,
) -> Row:
    """Make sure that the key ``name``, or every key in the file ``source`` of the tree, is not authorized for ``user``.

    ::

        AAAAB3NzaC1yc2E…:
          ssh_auth.absent:
            - user: deploy
    """
    if not source and len(name.strip().splitlines()) > 1:
        return failed(name, _SEVERAL)
    where = {"config": config, "fingerprint_hash_type": fingerprint_hash_type}
    key = _parsed(name, enc, comment, options) if not source else _Wanted(name, enc, comment, options)
    if is_dry_run():
        result, sentence = _predict_absent(user, key, source, where)
        return make_row(name, sentence, result=result)
    done = ""
    if not source:
        done = __salt__["ssh.rm_auth_key"](user, key.name, **where)
    elif _fetch(source):
        done = __salt__["ssh.rm_auth_key_from_file"](user, source, saltenv=_env(), **where)
    return changed(name, done, {key.name: "Removed"}) if done == "Key removed" else unchanged(name, done)


def manage(
    name: str,
    ssh_keys: list[str],
    user: str,
    enc: str = "ssh-rsa",
    comment: str = "",
    source: str = "",
    options: str | list[str] | None = None,
    config: str = ".ssh/authorized_keys",
    fingerprint_hash_type: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that the keys ``ssh_keys``, lines as for `present`, and no others are authorized for ``user``.

    ::

        keys of deploy:
          ssh_auth.manage:
            - user: deploy
            - ssh_keys:
              - ssh-ed25519 AAAAC3Nz… admin@example
    """
    result: bool | None = True
    comments: list[str] = []
    changes: dict[str, Any] = {}
    about: dict[str, Any] = {"enc": enc, "comment": comment, "source": source, "options": options, "config": config}
    about["fingerprint_hash_type"] = fingerprint_hash_type
    known = __salt__["ssh.auth_keys"](user=user, config=config, fingerprint_hash_type=fingerprint_hash_type)
    wanted = {word for line in ssh_keys for word in line.split(" ")}
    for key in known:
        if key in wanted:
            continue
        if is_dry_run():
            comments = [f"{key} Key set for removal"]
            result = None
        else:
            changes[key] = absent(key, user, **about)["comment"]
    for line in ssh_keys:
        one = present(line, user, **about)
        changes.update(one["changes"])
        if not one["changes"]:
            comments.append(one["comment"])
        if not one["result"]:
            result = one["result"]
    return make_row("", "\n".join(comments).strip(), changes, result=result)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a key state: the user's file and its folder; the user, a local source.

    A state that authorizes one key touches only that key. Removing a key also removes lines that are no keys, and
    replacing a key also removes blanks around other lines.
    """
    user = str(low.get("user", ""))
    home = f"~{user}"
    config = str(low.get("config") or ".ssh/authorized_keys").replace("%h", home).replace("%u", user)
    path = os.path.normpath(config if config.startswith(("/", "~")) else f"{home}/{config}")
    reads = [*_resources.accounts(low), *_resources.fetched(low.get("source"))]
    writes = [f"ssh_auth:{user}", f"path:{path}"]
    if low.get("fun") == "present" and not low.get("source") and _is_plain(low):
        key = _parsed(str(low.get("name", "")), "", "", None).name
        writes = [entry_of(each, key) for each in writes]
    footprint = {"reads": reads, "writes": writes}
    if low.get("fun") == "absent":
        return footprint
    return footprint | {"makes": [_resources.folder(_resources.in_home(user, path), "0700", user, f"group of {user}")]}


def _is_plain(low: Mapping[str, Any]) -> bool:
    """Return whether the line of a key is read back unchanged."""
    options = low.get("options") or []
    given = [low.get("name"), low.get("comment"), low.get("enc")]
    texts = [str(each) for each in [*given, *(options if isinstance(options, list) else [options])] if each is not None]
    return all(text.isprintable() and text == text.strip() for text in texts)


def _parsed(name: str, enc: str, comment: str, options: Any) -> _Wanted:
    """Parse a line: ``[options] type key [comment]``, or ``key [comment]``."""
    line = parse_key_line(name)
    return _Wanted(
        line.key, line.enc or enc, line.comment or comment, line.options.split(",") if line.options else options
    )


def _predict_present(user: str, key: _Wanted, source: str, where: dict[str, Any]) -> tuple[bool | None, str]:
    if source:
        found = __salt__["ssh.check_key_file"](user, source, saltenv=_env(), **where)
        steps = [f"Set to {status}: {each}\n" for each, status in found.items() if status != "exists"]
        return _source_answer(steps, found, source, "present")
    status = __salt__["ssh.check_key"](user, key.name, key.enc, key.comment, key.options or [], **where)
    if status == "exists":
        return True, f"The authorized host key {key.name} is already present for user {user}"
    verb = "updated" if status == "update" else "added"
    return None, f"Key {key.name} for user {user} is set to be {verb}"


def _predict_absent(user: str, key: _Wanted, source: str, where: dict[str, Any]) -> tuple[bool | None, str]:
    if source:
        found = __salt__["ssh.check_key_file"](user, source, saltenv=_env(), **where)
        steps = [f"Set to remove: {each}\n" for each, status in found.items() if status != "add"]
        return _source_answer(steps, found, source, "absent")
    if filesystem.foretells():  # a run removes a key of any type
        is_absent = key.name not in __salt__["ssh.auth_keys"](user=user, **where)
    else:
        status = __salt__["ssh.check_key"](user, key.name, key.enc, key.comment, key.options or [], **where)
        is_absent = status == "add"
    if is_absent:
        return True, "Key is already absent"
    return None, f"Key {key.name} for user {user} is set for removal"


def _source_answer(steps: list[str], found: dict[str, str], source: str, state: str) -> tuple[bool | None, str]:
    if steps:
        return None, "".join(steps)
    if not found and _fetch(source):
        return state == "absent" and filesystem.foretells(), _without_keys(source)
    if not found and state == "present" and filesystem.foretells():
        return False, _without_source(source)
    return True, f"All host keys in file {source} are already {state}"


def _present_row(name: str, key: str, user: str, source: str, done: str, where: dict[str, Any]) -> Row:
    subject = f"The authorized host key {key}"
    if done == "replace":
        return changed(name, f"{subject} for user {user} was updated", {key: "Updated"})
    if done == "new":
        return changed(name, f"{subject} for user {user} was added", {key: "New"})
    if done == "no change":
        return unchanged(name, f"{subject} is already present for user {user}")
    if done == "no key":
        comment = _without_source(source)
    elif source and not __salt__["ssh.check_key_file"](user, source, saltenv=_env(), **where):
        comment = _without_keys(source)
    else:
        comment = _REASONS.get(done, done)
    return failed(name, comment)


def _without_keys(source: str) -> str:
    return f"No keys detected in {source}. Is file properly formatted?"


def _without_source(source: str) -> str:
    return f"Failed to add the ssh key. Source file {source} is missing"


def _fetch(source: str) -> Any:
    return __salt__["cp.cache_file"](source, _env())


def _env() -> str:
    return str(__env__)
