"""The ``postgres_privileges`` states: what a role may do with an object, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, unchanged

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping


@_postgres.fails_if_not_answered
def present(
    name: str,
    object_name: str,
    object_type: str,
    privileges: str | list[str] | None = None,
    grant_option: bool | None = None,
    prepend: str = "public",
    maintenance_db: str | None = None,
    user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that the role ``name`` has privileges on an object, or is a member of a group.

    ``object_type`` is ``table`` (views too), ``sequence``, ``function``, ``schema``, ``database``, ``tablespace``,
    ``language`` or ``group``. The first three have a schema, ``prepend``, and their ``object_name`` may be ALL.

    Example::

        ada:
          postgres_privileges.present:
            - object_name: stock
            - object_type: table
            - privileges: [SELECT, UPDATE]
            - maintenance_db: shop
    """
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    words = _joined(privileges)
    what = {"privileges": words, "grant_option": grant_option, "prepend": prepend}
    shown = object_name if object_type == "group" else words
    if __salt__["postgres.has_privileges"](name, object_name, object_type, **what, **connection):
        return unchanged(name, "The requested privilege(s) are already set")
    return _postgres.change(
        name,
        lambda: __salt__["postgres.privileges_grant"](name, object_name, object_type, **what, **connection),
        {name: "Present"},
        would=f"The privilege(s): {shown} are set to be granted to {name}",
        done=f"The privilege(s): {shown} have been granted to {name}",
        problem=f"Failed to grant privilege(s): {shown} to {name}",
    )


@_postgres.fails_if_not_answered
def absent(
    name: str,
    object_name: str,
    object_type: str,
    privileges: str | list[str] | None = None,
    prepend: str = "public",
    maintenance_db: str | None = None,
    user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Revoke privileges on an object from the role ``name`` if it has them all, or end its membership in a group."""
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    words = _joined(privileges)
    what = {"privileges": words, "prepend": prepend}
    shown = object_name if object_type == "group" else words
    if not __salt__["postgres.has_privileges"](name, object_name, object_type, **what, **connection):
        return unchanged(name, "The requested privilege(s) are not set so cannot be revoked")
    return _postgres.change(
        name,
        lambda: __salt__["postgres.privileges_revoke"](name, object_name, object_type, **what, **connection),
        {name: "Absent"},
        would=f"The privilege(s): {shown} are set to be revoked from {name}",
        done=f"The privilege(s): {shown} have been revoked from {name}",
        problem=f"Failed to revoke privilege(s): {shown} from {name}",
    )


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order."""
    return _postgres.footprint(low)


def _joined(privileges: Any) -> str | None:
    if not privileges:
        return None
    return privileges if isinstance(privileges, str) else ",".join(map(str, privileges))
