"""The common part of the PostgreSQL states: server arguments, error handling, footprint."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec

from asyncstate.dunders import Row, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = ParamSpec("P")


def connection(
    user: str | None,
    db_user: str | None,
    db_password: str | None,
    db_host: str | None,
    db_port: int | str | None,
    maintenance_db: str | None = None,
) -> dict[str, Any]:
    """Return the execution module's arguments for the server and the account that queries it."""
    return {
        "runas": user,
        "user": db_user,
        "password": db_password,
        "host": db_host,
        "port": db_port,
        "maintenance_db": maintenance_db,
    }


def fails_if_not_answered(state: Callable[P, Row]) -> Callable[P, Row]:
    """Decorate a state: if the server cannot be queried, it fails with the error as the comment."""

    @functools.wraps(state)
    def asked(*args: P.args, **kwargs: P.kwargs) -> Row:
        try:
            return state(*args, **kwargs)
        except AsyncStateError as error:
            return failed(inspect.signature(state).bind(*args, **kwargs).arguments["name"], str(error))

    return asked


def change(
    name: str, work: Callable[[], object], changes: Mapping[str, Any], *, would: str, done: str, problem: str
) -> Row:
    """Do ``work`` and return the row; a dry run only reports ``would``, a failure adds the server's message.

    ``work`` returns a false value, or raises, if it failed.
    """
    if is_dry_run():
        return would_change(name, would)
    try:
        succeeded = work()
    except AsyncStateError as error:
        return failed(name, f"{problem}\n{error}")
    return changed(name, done, changes) if succeeded else failed(name, problem)


def absent(
    name: str, what: str, exists: Callable[[], bool], remove: Callable[[], object], *, database: str = ""
) -> Row:
    """Make sure that ``what``, in ``database`` if given, does not exist; return the row."""
    if not exists():
        place = f" in database {database}" if database else ""
        return unchanged(name, f"{what} is not present{place}, so it cannot be removed")
    origin = f" from database {database}" if database else ""
    return change(
        name,
        remove,
        {name: "Absent"},
        would=f"{what} is set to be removed{origin}",
        done=f"{what} has been removed{origin}",
        problem=f"{what} failed to be removed",
    )


def footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return a footprint that keeps all PostgreSQL states in serial order, after the state that starts the server.

    Options may select the server, and statements about roles interfere with each other on one server.
    """
    user = str(low.get("user") or "postgres")
    host = str(low.get("db_host") or "")
    reads = [*_resources.accounts({"user": user}), "service:postgresql", _resources.home(user, ".pgpass")]
    reads += [*(_resources.NETWORK if host and not host.startswith("/") else ())]
    return {"reads": reads, "writes": ["postgres"]}
