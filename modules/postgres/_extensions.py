"""Extensions and languages of a database."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import CommandExecutionError

from ._psql import Connection, identifier, literal, query, run

if TYPE_CHECKING:
    from typing import Unpack

NOT_INSTALLED = "EXTENSION NOT INSTALLED"
INSTALLED = "EXTENSION INSTALLED"
TO_UPGRADE = "EXTENSION TO UPGRADE"
TO_MOVE = "EXTENSION TO MOVE"


def available_extensions(**connection: Unpack[Connection]) -> dict[str, dict[str, str]]:
    """Return ``default_version`` and ``comment`` of the extensions whose files are on the server.

    CLI Example::

        asyncstate call postgres.available_extensions
    """
    return {row["name"]: row for row in query("SELECT * FROM pg_available_extensions()", **connection)}


def installed_extensions(**connection: Unpack[Connection]) -> dict[str, dict[str, str]]:
    """Return ``extversion``, ``schema_name`` … of the extensions of the database ``maintenance_db``."""
    rows = query(
        "SELECT e.*, n.nspname AS schema_name FROM pg_catalog.pg_extension e"
        " JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace",
        **connection,
    )
    return {row["extname"]: row for row in rows}


def get_available_extension(name: str, **connection: Unpack[Connection]) -> dict[str, str] | None:
    """Return the entry of one extension in `available_extensions`, None if there is none of this name."""
    return available_extensions(**connection).get(name)


def get_installed_extension(name: str, **connection: Unpack[Connection]) -> dict[str, str] | None:
    """Return the entry of one extension in `installed_extensions`, None if there is none of this name."""
    return installed_extensions(**connection).get(name)


def is_available_extension(name: str, **connection: Unpack[Connection]) -> bool:
    """Return whether an extension's files are on the server."""
    return name.lower() in {each.lower() for each in available_extensions(**connection)}


def is_installed_extension(name: str, **connection: Unpack[Connection]) -> bool:
    """Return whether the database has an extension."""
    return get_installed_extension(name, **connection) is not None


def create_metadata(
    name: str, ext_version: str | None = None, schema: str | None = None, **connection: Unpack[Connection]
) -> list[str]:
    """Return the state of an extension: installed or not, to upgrade to ``ext_version``, to move to ``schema``."""
    installed = get_installed_extension(name, **connection)
    if installed is None:
        return [NOT_INSTALLED]
    found = [INSTALLED]
    if ext_version is not None and _version_key(installed["extversion"]) < _version_key(_bare(ext_version)):
        found.append(TO_UPGRADE)
    if schema is not None and installed["extrelocatable"] == "t" and installed["schema_name"] != schema:
        found.append(TO_MOVE)
    return found


def create_extension(
    name: str,
    if_not_exists: bool | None = None,
    schema: str | None = None,
    ext_version: str | None = None,
    from_version: str | None = None,
    **connection: Unpack[Connection],
) -> bool:
    """Create, move or upgrade an extension. CommandExecutionError if its files are not on the server.

    CLI Example::

        asyncstate call postgres.create_extension hstore maintenance_db=shop
    """
    if not is_available_extension(name, **connection):
        raise CommandExecutionError(f"extension {name} is not available: its files are not installed on the server")
    state = create_metadata(name, ext_version, schema, **connection)
    extension = identifier(name)
    if NOT_INSTALLED in state:
        words = ["CREATE EXTENSION", *(["IF NOT EXISTS"] if if_not_exists in {None, True} else []), extension]
        words += ["SCHEMA", identifier(schema)] if schema else []
        words += ["VERSION", literal(_bare(ext_version))] if ext_version else []
        words += ["FROM", literal(_bare(from_version))] if from_version else []
        statements = [" ".join(words)]
    else:
        moved = [f"ALTER EXTENSION {extension} SET SCHEMA {identifier(schema)}"] if TO_MOVE in state else []
        version = literal(_bare(ext_version))
        statements = [*moved, *([f"ALTER EXTENSION {extension} UPDATE TO {version}"] if TO_UPGRADE in state else [])]
    if statements:
        run("".join(f"{each};\n" for each in statements), atomic=True, **connection)
    return True


def drop_extension(
    name: str,
    if_exists: bool | None = None,
    restrict: bool | None = None,
    cascade: bool | None = None,
    **connection: Unpack[Connection],
) -> bool:
    """Drop an extension with all dependent objects, unless ``cascade`` is False or ``restrict`` is True."""
    if is_installed_extension(name, **connection):
        exists = "IF EXISTS " if if_exists else ""
        behaviour = "RESTRICT" if restrict or cascade is False else "CASCADE"
        run(f"DROP EXTENSION {exists}{identifier(name)} {behaviour};", **connection)
    return True


def language_list(maintenance_db: str, **connection: Any) -> dict[str, str]:
    """Return the names of a database's procedural languages, each as key and value."""
    rows = query('SELECT lanname AS "Name" FROM pg_catalog.pg_language', maintenance_db=maintenance_db, **connection)
    return {row["Name"]: row["Name"] for row in rows}


def language_exists(name: str, maintenance_db: str, **connection: Any) -> bool:
    """Return whether a database has a procedural language."""
    return name in language_list(maintenance_db, **connection)


def _bare(version: object) -> str:
    """Return a version without the quotes that SQL needs and that trees therefore contain."""
    text = str(version)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _version_key(version: str) -> list[tuple[int, str]]:
    parts: list[str] = re.findall(r"\d+|[A-Za-z]+", version)
    return [(int(each), "") if each.isdigit() else (-1, each) for each in parts]
