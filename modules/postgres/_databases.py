"""Databases, the schemas in them, and the tablespaces they are kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._psql import Connection, identifier, literal, query, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

_SHORTHAND = {
    "@own": "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'",
    "@depends": "SELECT FROM pg_depend d WHERE d.deptype",
}
# They name the objects of a database as ALTER … OWNER TO needs it. The objects of an extension change owner only with
# the extension, and the sequence of a column only with its table.
_OWNED_QUERIES = (
    """
    SELECT 'SCHEMA ' || quote_ident(n.nspname) AS n
    FROM pg_namespace n
    WHERE @own AND NOT EXISTS (@depends = 'e' AND d.objid = n.oid)
    """,
    """
    SELECT CASE c.relkind WHEN 'v' THEN 'VIEW ' WHEN 'm' THEN 'MATERIALIZED VIEW ' WHEN 'S' THEN 'SEQUENCE '
        WHEN 'f' THEN 'FOREIGN TABLE ' ELSE 'TABLE ' END || c.oid::regclass AS n
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE @own AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT EXISTS (@depends = 'e' AND d.objid = c.oid)
        AND NOT (c.relkind = 'S' AND EXISTS (@depends IN ('a', 'i') AND d.objid = c.oid))
    """,
    """
    SELECT CASE p.prokind WHEN 'a' THEN 'AGGREGATE ' WHEN 'p' THEN 'PROCEDURE ' ELSE 'FUNCTION ' END
        || p.oid::regprocedure AS n
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE @own AND NOT EXISTS (@depends = 'e' AND d.objid = p.oid)
    """,
)


def db_list(**connection: Unpack[Connection]) -> dict[str, dict[str, str]]:
    """Return ``Owner``, ``Encoding``, ``Collate``, ``Ctype``, ``Access privileges`` and ``Tablespace`` by database.

    CLI Example::

        asyncstate call postgres.db_list
    """
    rows = query(
        'SELECT d.datname AS "Name", r.rolname AS "Owner", pg_encoding_to_char(d.encoding) AS "Encoding",'
        ' d.datcollate AS "Collate", d.datctype AS "Ctype", d.datacl AS "Access privileges", t.spcname AS "Tablespace"'
        " FROM pg_catalog.pg_database d JOIN pg_catalog.pg_roles r ON r.oid = d.datdba"
        " JOIN pg_catalog.pg_tablespace t ON t.oid = d.dattablespace",
        **connection,
    )
    return _by_name(rows)


def db_exists(name: str, **connection: Unpack[Connection]) -> bool:
    """Return whether there is a database of this name."""
    return name in db_list(**connection)


def db_create(
    name: str,
    tablespace: str | None = None,
    encoding: str | None = None,
    lc_collate: str | None = None,
    lc_ctype: str | None = None,
    owner: str | None = None,
    template: str | None = None,
    **connection: Unpack[Connection],
) -> bool:
    """Create a database. CommandExecutionError with the server's message if that fails.

    CLI Example::

        asyncstate call postgres.db_create shop owner=ada template=template0 encoding=UTF8
    """
    given = {
        "TABLESPACE": tablespace and identifier(tablespace),
        "OWNER": owner and identifier(owner),
        "TEMPLATE": template and identifier(template),
        "ENCODING": encoding and literal(encoding),
        "LC_COLLATE": lc_collate and literal(lc_collate),
        "LC_CTYPE": lc_ctype and literal(lc_ctype),
    }
    clauses = "".join(f" {word} = {value}" for word, value in given.items() if value)
    run(f"CREATE DATABASE {identifier(name)}{clauses};", **connection)
    return True


def db_alter(
    name: str,
    tablespace: str | None = None,
    owner: str | None = None,
    owner_recurse: bool = False,
    **connection: Unpack[Connection],
) -> bool:
    """Change the owner of a database, with ``owner_recurse`` also of its objects, or move it to another tablespace."""
    if owner and owner_recurse:
        owner_to(name, owner, **connection)
    elif owner:
        run(f"ALTER DATABASE {identifier(name)} OWNER TO {identifier(owner)};", **connection)
    if tablespace:
        run(f"ALTER DATABASE {identifier(name)} SET TABLESPACE {identifier(tablespace)};", **connection)
    return True


def db_remove(name: str, **connection: Unpack[Connection]) -> bool:
    """Drop a database after ending its sessions."""
    database = identifier(name)
    run(f"REVOKE CONNECT ON DATABASE {database} FROM public;", **connection)
    query(
        "SELECT pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity"  # noqa: S608 - quoted
        f" WHERE datname = {literal(name)} AND pid <> pg_backend_pid()",
        **connection,
    )
    run(f"DROP DATABASE {database};", **connection)
    return True


def owner_to(dbname: str, ownername: str, **connection: Unpack[Connection]) -> bool:
    """Give a database, its schemas, tables, views, sequences and functions to a role, in one transaction.

    Objects of the server itself or of an extension keep their owner.
    """
    inside: Connection = {**connection, "maintenance_db": dbname}
    owner = identifier(ownername)
    names = [f"DATABASE {identifier(dbname)}"]
    for statement in _OWNED_QUERIES:
        for short, long in _SHORTHAND.items():
            statement = statement.replace(short, long)
        names += [row["n"] for row in query(statement, **inside)]
    run("".join(f"ALTER {name} OWNER TO {owner};\n" for name in names), atomic=True, own_names=True, **inside)
    return True


def schema_list(dbname: str, **connection: Any) -> dict[str, dict[str, str]]:
    """Return ``owner`` and ``acl`` of the schemas of a database. `schema_create` describes the arguments."""
    rows = query(
        'SELECT n.nspname AS "Name", n.nspacl AS "acl", r.rolname AS "owner"'
        " FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner",
        **_inside(dbname, **connection),
    )
    return _by_name(rows)


def schema_get(dbname: str, name: str, **connection: Any) -> dict[str, str] | None:
    """Return the entry of one schema in `schema_list`, None if there is none of this name."""
    return schema_list(dbname, **connection).get(name)


def schema_exists(dbname: str, name: str, **connection: Any) -> bool:
    """Return whether a database has a schema of this name."""
    return schema_get(dbname, name, **connection) is not None


def schema_create(dbname: str, name: str, owner: str | None = None, **connection: Any) -> bool:
    """Create a schema; False if there is one of this name.

    Unlike elsewhere, ``user`` is the system account that runs psql; ``db_user``, ``db_password``, ``db_host`` and
    ``db_port`` are for the server.

    CLI Example::

        asyncstate call postgres.schema_create shop stock owner=ada
    """
    if schema_exists(dbname, name, **connection):
        return False
    authorization = f" AUTHORIZATION {identifier(owner)}" if owner else ""
    run(f"CREATE SCHEMA {identifier(name)}{authorization};", **_inside(dbname, **connection))
    return True


def schema_remove(dbname: str, name: str, **connection: Any) -> bool:
    """Drop an empty schema; False if there is none of this name. `schema_create` describes the arguments."""
    if not schema_exists(dbname, name, **connection):
        return False
    run(f"DROP SCHEMA {identifier(name)};", **_inside(dbname, **connection))
    return True


def tablespace_list(**connection: Unpack[Connection]) -> dict[str, dict[str, str]]:
    """Return ``Owner``, ``ACL``, ``Opts`` and ``Location`` of the tablespaces by name."""
    rows = query(
        'SELECT t.spcname AS "Name", r.rolname AS "Owner", t.spcacl AS "ACL", t.spcoptions AS "Opts",'
        ' pg_tablespace_location(t.oid) AS "Location"'
        " FROM pg_catalog.pg_tablespace t JOIN pg_catalog.pg_roles r ON r.oid = t.spcowner",
        **connection,
    )
    return _by_name(rows)


def tablespace_exists(name: str, **connection: Unpack[Connection]) -> bool:
    """Return whether there is a tablespace of this name."""
    return name in tablespace_list(**connection)


def tablespace_create(
    name: str,
    location: str,
    options: Mapping[str, Any] | None = None,
    owner: str | None = None,
    **connection: Unpack[Connection],
) -> bool:
    """Create a tablespace in a folder, which must exist and belong to the server's account."""
    owned = f" OWNER {identifier(owner)}" if owner else ""
    settings = f" WITH ({_settings(options)})" if options else ""
    run(f"CREATE TABLESPACE {identifier(name)}{owned} LOCATION {literal(location)}{settings};", **connection)
    return True


def tablespace_alter(
    name: str,
    new_name: str | None = None,
    new_owner: str | None = None,
    set_option: Mapping[str, Any] | None = None,
    reset_option: str | None = None,
    **connection: Unpack[Connection],
) -> bool:
    """Change owner, options or name of a tablespace, in one transaction."""
    actions = []
    if new_owner:
        actions.append(f"OWNER TO {identifier(new_owner)}")
    if set_option:
        actions.append(f"SET ({_settings(set_option)})")
    if reset_option:
        actions.append(f"RESET ({identifier(reset_option)})")
    if new_name:
        actions.append(f"RENAME TO {identifier(new_name)}")
    if actions:
        run("".join(f"ALTER TABLESPACE {identifier(name)} {each};\n" for each in actions), atomic=True, **connection)
    return True


def tablespace_remove(name: str, **connection: Unpack[Connection]) -> bool:
    """Drop an empty tablespace."""
    run(f"DROP TABLESPACE {identifier(name)};", **connection)
    return True


def _settings(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{identifier(key)} = {literal(value)}" for key, value in options.items())


def _by_name(rows: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    return {row.pop("Name"): row for row in rows}


def _inside(
    dbname: str,
    user: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: int | str | None = None,
) -> Connection:
    return Connection(maintenance_db=dbname, runas=user, user=db_user, password=db_password, host=db_host, port=db_port)
