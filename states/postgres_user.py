"""The ``postgres_user`` states: roles of a PostgreSQL server that may log in, with Salt's arguments and rows."""

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
    replication: bool | None = None,
    inherit: bool | None = None,
    login: bool | None = None,
    password: Any = None,
    default_password: Any = None,
    refresh_password: bool | None = None,
    valid_until: str | None = None,
    groups: Any = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that a role exists, with these attributes; those not given stay as they are.

    ``password`` may be plain or a verifier; ``encrypted`` says how it is stored: ``md5`` (the default, also True),
    ``scram-sha-256``, or False for the server's default. ``default_password`` applies only to a new role. With
    ``refresh_password`` the password is set without reading the stored one, which only a superuser may do.
    ``groups`` is a list, or a text with commas; groups are added, never removed. ``user`` is the system account that
    runs psql; ``db_user``, ``db_password``, ``db_host`` and ``db_port`` are for the server.

    Example::

        ada:
          postgres_user.present:
            - password: {{ pillar['ada_password'] }}
            - encrypted: scram-sha-256
            - createdb: True
            - groups: staff
    """
    wanted = {
        "createdb": createdb,
        "createroles": createroles,
        "encrypted": "md5" if encrypted is None else encrypted,
        "superuser": superuser,
        "login": login,
        "inherit": inherit,
        "replication": replication,
        "rolepassword": password,
        "valid_until": None if valid_until is None else str(valid_until),
        "groups": groups,
    }
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    return _postgres_role.present(
        "user", name, wanted, connection, default_password=default_password, refresh_password=refresh_password
    )


def absent(
    name: str,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that a role does not exist."""
    return _postgres_role.absent(
        "user", name, _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    )


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order."""
    return _postgres.footprint(low)
