"""Debian's clusters: several servers, of several versions, on one machine."""

from __future__ import annotations

from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

_COLUMNS = ("port", "status", "user", "datadir", "log")


def cluster_list(verbose: bool = False) -> Any:
    """Return the names of the clusters (``15/main``); with ``verbose``, their port, status, user, datadir and log.

    CLI Example::

        asyncstate call postgres.cluster_list verbose=True
    """
    found = {}
    for line in _run(["pg_lsclusters", "--no-header"]).splitlines():
        version, name, *rest = line.split(maxsplit=6)
        details: dict[str, Any] = dict(zip(_COLUMNS, rest, strict=False))
        found[f"{version}/{name}"] = {**details, "port": int(details["port"])}
    return found if verbose else list(found)


def cluster_exists(version: Any, name: str = "main") -> bool:
    """Return whether there is such a cluster."""
    return f"{version}/{name}" in cluster_list()


def cluster_create(
    version: Any,
    name: str = "main",
    port: int | str | None = None,
    locale: str | None = None,
    encoding: str | None = None,
    datadir: str | None = None,
    allow_group_access: bool | None = None,
    data_checksums: bool | None = None,
    wal_segsize: int | str | None = None,
) -> bool:
    """Create a cluster, which is not started. CommandExecutionError with pg_createcluster's message if that fails.

    CLI Example::

        asyncstate call postgres.cluster_create 15 reports port=5433 encoding=UTF8
    """
    if datadir:
        filesystem.require_own_place(datadir, "pg_createcluster")
    given = {"--port": port, "--locale": locale, "--encoding": encoding, "--datadir": datadir}
    command = ["pg_createcluster", *(f"{option}={value}" for option, value in given.items() if value)]
    command += [_name(version), _name(name)]
    initdb = ["--allow-group-access"] if allow_group_access is True else []
    initdb += ["--data-checksums"] if data_checksums is True else []
    initdb += [f"--wal-segsize={wal_segsize}"] if wal_segsize else []
    _run([*command, *(["--", *initdb] if initdb else [])])
    return True


def cluster_remove(version: Any, name: str = "main", stop: bool = False) -> bool:
    """Remove a cluster and its data; a running one only with ``stop``."""
    _run(["pg_dropcluster", *(["--stop"] if stop else []), _name(version), _name(name)])
    return True


def _run(command: list[str]) -> str:
    if __salt__["cmd.which"](command[0]) is None:
        raise CommandExecutionError(f"{command[0]} was not found: clusters need Debian's package postgresql-common")
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, cwd="/")
    if done["retcode"] != 0:
        words = (done["stderr"] or done["stdout"]).strip()
        raise CommandExecutionError(words or f"{command[0]} failed with return code {done['retcode']}")
    return str(done["stdout"])


def _name(word: Any) -> str:
    text = str(word)
    if not text or text.startswith("-") or "/" in text:
        raise InvocationError(f"{text!r} is no version or name of a cluster")
    return text
