"""The ``postgres_tablespace`` states: where a PostgreSQL server keeps its databases, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __opts__, __salt__
from asyncstate.errors import AsyncStateError

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._postgres import Row


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
    """Make sure that a tablespace exists in a folder, which must belong to the server's account, with these options.

    Example::

        fast:
          postgres_tablespace.present:
            - directory: /mnt/ssd/postgres
            - owner: ada
            - options: {random_page_cost: 1.1}
    """
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    row: Row = {"name": name, "changes": {}, "result": True, "comment": f"Tablespace {name} is already present"}

    def check() -> Row:
        found = __salt__["postgres.tablespace_list"](**connection).get(name)
        if found is not None:
            return _aligned(row, found, directory, options or {}, owner, connection)
        return _postgres.change(
            row,
            f"Tablespace {name} is set to be created",
            lambda: __salt__["postgres.tablespace_create"](name, directory, options, owner, **connection),
            f"The tablespace {name} has been created",
            {name: "Present"},
            f"Failed to create tablespace {name}",
        )

    return _postgres.checked(row, check)


def absent(
    name: str,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Row:
    """Make sure that a tablespace does not exist. One that is not empty is left, and the state fails."""
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    row: Row = {"name": name, "changes": {}, "result": True, "comment": ""}

    def check() -> Row:
        if not __salt__["postgres.tablespace_exists"](name, **connection):
            return {**row, "comment": f"Tablespace {name} is not present, so it cannot be removed"}
        return _postgres.change(
            row,
            f"Tablespace {name} is set to be removed",
            lambda: __salt__["postgres.tablespace_remove"](name, **connection),
            f"Tablespace {name} has been removed",
            {name: "Absent"},
            f"Tablespace {name} failed to be removed",
        )

    return _postgres.checked(row, check)


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order; the folder must be there before."""
    footprint = _postgres.footprint(low)
    if low.get("directory"):
        footprint["reads"].append(f"path:{os.path.normpath(str(low['directory']))}")
    return footprint


def _aligned(
    row: Row,
    found: dict[str, str],
    directory: str,
    options: dict[str, Any],
    owner: str | None,
    connection: dict[str, Any],
) -> Row:
    name = row["name"]
    if found["Location"] != directory:
        comment = (
            f"Tablespace {name} is not at the right location. This is unfixable without dropping and recreating the"
            " tablespace."
        )
        return {**row, "result": False, "comment": comment}
    current = found["Opts"].strip("{}").split(",")
    other = {key: value for key, value in options.items() if f"{key}={value}" not in current}
    new_owner = owner if owner and found["Owner"] != owner else None
    if not other and not new_owner:
        return row
    if __opts__["test"]:
        what = "options to be altered" if other else "owner to be altered"
        return {**row, "result": None, "comment": f"Tablespace {name} {what}"}
    try:
        __salt__["postgres.tablespace_alter"](name, new_owner=new_owner, set_option=other, **connection)
    except AsyncStateError as error:
        return {**row, "result": False, "comment": f"Failed to alter tablespace {name}\n{error}"}
    changes = ({"owner": new_owner} if new_owner else {}) | ({"options": other} if other else {})
    return {
        **row,
        "changes": {name: changes},
        "comment": f"Tablespace {name} {'opts' if other else 'owner'} changed",
    }
