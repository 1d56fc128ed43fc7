"""Roles: the users and groups of a PostgreSQL server."""

from __future__ import annotations

import csv
import datetime as dt
from typing import TYPE_CHECKING, Any, cast

from asyncstate.errors import InvocationError

from ._passwords import DEFAULT_METHOD, encrypted
from ._psql import Connection, identifier, literal, query, run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

Role = dict[str, Any]

_FLAGS = {
    "superuser": "rolsuper",
    "inherits privileges": "rolinherit",
    "can create roles": "rolcreaterole",
    "can create databases": "rolcreatedb",
    "can login": "rolcanlogin",
    "replication": "rolreplication",
}
_DATE = "%Y-%m-%d %H:%M:%S"


def user_list(return_password: bool = False, **connection: Unpack[Connection]) -> dict[str, Role]:
    """Return the attributes of all roles, their ``groups`` and ``expiry time``, and optionally the stored ``password``.

    CLI Example::

        asyncstate call postgres.user_list
    """
    flags = ", ".join(f'r.{column} AS "{name}"' for name, column in _FLAGS.items())
    password = ', a.rolpassword AS "password"' if return_password else ""
    source = "pg_catalog.pg_authid a ON a.oid = r.oid" if return_password else ""
    rows = query(
        f'SELECT r.rolname AS "name", {flags}, r.rolconnlimit AS "connections",'  # noqa: S608 - nothing comes from the caller
        " (SELECT array_agg(DISTINCT g.rolname) FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g"
        ' ON m.roleid = g.oid WHERE m.member = r.oid) AS "groups",'
        ' r.rolvaliduntil::timestamp(0) AS "expiry time", r.rolconfig AS "defaults variables"'
        f"{password} FROM pg_catalog.pg_roles r {f'JOIN {source}' if source else ''}",
        **connection,
    )
    return {row["name"]: _role(row) for row in rows}


def role_get(name: str, return_password: bool = False, **connection: Unpack[Connection]) -> Role | None:
    """Return the entry of one role in `user_list`, None if there is none of this name."""
    return user_list(return_password, **connection).get(name)


def user_exists(name: str, **connection: Unpack[Connection]) -> bool:
    """Return whether there is a role of this name.

    CLI Example::

        asyncstate call postgres.user_exists ada
    """
    return role_get(name, **connection) is not None


def expiry_time(text: str, **connection: Unpack[Connection]) -> dt.datetime | None:
    """Return the time that the server reads from a text; None for ``infinity``."""
    return _date(query(f"SELECT {literal(text)}::timestamp(0) AS dt", **connection)[0]["dt"])


def user_create(username: str, **options: Any) -> bool:
    """Create a role that may log in; False if there is one of this name. `role_clauses` describes the options.

    CLI Example::

        asyncstate call postgres.user_create ada createdb=True groups=staff,admins
    """
    return _create(username, options, login=True)


def group_create(groupname: str, **options: Any) -> bool:
    """Create a role that may not log in; False if there is one of this name. `role_clauses` describes the options."""
    return _create(groupname, options, login=False)


def user_update(username: str, **options: Any) -> bool:
    """Change the attributes of a role; False if there is none of this name. `role_clauses` describes the options."""
    connection = _split(options)
    role = role_get(username, **connection)
    if role is None:
        return False
    if options.get("superuser") == role["superuser"]:
        options.pop("superuser")  # only a superuser may name that attribute, even to leave it as it is
    groups = options.pop("groups", None)
    clauses = role_clauses(username, **options)
    alter = [f"ALTER ROLE {identifier(username)} WITH {clauses}"] if clauses else []
    if alter or groups:
        run(_statements([*alter, *_grants(username, groups)]), atomic=True, **connection)
    return True


def group_update(groupname: str, **options: Any) -> bool:
    """Change the attributes of a role, as `user_update` does."""
    return user_update(groupname, **options)


def user_remove(username: str, **connection: Unpack[Connection]) -> bool:
    """Drop a role; False if there is none.

    CLI Example::

        asyncstate call postgres.user_remove ada
    """
    if not user_exists(username, **connection):
        return False
    run(f"DROP ROLE {identifier(username)};", **connection)
    return True


def group_remove(groupname: str, **connection: Unpack[Connection]) -> bool:
    """Drop a role; False if there is none."""
    return user_remove(groupname, **connection)


def role_clauses(
    name: str,
    createdb: bool | None = None,
    createroles: bool | None = None,
    encrypted: Any = None,
    superuser: bool | None = None,
    replication: bool | None = None,
    inherit: bool | None = None,
    login: bool | None = None,
    connlimit: int | None = None,
    rolepassword: Any = None,
    valid_until: Any = None,
) -> str:
    """Return the clauses of CREATE ROLE and ALTER ROLE; None leaves an attribute as it is.

    ``rolepassword`` is stored as ``encrypted`` says: ``md5`` (the default), ``scram-sha-256`` or False; it is removed
    by an empty text or False.
    """
    attributes = {
        "INHERIT": inherit,
        "CREATEDB": createdb,
        "CREATEROLE": createroles,
        "SUPERUSER": superuser,
        "REPLICATION": replication,
        "LOGIN": login,
    }
    clauses = [word if wanted else f"NO{word}" for word, wanted in attributes.items() if wanted is not None]
    if connlimit is not None:
        clauses.append(f"CONNECTION LIMIT {_whole(connlimit)}")
    if rolepassword is not None:
        clauses.append(f"PASSWORD {_password(name, rolepassword, encrypted)}")
    if valid_until is not None:
        clauses.append(f"VALID UNTIL {literal(valid_until)}")
    return " ".join(clauses)


def listed(groups: Any) -> list[str]:
    """Return groups, given as a list or a text with commas, as a list."""
    found = groups.split(",") if isinstance(groups, str) else groups or []
    return [str(each).strip() for each in found if str(each).strip()]


def _create(name: str, options: dict[str, Any], *, login: bool) -> bool:
    connection = _split(options)
    if user_exists(name, **connection):
        return False
    groups = options.pop("groups", None)
    for key, default in (("inherit", True), ("login", login)):
        options[key] = default if options.get(key) is None else options[key]
    create = f"CREATE ROLE {identifier(name)} WITH {role_clauses(name, **options)}"
    run(_statements([create, *_grants(name, groups)]), atomic=True, **connection)
    return True


def _grants(name: str, groups: Any) -> list[str]:
    return [f"GRANT {identifier(group)} TO {identifier(name)}" for group in listed(groups)]


def _statements(statements: Iterable[str]) -> str:
    return "".join(f"{each};\n" for each in statements)


def _split(options: dict[str, Any]) -> Connection:
    """Remove the arguments of the connection from ``options`` and return them."""
    return cast("Connection", {key: options.pop(key) for key in Connection.__annotations__ if key in options})


def _password(name: str, password: Any, method: Any) -> str:
    if password is False or password == "":
        return "NULL"
    return literal(encrypted(name, password, DEFAULT_METHOD if method is None else method))


def _whole(number: Any) -> int:
    try:
        return int(number)
    except (TypeError, ValueError):
        raise InvocationError(f"connlimit must be a number, not {number!r}") from None


def _role(row: dict[str, str]) -> Role:
    role: Role = {name: row[name] == "t" for name in _FLAGS}
    role["connections"] = int(row["connections"])
    role["expiry time"] = _date(row["expiry time"])
    role["defaults variables"] = row["defaults variables"]
    role["groups"] = next(csv.reader([row["groups"].strip("{}")], escapechar="\\"), [])
    return {**role, "password": row["password"]} if "password" in row else role


def _date(text: str) -> dt.datetime | None:
    try:
        return dt.datetime.strptime(text, _DATE)  # noqa: DTZ007 - the server's own clock, as it prints it
    except ValueError:
        return None
