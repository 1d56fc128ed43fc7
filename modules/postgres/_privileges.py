"""Privileges of roles on objects of a PostgreSQL server, and membership in groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import InvocationError

from ._psql import Connection, identifier, literal, query, run

if TYPE_CHECKING:
    from typing import Unpack

_KINDS = {
    "table": "INSERT SELECT UPDATE DELETE TRUNCATE REFERENCES TRIGGER MAINTAIN".split(),
    "tablespace": ["CREATE"],
    "language": ["USAGE"],
    "sequence": "SELECT UPDATE USAGE".split(),
    "schema": "USAGE CREATE".split(),
    "database": "CREATE TEMPORARY CONNECT".split(),
    "function": ["EXECUTE"],
}
_IN_SCHEMAS = ("table", "sequence", "function")
_NEWER = {"MAINTAIN": 170000}  # the server version number that brought a privilege
# For each kind of object: its table, and the columns of name, owner and access list.
_CATALOG = {
    "tablespace": ("pg_tablespace o", "o.spcname", "o.spcowner", "o.spcacl"),
    "language": ("pg_language o", "o.lanname", "o.lanowner", "o.lanacl"),
    "schema": ("pg_namespace o", "o.nspname", "o.nspowner", "o.nspacl"),
    "database": ("pg_database o", "o.datname", "o.datdba", "o.datacl"),
    "table": ("pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace", "o.relname", "o.relowner", "o.relacl"),
    "sequence": ("pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace", "o.relname", "o.relowner", "o.relacl"),
    "function": ("pg_proc o JOIN pg_namespace n ON n.oid = o.pronamespace", "o.oid", "o.proowner", "o.proacl"),
}
_RELATIONS = {"table": "o.relkind IN ('r', 'p', 'v', 'm', 'f')", "sequence": "o.relkind = 'S'"}

Grants = dict[str, dict[str, bool]]


def privileges_list(
    name: str, object_type: str, prepend: str = "public", **connection: Unpack[Connection]
) -> dict[str, Any]:
    """Return the grants on an object: ``{role: {privilege: whether the role may grant it to others}}``.

    For a group, ``{member: whether it may admit others}``. ``prepend`` is the schema of a table, sequence or function.

    CLI Example::

        asyncstate call postgres.privileges_list stock table maintenance_db=shop
    """
    if _kind(object_type) == "group":
        return _members(name, connection)
    objects = _objects(name, object_type.lower(), prepend, connection)
    return objects[0].grants if objects else {}


def has_privileges(
    name: str,
    object_name: str,
    object_type: str,
    privileges: str | None = None,
    grant_option: bool | None = None,
    prepend: str = "public",
    **connection: Unpack[Connection],
) -> bool:
    """Return whether a role has all of these privileges (with commas between them) on an object, or owns it.

    ``object_name`` ALL means every table, sequence or function of the schema ``prepend``.
    """
    kind = _kind(object_type)
    wanted = _wanted(kind, privileges, connection)
    if kind == "group":
        members = _members(object_name, connection)
        return name in members and (members[name] or not grant_option)
    objects = _objects(object_name, kind, prepend, connection)
    return all(each.suffices(name, wanted, grant_option=bool(grant_option)) for each in objects) and (
        bool(objects) or _is_all(kind, object_name)
    )


def privileges_grant(
    name: str,
    object_name: str,
    object_type: str,
    privileges: str | None = None,
    grant_option: bool | None = None,
    prepend: str = "public",
    **connection: Unpack[Connection],
) -> bool:
    """Grant privileges (with commas between them) on an object to a role; False if it has them.

    CLI Example::

        asyncstate call postgres.privileges_grant ada stock table SELECT,UPDATE maintenance_db=shop
    """
    if has_privileges(name, object_name, object_type, privileges, grant_option, prepend, **connection):
        return False
    kind = _kind(object_type)
    role = _role(name)
    if kind == "group":
        option = " WITH ADMIN OPTION" if grant_option else ""
        run(f"GRANT {identifier(object_name)} TO {role}{option};", **connection)
        return True
    option = " WITH GRANT OPTION" if grant_option else ""
    run(f"GRANT {_words(privileges)} ON {_object(object_name, kind, prepend)} TO {role}{option};", **connection)
    return True


def privileges_revoke(
    name: str,
    object_name: str,
    object_type: str,
    privileges: str | None = None,
    prepend: str = "public",
    **connection: Unpack[Connection],
) -> bool:
    """Revoke privileges (with commas between them) on an object from a role; False unless it has them all."""
    if not has_privileges(name, object_name, object_type, privileges, None, prepend, **connection):
        return False
    kind = _kind(object_type)
    what = identifier(object_name) if kind == "group" else None
    what = what or f"{_words(privileges)} ON {_object(object_name, kind, prepend)}"
    run(f"REVOKE {what} FROM {_role(name)};", **connection)
    return True


class _Object:
    """One object: its owner, and the grants on it."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.grants: Grants = {}

    def suffices(self, role: str, wanted: list[str], *, grant_option: bool) -> bool:
        if role == self.owner:
            return True
        granted = self.grants.get(role, {})
        return all(each in granted and (granted[each] or not grant_option) for each in wanted)


def _objects(name: str, kind: str, prepend: str, connection: Connection) -> list[_Object]:
    source, column, owner, acl = _CATALOG[kind]
    conditions = [_RELATIONS[kind]] if kind in _RELATIONS else []
    if _is_all(kind, name):
        conditions.append(f"n.nspname = {literal(prepend)}")
    elif kind == "function":
        conditions.append(f"o.oid = {_function_id(name, prepend, connection)}")
    else:
        conditions += [f"n.nspname = {literal(prepend)}"] if kind in _IN_SCHEMAS else []
        conditions.append(f"{column} = {literal(name)}")
    rows = query(
        f"SELECT o.oid AS id, pg_get_userbyid({owner}) AS owner,"  # noqa: S608 - quoted
        " CASE a.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(a.grantee) END AS role,"
        f" a.privilege_type, a.is_grantable FROM {source} LEFT JOIN LATERAL aclexplode({acl}) a ON true"
        f" WHERE {' AND '.join(conditions)}",
        **connection,
    )
    found: dict[str, _Object] = {}
    for row in rows:
        grants = found.setdefault(row["id"], _Object(row["owner"])).grants
        if row["role"]:
            grants.setdefault(row["role"], {})[row["privilege_type"]] = row["is_grantable"] == "t"
    return list(found.values())


def _function_id(name: str, prepend: str, connection: Connection) -> int:
    """Return the OID of a function, 0 if there is none. Its types are looked up in the database's search path."""
    signature = literal(_function(name, prepend))
    sql = f"SELECT COALESCE(pg_catalog.to_regprocedure({signature})::pg_catalog.oid, 0::pg_catalog.oid) AS id"
    (row,) = query(sql, own_names=False, **connection)
    return int(row["id"])


def _members(group: str, connection: Connection) -> dict[str, bool]:
    rows = query(
        "SELECT r.rolname, m.admin_option FROM pg_catalog.pg_auth_members m"  # noqa: S608 - quoted
        " JOIN pg_catalog.pg_roles r ON m.member = r.oid JOIN pg_catalog.pg_roles g ON m.roleid = g.oid"
        f" WHERE g.rolname = {literal(group)}",
        **connection,
    )
    members: dict[str, bool] = {}
    for row in rows:
        members[row["rolname"]] = members.get(row["rolname"], False) or row["admin_option"] == "t"
    return members


def _kind(object_type: str) -> str:
    kind = str(object_type).lower()
    if kind != "group" and kind not in _KINDS:
        raise InvocationError(f"Invalid object_type: {kind} provided; it may be group, {', '.join(_KINDS)}")
    return kind


def _wanted(kind: str, privileges: str | None, connection: Connection) -> list[str]:
    """Return the wanted privileges. InvocationError for one that objects of this kind do not have."""
    if kind == "group":
        if privileges:
            raise InvocationError("The privileges option should not be set for object_type group")
        return []
    known = _KINDS[kind]
    named = _split(privileges)
    if not set(named) <= {*known, "ALL"}:
        raise InvocationError(f"Invalid privilege(s): {privileges or ''} provided for object {kind}")
    if "ALL" not in named:
        return named
    newer = [each for each in known if each in _NEWER]
    if not newer:
        return known
    (row,) = query("SELECT current_setting('server_version_num') AS number", **connection)
    return [each for each in known if int(row["number"]) >= _NEWER.get(each, 0)]


def _split(privileges: str | None) -> list[str]:
    return [each.upper() for each in re.split(r"\s*,\s*", (privileges or "").strip())]


def _words(privileges: str | None) -> str:
    named = _split(privileges)
    return "ALL" if "ALL" in named else ", ".join(named)


def _object(name: str, kind: str, prepend: str) -> str:
    if _is_all(kind, name):
        return f"ALL {kind.upper()}S IN SCHEMA {identifier(prepend)}"
    if kind == "function":
        return f"FUNCTION {_function(name, prepend)}"
    return f"{kind.upper()} {f'{identifier(prepend)}.' if kind in _IN_SCHEMAS else ''}{identifier(name)}"


def _function(signature: str, prepend: str) -> str:
    """Return a function with its arguments as SQL. InvocationError unless it is ``name(type, …)``."""
    found = re.fullmatch(r"([^();]+)\(([\w\s,.\[\]\"]*)\)", signature)
    if found is None:
        raise InvocationError(f"{signature!r} is no function: expected its name and argument types, f(integer, text)")
    name, types = found.groups()
    return f"{identifier(prepend)}.{identifier(name.strip().strip(chr(34)))}({types})"


def _is_all(kind: str, name: str) -> bool:
    return kind in _IN_SCHEMAS and name.upper() == "ALL"


def _role(name: str) -> str:
    """Return a role as SQL; ``public`` is the keyword for all roles, not a name."""
    return "PUBLIC" if name.lower() == "public" else identifier(name)
