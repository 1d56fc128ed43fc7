"""What the states of PostgreSQL have in common: their arguments for the server, their frame, their footprint."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec

from asyncstate.dunders import Row, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError

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
    """Return the arguments of the execution module that say which server is meant, and who asks."""
    return {
        "runas": user,
        "user": db_user,
        "password": db_password,
        "host": db_host,
        "port": db_port,
        "maintenance_db": maintenance_db,
    }


def fails_if_not_answered(state: Callable[P, Row]) -> Callable[P, Row]:
    """Make a state whose server cannot be asked fail, in the words of the error."""

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
    """Do ``work``, in a dry run only say what it ``would`` do, and return the row; a failure adds the server's words.

    ``work`` returns something false, or raises, where it failed.
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
    """Make sure that there is no ``what``, which may be a part of a ``database``, and return the row."""
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
    """Keep all PostgreSQL states in their order.

    The server must run before. Which one is meant may depend on options, and statements about roles disturb each other
    on one server.
    """
    return {"reads": [f"user:{low.get('user') or 'postgres'}", "service:postgresql"], "writes": ["postgres"]}
