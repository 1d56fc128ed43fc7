"""What the states of PostgreSQL have in common: their arguments for the server, their rows, their footprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __opts__
from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Row = dict[str, Any]


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


def change(row: Row, foretold: str, work: Callable[[], object], done: str, changes: Any, failed: str) -> Row:
    """Do ``work``, or foretell it in a dry run, and return the row; a failure is told in the server's words."""
    if __opts__["test"]:
        return {**row, "result": None, "comment": foretold}
    try:
        succeeded = work()
    except AsyncStateError as error:
        return {**row, "result": False, "comment": f"{failed}\n{error}"}
    if not succeeded:
        return {**row, "result": False, "comment": failed}
    return {**row, "comment": done, "changes": changes}


def checked(row: Row, check: Callable[[], Row]) -> Row:
    """Return what ``check`` returns; a row that says so if the server cannot be asked."""
    try:
        return check()
    except AsyncStateError as error:
        return {**row, "result": False, "comment": str(error)}


def footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep all PostgreSQL states in their order.

    The server must run before. Which one is meant may depend on options, and statements about roles disturb each other
    on one server.
    """
    return {"reads": [f"user:{low.get('user') or 'postgres'}", "service:postgresql"], "writes": ["postgres"]}
