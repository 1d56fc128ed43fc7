"""The ``postgres_tablespace`` states: where a PostgreSQL server keeps its databases, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping


@_postgres.fails_if_not_answered
def present(
    name: str,
    directory: str,
    options: dict[str, Any] | None = None,
    owner: str | None = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
    db_user: str | None = None,
) -> Row:
    """Make sure that a tablespace with these options exists in a folder, which must belong to the server's account.

    Example::

        fast:
          postgres_tablespace.present:
            - directory: /mnt/ssd/postgres
            - owner: ada
            - options: {random_page_cost: 1.1}
    """
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    found = __salt__["postgres.tablespace_list"](**connection).get(name)
    if found is not None:
        return _aligned(name, found, directory, options or {}, owner, connection)
    return _postgres.change(
        name,
        lambda: __salt__["postgres.tablespace_create"](name, directory, options, owner, **connection),
        {name: "Present"},
        would=f"Tablespace {name} is set to be created",
        done=f"The tablespace {name} has been created",
        problem=f"Failed to create tablespace {name}",
    )


@_postgres.fails_if_not_answered
def absent(
    name: str,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Row:
    """Make sure that a tablespace does not exist. The state fails for one that is not empty."""
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    return _postgres.absent(
        name,
        f"Tablespace {name}",
        lambda: __salt__["postgres.tablespace_exists"](name, **connection),
        lambda: __salt__["postgres.tablespace_remove"](name, **connection),
    )


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order, after the state that makes the folder."""
    footprint = _postgres.footprint(low)
    if low.get("directory"):
        footprint["reads"].append(f"path:{os.path.normpath(str(low['directory']))}")
    return footprint


def _aligned(
    name: str,
    found: dict[str, str],
    directory: str,
    options: dict[str, Any],
    owner: str | None,
    connection: dict[str, Any],
) -> Row:
    """Set the options and the owner of an existing tablespace, and return the row."""
    if found["Location"] != directory:
        return failed(
            name,
            f"Tablespace {name} is not at the right location. This is unfixable without dropping and recreating the"
            " tablespace.",
        )
    current = found["Opts"].strip("{}").split(",")
    other = {key: value for key, value in options.items() if f"{key}={value}" not in current}
    new_owner = owner if owner and found["Owner"] != owner else None
    if not other and not new_owner:
        return unchanged(name, f"Tablespace {name} is already present")
    if is_dry_run():
        return would_change(name, f"Tablespace {name} {'options' if other else 'owner'} to be altered")
    try:
        __salt__["postgres.tablespace_alter"](name, new_owner=new_owner, set_option=other, **connection)
    except AsyncStateError as error:
        return failed(name, f"Failed to alter tablespace {name}\n{error}")
    changes = ({"owner": new_owner} if new_owner else {}) | ({"options": other} if other else {})
    return changed(name, f"Tablespace {name} {'opts' if other else 'owner'} changed", {name: changes})
