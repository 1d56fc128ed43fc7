"""The ``postgres_database`` states: databases of a PostgreSQL server, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, failed, unchanged

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping


@_postgres.fails_if_not_answered
def present(
    name: str,
    tablespace: str | None = None,
    encoding: str | None = None,
    lc_collate: str | None = None,
    lc_ctype: str | None = None,
    owner: str | None = None,
    owner_recurse: bool = False,
    template: str | None = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that a database exists, with this owner and tablespace; the other options apply only to a new one.

    ``owner_recurse`` also changes the owner of the objects in it. ``encoding`` is written as the server writes it,
    ``UTF8``; one other than the server's default needs ``template: template0``.

    Example::

        shop:
          postgres_database.present:
            - owner: ada
            - encoding: UTF8
            - template: template0
    """
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)

    def create() -> bool:
        fixed = {"encoding": encoding, "lc_collate": lc_collate, "lc_ctype": lc_ctype, "template": template}
        return bool(__salt__["postgres.db_create"](name, tablespace=tablespace, owner=owner, **fixed, **connection))

    def alter() -> bool:
        wanted = {"tablespace": tablespace, "owner": owner, "owner_recurse": owner_recurse}
        return bool(__salt__["postgres.db_alter"](name, **wanted, **connection))

    found = __salt__["postgres.db_list"](**connection).get(name)
    if found is None:
        return _postgres.change(
            name,
            create,
            {name: "Present"},
            would=f"Database {name} is set to be created",
            done=f"The database {name} has been created",
            problem=f"Failed to create database {name}",
        )
    fixed = [("Collate", lc_collate), ("Ctype", lc_ctype)]
    other_encoding = encoding and found["Encoding"].lower() != encoding.lower()
    if other_encoding or any(value and found[key] != value for key, value in fixed):
        return failed(name, f"Database {name} has wrong parameters which couldn't be changed on fly.")
    if not any(value and found[key] != value for key, value in (("Owner", owner), ("Tablespace", tablespace))):
        return unchanged(name, f"Database {name} is already present")
    return _postgres.change(
        name,
        alter,
        {name: "Parameters changed"},
        would=f"Database {name} exists, but parameters need to be changed",
        done=f"Parameters for database {name} have been changed",
        problem=f"Failed to change parameters for database {name}",
    )


@_postgres.fails_if_not_answered
def absent(
    name: str,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that a database does not exist; its sessions are ended."""
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    return _postgres.absent(
        name,
        f"Database {name}",
        lambda: __salt__["postgres.db_exists"](name, **connection),
        lambda: __salt__["postgres.db_remove"](name, **connection),
    )


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order; a database needs its locale."""
    footprint = _postgres.footprint(low)
    footprint["reads"].append("locale:compiled")
    return footprint
