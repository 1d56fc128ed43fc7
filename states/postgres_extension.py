"""The ``postgres_extension`` states: extensions of a PostgreSQL database, with Salt's arguments and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.dunders import Row, __salt__, unchanged

from . import _postgres

if TYPE_CHECKING:
    from collections.abc import Mapping

# The execution module's codes for an extension, with verb and participle of the action.
_WORK = {
    "EXTENSION NOT INSTALLED": ("install", "installed"),
    "EXTENSION TO MOVE": ("upgrade", "upgraded"),
    "EXTENSION TO UPGRADE": ("upgrade", "upgraded"),
}


@_postgres.fails_if_not_answered
def present(
    name: str,
    if_not_exists: bool | None = None,
    schema: str | None = None,
    ext_version: Any = None,
    from_version: Any = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Row:
    """Make sure that the database ``maintenance_db`` has an extension, whose files must be on the server.

    A relocatable extension is moved to ``schema``; one older than ``ext_version`` is upgraded.

    Example::

        hstore:
          postgres_extension.present:
            - maintenance_db: shop
            - schema: public
    """
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    place = {"schema": schema, "ext_version": None if ext_version is None else str(ext_version)}
    birth = {"if_not_exists": if_not_exists, "from_version": from_version}
    metadata = __salt__["postgres.create_metadata"](name, **place, **connection)
    verb, participle = next((_WORK[each] for each in metadata if each in _WORK), ("", ""))
    if not verb:
        return unchanged(name, f"Extension {name} is already present")
    return _postgres.change(
        name,
        lambda: __salt__["postgres.create_extension"](name, **place, **birth, **connection),
        {name: participle.capitalize()},
        would=f"Extension {name} is set to be {participle}",
        done=f"The extension {name} has been {participle}",
        problem=f"Failed to {verb} extension {name}",
    )


@_postgres.fails_if_not_answered
def absent(
    name: str,
    if_exists: bool | None = None,
    restrict: bool | None = None,
    cascade: bool | None = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Row:
    """Make sure that a database does not have an extension; dependent objects go too, unless ``cascade`` is False."""
    connection = _postgres.connection(user, db_user, db_password, db_host, db_port, maintenance_db)
    how = {"if_exists": if_exists, "restrict": restrict, "cascade": cascade}
    return _postgres.absent(
        name,
        f"Extension {name}",
        lambda: __salt__["postgres.is_installed_extension"](name, **connection),
        lambda: __salt__["postgres.drop_extension"](name, **how, **connection),
    )


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Keep the states of PostgreSQL in their order."""
    return _postgres.footprint(low)
