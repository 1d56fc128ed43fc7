"""The PostgreSQL states and modules on a real server: the cases of postgres.yaml, and what takes more than its steps.

A step is a ``state`` with its rows, result, changes and comment, of a dry run (``test``), a real one (``run``) and a second
one (``again``), those that there are; a ``call`` of the module and what it ``gives``, or ``has`` among others; or ``sql``
statements in a database. ``<word>`` is a name of the test's own, hard to quote; ``…`` stands for any text.
"""

from __future__ import annotations

import os
import pwd
import re
import uuid
from pathlib import Path

import pytest

from asyncstate.data.formats import yaml_data
from asyncstate.errors import CommandExecutionError, InvocationError

pytestmark = pytest.mark.server


@pytest.fixture
def fresh():
    """Make names that no other test has, hard ones to quote. The server is thrown away: nothing needs to be dropped."""
    return lambda prefix: f"{prefix} \"{uuid.uuid4().hex[:8]}'\\"


def rows(postgres, function, **arguments):
    """The rows of a dry run, a real run and a second one, in short."""
    return [(row["result"], row["comment"], row["changes"]) for row in postgres.three_runs(function, **arguments)]


CASES = yaml_data(Path(__file__).with_name("postgres.yaml").read_text(encoding="utf-8"))
RUNS = {"test": True, "run": False, "again": False}
STEPS = {"needs": set(), "sql": {"in"}, "call": {"gives", "has"}, "state": {"arguments", *RUNS}}


@pytest.mark.parametrize("title", CASES)
def test_the_server_becomes_what_the_states_say(postgres, filled, title):
    for step in filled(CASES[title]):
        (kind,) = step.keys() & STEPS
        assert step.keys() - {kind} <= STEPS[kind]
        if "needs" in step and not postgres.call("postgres.is_available_extension", step["needs"]):
            pytest.skip("the server has no contributed extensions")
        for statement in step.get("sql", ()):
            in_sql(postgres, step["in"], statement)
        if "call" in step:
            function, *given = step["call"]
            options = given.pop() if given and isinstance(given[-1], dict) else {}
            found = postgres.call(f"postgres.{function}", *given, **options)
            assert found == step.get("gives", found)
            assert is_like(found, step.get("has", {})), found
        assert kind != "state" or step.keys() & RUNS
        for run, row in rows_of(postgres, step).items():
            result, changes, comment = step[run]
            assert (row["result"], row["changes"]) == (result, changes), row["comment"]
            assert is_like(row["comment"], comment), row["comment"]


def rows_of(postgres, step):
    if "again" in step:
        return dict(zip(RUNS, postgres.three_runs(step["state"], **step["arguments"]), strict=True))
    return {run: postgres.state(step["state"], test=RUNS[run], **step["arguments"]) for run in RUNS if run in step}


def is_like(found, wanted):
    """Say whether a text, a list of texts in any order, or a dict that may have more is the one of the table."""
    if isinstance(wanted, str):
        return re.fullmatch(".*".join(map(re.escape, wanted.split("…"))), str(found), re.DOTALL) is not None
    if isinstance(wanted, dict):
        return all(is_like(found[name], value) for name, value in wanted.items())
    return sorted(found) == sorted(wanted) if isinstance(wanted, list) else found == wanted


@pytest.fixture
def filled(fresh, postgres_socket):
    """Put the names of this test in place of their words, everywhere in steps."""
    names = {}

    def name_of(word):
        if word not in names:
            names[word] = folder_in(postgres_socket) if word == "folder" else fresh(word)
        return names[word]

    def filled(value):
        if isinstance(value, str):
            value = re.sub(r"<(\w+) in SQL>", lambda found: '"' + name_of(found[1]).replace('"', '""') + '"', value)
            return re.sub(r"<(\w+)>", lambda found: name_of(found[1]), value)
        if isinstance(value, dict):
            return {filled(key): filled(item) for key, item in value.items()}
        return [filled(item) for item in value] if isinstance(value, list) else value

    return filled


def folder_in(place):
    """Make a folder of the server's account."""
    folder = f"{place}/{uuid.uuid4().hex}"
    os.mkdir(folder)
    os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    return folder


@pytest.mark.parametrize("encrypted", [None, True, "md5", "scram-sha-256", False])
def test_a_password_is_changed_once_and_never_shown(postgres, fresh, encrypted):
    name = fresh("ada")
    postgres.state("postgres_user.present", name=name, password="first", encrypted=encrypted)
    dry, real, again = rows(postgres, "postgres_user.present", name=name, password="sécret\u00a0", encrypted=encrypted)
    assert dry == (None, f"User {name} is set to be updated", {name: {"password": True}})
    assert real == (True, f"The user {name} has been updated", {name: {"password": True}})
    assert again == (True, f"User {name} is already present", {})
    stored = postgres.call("postgres.role_get", name, return_password=True)["password"]
    assert stored.startswith("md5" if encrypted in {None, True, "md5"} else "SCRAM-SHA-256")
    assert rows(postgres, "postgres_user.present", name=name, password=stored, encrypted=encrypted)[1][2] == {}
    assert rows(postgres, "postgres_user.present", name=name, default_password="other")[1][2] == {}
    refreshed = postgres.state("postgres_user.present", name=name, password=stored, refresh_password=True)
    assert refreshed["changes"] == {name: {"password": True}}


def test_the_server_takes_the_password(postgres, fresh, postgres_socket):
    """The SCRAM verifier is ours; whether the server makes the same of the password only the server can tell."""
    name = fresh("ada")
    hba = f"{postgres_socket}/data/pg_hba.conf"
    with open(hba) as file:
        before = file.read()
    with open(hba, "w") as file:
        file.write("local all postgres peer\nlocal all all scram-sha-256\n")
    try:
        postgres.call("postgres.psql_query", "SELECT pg_reload_conf()")
        options = {"rolepassword": "pass\u00adword ⅷ", "encrypted": "scram-sha-256"}
        postgres.call("postgres.user_create", name, **options)
        found = postgres.call("postgres.psql_query", "SELECT current_user AS me", user=name, password="password viii")
        assert found == [{"me": name}]
        with pytest.raises(CommandExecutionError, match="password authentication failed"):
            postgres.call("postgres.psql_query", "SELECT 1", user=name, password="other")
    finally:
        with open(hba, "w") as file:
            file.write(before)
        postgres.call("postgres.psql_query", "SELECT pg_reload_conf()")


def test_no_name_is_no_name(postgres):
    with pytest.raises(InvocationError, match="is no name"):
        postgres.call("postgres.user_create", "")


def in_sql(postgres, database, statement):
    from asyncstate.modules.postgres import _psql

    with postgres.calling():
        _psql.run(statement, maintenance_db=database)
