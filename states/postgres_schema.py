"""The ``postgres_schema`` states: schemas of a PostgreSQL database, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, unchanged

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    """Make sure that a database has a schema; ``owner`` applies only to a new one.

    Example::

        stock:
          postgres_schema.present:
            - dbname: shop
            - owner: ada
    """
    connection = _connection(user, db_user, db_password, db_host, db_port)
    return _present(name, dbname, owner, connection) | {"dbname": dbname}


def absent(
    dbname: str,
    name: str,
    user: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Row:
    """Make sure that a database does not have a schema. The state fails for one that is not empty."""
    connection = _connection(user, db_user, db_password, db_host, db_port)
    return _absent(name, dbname, connection) | {"dbname": dbname}


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order."""
    return _postgres.footprint(low)


@_postgres.fails_if_not_answered
def _present(name: str, dbname: str, owner: str | None, connection: dict[str, Any]) -> Row:
    if __salt__["postgres.schema_get"](dbname, name, **connection) is not None:
        return unchanged(name, f"Schema {name} already exists in database {dbname}")
    return _postgres.change(
        name,
        lambda: __salt__["postgres.schema_create"](dbname, name, owner=owner, **connection),
        {name: "Present"},
        would=f"Schema {name} is set to be created in database {dbname}.",
        done=f"Schema {name} has been created in database {dbname}",
        problem=f"Failed to create schema {name} in database {dbname}",
    )


@_postgres.fails_if_not_answered
def _absent(name: str, dbname: str, connection: dict[str, Any]) -> Row:
    return _postgres.absent(
        name,
        f"Schema {name}",
        lambda: __salt__["postgres.schema_exists"](dbname, name, **connection),
        lambda: __salt__["postgres.schema_remove"](dbname, name, **connection),
        database=dbname,
    )


def _connection(
    user: str | None, db_user: str | None, db_password: str | None, db_host: str | None, db_port: int | str | None
) -> dict[str, Any]:
    return {"user": user, "db_user": db_user, "db_password": db_password, "db_host": db_host, "db_port": db_port}
