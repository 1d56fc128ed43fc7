"""The ``postgres_schema`` states: schemas of a PostgreSQL database, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __salt__

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._postgres import Row


def present(
    dbname: str,
    name: str,
    owner: str | None = None,
    user: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Row:
    """Make sure that a database has a schema; ``owner`` is for a new one.

    Example::

        stock:
          postgres_schema.present:
            - dbname: shop
            - owner: ada
    """
    connection = _connection(user, db_user, db_password, db_host, db_port)
    comment = f"Schema {name} already exists in database {dbname}"
    row: Row = {"dbname": dbname, "name": name, "changes": {}, "result": True, "comment": comment}

    def check() -> Row:
        if __salt__["postgres.schema_get"](dbname, name, **connection) is not None:
            return row
        return _postgres.change(
            row,
            f"Schema {name} is set to be created in database {dbname}.",
            lambda: __salt__["postgres.schema_create"](dbname, name, owner=owner, **connection),
            f"Schema {name} has been created in database {dbname}",
            {name: "Present"},
            f"Failed to create schema {name} in database {dbname}",
        )

    return _postgres.checked(row, check)


def absent(
    dbname: str,
    name: str,
    user: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Row:
    """Make sure that a database does not have a schema. One that is not empty is left, and the state fails."""
    connection = _connection(user, db_user, db_password, db_host, db_port)
    row: Row = {"name": name, "dbname": dbname, "changes": {}, "result": True, "comment": ""}

    def check() -> Row:
        if not __salt__["postgres.schema_exists"](dbname, name, **connection):
            comment = f"Schema {name} is not present in database {dbname}, so it cannot be removed"
            return {**row, "comment": comment}
        return _postgres.change(
            row,
            f"Schema {name} is set to be removed from database {dbname}",
            lambda: __salt__["postgres.schema_remove"](dbname, name, **connection),
            f"Schema {name} has been removed from database {dbname}",
            {name: "Absent"},
            f"Schema {name} failed to be removed",
        )

    return _postgres.checked(row, check)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order."""
    return _postgres.footprint(low)


def _connection(
    user: str | None, db_user: str | None, db_password: str | None, db_host: str | None, db_port: int | str | None
) -> dict[str, Any]:
    return {"user": user, "db_user": db_user, "db_password": db_password, "db_host": db_host, "db_port": db_port}
