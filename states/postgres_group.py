"""The ``postgres_group`` states: roles of a PostgreSQL server that may not log in, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _postgres, _postgres_role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.dunders import Row


def present(
    name: str,
    createdb: bool | None = None,
    createroles: bool | None = None,
    encrypted: Any = None,
    superuser: bool | None = None,
    inherit: bool | None = None,
    login: bool | None = None,
    replication: bool | None = None,
    password: Any = None,
    refresh_password: bool | None = None,
    groups: Any = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that a group exists, with these attributes; the arguments are those of ``postgres_user.present``.

    Example::

        staff:
          postgres_group.present:
            - createdb: True
    """
    wanted = {
        "createdb": createdb,
        "createroles": createroles,
        "encrypted": "md5" if encrypted is None else encrypted,
        "login": login,
        "inherit": inherit,
        "superuser": superuser,
        "replication": replication,
        "rolepassword": password,
        "groups": groups,
    }
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    return _postgres_role.present("group", name, wanted, connection, refresh_password=refresh_password)


def absent(
    name: str,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that a group does not exist."""
    return _postgres_role.absent(
        "group", name, _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    )


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order."""
    return _postgres.footprint(low)
