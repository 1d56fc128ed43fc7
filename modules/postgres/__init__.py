"""The ``postgres`` execution module: roles, databases, extensions and privileges of PostgreSQL servers.

Every function takes ``user``, ``password``, ``host``, ``port`` and ``maintenance_db``, which default to the options
``postgres.user``, ``postgres.pass`` …, and ``runas``, the system account that runs psql.

Salt treats a server that does not answer as an empty one; here CommandExecutionError has psql's message. The module
loads without psql too, so that a run can install and then use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._clusters import cluster_create, cluster_exists, cluster_list, cluster_remove
from ._databases import (
    db_alter,
    db_create,
    db_exists,
    db_list,
    db_remove,
    owner_to,
    schema_create,
    schema_exists,
    schema_get,
    schema_list,
    schema_remove,
    tablespace_alter,
    tablespace_create,
    tablespace_exists,
    tablespace_list,
    tablespace_remove,
)
from ._extensions import (
    available_extensions,
    create_extension,
    create_metadata,
    drop_extension,
    get_available_extension,
    get_installed_extension,
    installed_extensions,
    is_available_extension,
    is_installed_extension,
    language_exists,
    language_list,
)
from ._passwords import matches as _matches
from ._privileges import has_privileges, privileges_grant, privileges_list, privileges_revoke
from ._psql import query as _query
from ._roles import (
    expiry_time,
    group_create,
    group_remove,
    group_update,
    role_get,
    user_create,
    user_exists,
    user_list,
    user_remove,
    user_update,
)

if TYPE_CHECKING:
    from typing import Any, Unpack

    from ._psql import Connection

__all__ = [
    "available_extensions",
    "cluster_create",
    "cluster_exists",
    "cluster_list",
    "cluster_remove",
    "create_extension",
    "create_metadata",
    "db_alter",
    "db_create",
    "db_exists",
    "db_list",
    "db_remove",
    "drop_extension",
    "expiry_time",
    "get_available_extension",
    "get_installed_extension",
    "group_create",
    "group_remove",
    "group_update",
    "has_privileges",
    "installed_extensions",
    "is_available_extension",
    "is_installed_extension",
    "language_exists",
    "language_list",
    "owner_to",
    "password_matches",
    "privileges_grant",
    "privileges_list",
    "privileges_revoke",
    "psql_query",
    "role_get",
    "schema_create",
    "schema_exists",
    "schema_get",
    "schema_list",
    "schema_remove",
    "tablespace_alter",
    "tablespace_create",
    "tablespace_exists",
    "tablespace_list",
    "tablespace_remove",
    "user_create",
    "user_exists",
    "user_list",
    "user_remove",
    "user_update",
    "version",
]


def version(**connection: Unpack[Connection]) -> str:
    """Return the version of the server, ``15.4 (Debian 15.4-1)``.

    CLI Example::

        asyncstate call postgres.version
    """
    (row,) = _query("SELECT current_setting('server_version') AS version", **connection)
    return row["version"]


def psql_query(query: str, write: bool = False, **connection: Unpack[Connection]) -> list[dict[str, str]]:
    """Return the rows of a SELECT, as texts under the names of their columns.

    Set ``write`` if the query changes something, as ``WITH x AS (UPDATE … RETURNING …) SELECT * FROM x`` does.

    CLI Example::

        asyncstate call postgres.psql_query 'SELECT * FROM pg_stat_activity'
    """
    return _query(query, write=write, own_names=False, **connection)


def password_matches(role: str, password: Any, stored: str, encrypted: Any = "md5") -> bool:
    """Return whether a role's ``stored`` password is what ``encrypted`` (as in `user_create`) makes of a password."""
    return _matches(role, password, stored, encrypted)
