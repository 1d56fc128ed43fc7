"""The ``ssh_known_hosts`` states: the known SSH hosts of a user or of all users, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_TYPE = 'Required argument "enc" if using "key" argument.'
_NOT_ABSOLUTE = 'If not specifying a "user", specify an absolute "config".'


def present(
    name: str,
    user: str | None = None,
    fingerprint: str | None = None,
    key: str | None = None,
    port: Any = None,
    enc: str | None = None,
    config: str | None = None,
    hash_known_hosts: bool = True,
    timeout: Any = 5,
    fingerprint_hash_type: str | None = None,
) -> Row:
    """Make sure that the host ``name`` is known to ``user``, or to all users if none is given.

    With ``key`` and its type ``enc`` no network is needed. Without them, the host is queried for its keys; with
    ``fingerprint`` (``xx:xx:…``, by default of SHA-256) the state fails if none of the keys has it. ::

        github.com:
          ssh_known_hosts.present:
            - user: deploy
            - fingerprint: 9d:38:5b:83:…
    """
    config = config or _default(user)
    if not user and not os.path.isabs(config):
        return failed(name, _NOT_ABSOLUTE)
    about = {"fingerprint": fingerprint, "key": key, "port": port, "config": config}
    about["fingerprint_hash_type"] = fingerprint_hash_type
    if is_dry_run():
        row = _dry_run(name, user, enc, about)
        if row["result"] is None and key and filesystem.foretells():  # without a key, the host would be queried
            done = __salt__["ssh.set_known_host"](
                user=user, hostname=name, enc=enc, hash_known_hosts=hash_known_hosts, timeout=timeout, **about
            )
            return failed(name, done["error"]) if done["status"] == "error" else row
        return row
    if key and not enc:  # Salt writes another useless line in every run
        return failed(name, _NO_TYPE)
    done = __salt__["ssh.set_known_host"](
        user=user, hostname=name, enc=enc, hash_known_hosts=hash_known_hosts, timeout=timeout, **about
    )
    if done["status"] == "exists":
        return unchanged(name, f"{name} already exists in {config}")
    if done["status"] == "error":
        return failed(name, done["error"])
    first = done["new"][0]
    if key:
        comment = f"{name}'s key saved to {config} (key: {first['key']})"
    elif fingerprint:
        comment = f"{name}'s key saved to {config} (fingerprint: {first['fingerprint']})"
    elif enc:
        comment = f"{name}'s {enc} key saved to {config} (key: {first['key']})"
    else:
        comment = f"{name}'s key(s) saved to {config}"
    return changed(name, comment, {"old": done["old"], "new": done["new"]})


def absent(name: str, user: str | None = None, config: str | None = None) -> Row:
    """Make sure that the host ``name`` is not known to ``user``, or to all users if none is given.

    ::

        old.example.org:
          ssh_known_hosts.absent:
            - user: deploy
    """
    config = config or _default(user)
    if not user and not os.path.isabs(config):
        return failed(name, _NOT_ABSOLUTE)
    known = __salt__["ssh.get_known_host_entries"](user=user, hostname=name, config=config)
    if isinstance(known, dict) and filesystem.judges():
        return failed(name, known["error"])
    if not known:
        return unchanged(name, "Host is already absent")
    if is_dry_run():
        return would_change(name, f"Key for {name} is set to be removed from {config}")
    done = __salt__["ssh.rm_known_host"](user=user, hostname=name, config=config)
    if done["status"] == "error":
        return failed(name, done["error"])
    return changed(name, done["comment"], {"old": known, "new": None})


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a host state: the file and its folder; the user, name lookup."""
    user = str(low.get("user") or "")
    config = str(low.get("config") or _default(user))
    path = os.path.normpath(config if config.startswith(("/", "~")) else f"~{user}/{config}")
    reads = [*_resources.accounts(low)]
    writes = [f"path:{path}", f"path:{path}.old", *([f"ssh_known_hosts:{user}"] if user else [])]
    if low.get("fun") == "absent":
        return {"reads": reads, "writes": writes}
    if not low.get("key"):
        reads += _resources.NETWORK
    return {
        "reads": reads,
        "writes": writes,
        "makes": [_resources.folder(path)]
        if not user
        else [_resources.folder(_resources.in_home(user, path), "0700", user, f"group of {user}")],
    }


def _default(user: str | None) -> str:
    return ".ssh/known_hosts" if user else "/etc/ssh/ssh_known_hosts"


def _dry_run(name: str, user: str | None, enc: str | None, about: dict[str, Any]) -> Row:
    if about["key"] and about["fingerprint"] and not filesystem.foretells():  # a run uses the key
        return failed(name, 'Specify either "key" or "fingerprint", not both.')
    if about["key"] and not enc:
        return failed(name, _NO_TYPE)
    status = __salt__["ssh.check_known_host"](user, name, **about)
    if isinstance(status, dict):
        return failed(name, status["error"])
    if status == "exists":
        return unchanged(name, f"Host {name} is already in {about['config']}")
    step = "added to" if status == "add" else "updated in"
    return would_change(name, f"Key for {name} is set to be {step} {about['config']}")
