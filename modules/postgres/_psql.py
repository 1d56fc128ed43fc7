"""Sending statements to a PostgreSQL server, through the program psql, as the account that may connect.

Peer authentication uses the account of the client's process, so the client is a separate process. It gets statements
on standard input and the password in its environment, because every user can read a command line.
"""

from __future__ import annotations

import csv
import io
import os
import re
from typing import TYPE_CHECKING, Any, TypedDict

from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

if TYPE_CHECKING:
    from typing import Unpack

_OPTIONS = ("--no-align", "--no-readline", "--no-psqlrc", "--no-password", "--quiet", "--set", "ON_ERROR_STOP=1")
# The owner of a database can set its search path, so that their own functions and operators are found before those of
# the server. Statements that we run as superuser therefore find the server's names first.
_OWN_NAMES = "SET search_path = pg_catalog, pg_temp;\n"
_PLACE = re.compile(r"^psql:<stdin>:\d+: ", re.MULTILINE)


class Connection(TypedDict, total=False):
    """The server, and the role to connect as. The options ``postgres.host``, ``postgres.user`` … are the defaults.

    ``user`` and ``password`` are for the server. ``runas`` is the system account that runs psql, by default
    ``postgres`` on a socket and our own account over the network.
    """

    user: str | None
    host: str | None
    port: int | str | None
    maintenance_db: str | None
    password: str | None
    runas: str | None


def program(name: str) -> str | None:
    """Return the path of one of PostgreSQL's programs; the option ``postgres.bins_dir`` is searched first."""
    folder = str(_option("postgres.bins_dir") or "")
    path = os.path.join(folder, name)
    if folder and os.access(path, os.X_OK):
        return path
    found: str | None = __salt__["cmd.which"](name)
    return found


def identifier(name: Any) -> str:
    """Return a name as SQL: in double quotes. InvocationError if it is not a possible name."""
    text = str(name)
    if not text or "\0" in text:
        raise InvocationError(f"{text!r} is no name PostgreSQL could have")
    return '"' + text.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a text as SQL: in single quotes, whatever ``standard_conforming_strings`` is."""
    text = str(value)
    if "\0" in text:
        raise InvocationError("a text of PostgreSQL cannot contain a NUL character")
    quoted = text.replace("'", "''")
    return " E'" + quoted.replace("\\", "\\\\") + "'" if "\\" in quoted else f"'{quoted}'"


def run(sql: str, *, atomic: bool = False, own_names: bool = False, **connection: Unpack[Connection]) -> str:
    """Run statements and return psql's output. CommandExecutionError with the server's message if one fails.

    ``atomic`` runs them in one transaction. With ``own_names``, names without a schema are those of the server.
    """
    sql = _OWN_NAMES + sql if own_names else sql
    command = [_client(), *_OPTIONS, *(["--single-transaction"] if atomic else ()), *_target(connection)]
    done = __salt__["cmd.run_all"](
        command,
        stdin=sql,
        stdin_raw_newlines=True,
        python_shell=False,
        clean_env=True,
        env=_environment(connection),
        runas=account(connection),
        cwd="/",
        timeout=_option("postgres.timeout") or None,
        output_loglevel="quiet",
        ignore_retcode=True,
        rstrip=False,
    )
    if done["retcode"] != 0:
        words = _PLACE.sub("", done["stderr"] or done["stdout"]).strip()
        raise CommandExecutionError(words or f"psql failed with return code {done['retcode']}")
    return str(done["stdout"])


def query(
    sql: str, *, write: bool = False, own_names: bool = True, **connection: Unpack[Connection]
) -> list[dict[str, str]]:
    """Return the rows of a query, as texts by the names of their columns; NULL is "" too.

    Names without a schema are those of the server, unless ``own_names`` is False.
    """
    copy = f"COPY ({sql.strip().rstrip(';')}) TO STDOUT WITH CSV HEADER;"
    if write:
        copy = f"START TRANSACTION READ WRITE; {copy} COMMIT TRANSACTION;"
    lines = csv.reader(io.StringIO(run(copy, own_names=own_names, **connection), newline=""))
    header = next(lines, [])
    return [dict(zip(header, line, strict=False)) for line in lines if line]


def account(connection: Connection) -> str | None:
    """Return the system account that runs psql, None for our own."""
    if runas := connection.get("runas"):
        return runas
    host = _given(connection, "host")
    return None if host and not host.startswith("/") else "postgres"


def _client() -> str:
    found = program("psql")
    if found is None:
        raise CommandExecutionError(
            "psql was not found. Install PostgreSQL's client programs, or name their folder in the option"
            " postgres.bins_dir."
        )
    return found


def _target(connection: Connection) -> list[str]:
    words = []
    for key, option in (("user", "--username"), ("host", "--host"), ("port", "--port")):
        if value := _given(connection, key):
            words += [option, value]
    return [*words, "--dbname", _database(_given(connection, "maintenance_db") or "postgres")]


def _database(name: str) -> str:
    """Return a database's name for psql, which would read ``host=…`` or a URL as another server."""
    if "=" not in name and "://" not in name:
        return name
    return "dbname='{}'".format(name.replace("\\", "\\\\").replace("'", "\\'"))


def _environment(connection: Connection) -> dict[str, str]:
    environment = {"PGCLIENTENCODING": "UTF8", "PGDATESTYLE": "ISO, MDY", "PGAPPNAME": "asyncstate"}
    password = connection.get("password")
    if password is None:
        password = _option("postgres.pass") or None
    return environment if password is None else {**environment, "PGPASSWORD": str(password)}


def _given(connection: Connection, key: str) -> str:
    return str(connection.get(key) or _option(f"postgres.{key}") or "")


def _option(name: str) -> Any:
    return __salt__["config.option"](name)
