"""The PostgreSQL states and modules on a real server."""

from __future__ import annotations

import os
import pwd
import uuid

import pytest
from tables import beside

from asyncstate.errors import CommandExecutionError, InvocationError

TABLES = beside(__file__)

pytestmark = pytest.mark.server


@pytest.fixture
def fresh():
    """Make names that no other test has, hard ones to quote. The server is thrown away: nothing needs to be dropped."""
    return lambda prefix: f"{prefix} \"{uuid.uuid4().hex[:8]}'\\"


def rows(postgres, function, **arguments):
    """The rows of a dry run, a real run and a second one, in short."""
    return [(row["result"], row["comment"], row["changes"]) for row in postgres.three_runs(function, **arguments)]


def test_a_user_is_created_once(postgres, fresh):
    name, group = fresh("ada"), fresh("staff")
    assert postgres.state("postgres_group.present", name=group)["changes"] == {group: "Present"}
    arguments = {"createdb": True, "password": "o'hara", "groups": [group], "valid_until": "2031-01-02"}
    assert rows(postgres, "postgres_user.present", name=name, **arguments) == [
        (None, f"User {name} is set to be created", {}),
        (True, f"The user {name} has been created", {name: "Present"}),
        (True, f"User {name} is already present", {}),
    ]
    role = postgres.call("postgres.role_get", name, return_password=True)
    assert (role["can create databases"], role["can login"], role["superuser"]) == (True, True, False)
    assert (role["groups"], str(role["expiry time"])) == ([group], "2031-01-02 00:00:00")
    assert role["password"].startswith("md5")
    assert postgres.call("postgres.role_get", group)["can login"] is False


@pytest.mark.parametrize(
    "change",
    TABLES["attributes of a role are changed once"],
)
def test_attributes_of_a_role_are_changed_once(postgres, fresh, change):
    name = fresh("ada")
    postgres.call("postgres.user_create", name)
    dry, real, again = rows(postgres, "postgres_user.present", name=name, **change)
    assert dry == (None, f"User {name} is set to be updated", {name: change})
    assert real == (True, f"The user {name} has been updated", {name: change})
    assert again == (True, f"User {name} is already present", {})


def test_a_date_the_server_cannot_read(postgres, fresh):
    name = fresh("ada")
    postgres.call("postgres.user_create", name)
    row = postgres.state("postgres_user.present", name=name, valid_until="some day", test=True)
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith('ERROR:  invalid input syntax for type timestamp: "some day"')
    assert postgres.state("postgres_user.present", name=name, valid_until="infinity")["changes"] == {}


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


def test_groups_are_added(postgres, fresh):
    name, one, two = fresh("ada"), fresh("one"), fresh("two")
    for group in (one, two):
        postgres.call("postgres.group_create", group)
    postgres.call("postgres.user_create", name, groups=[one])
    dry, real, again = rows(postgres, "postgres_user.present", name=name, groups=f"{one},{two}")
    assert dry == (None, f"User {name} is set to be updated", {name: {"groups": [two]}})
    assert real[2] == {name: {"groups": [two]}}
    assert again[2] == {}
    assert sorted(postgres.call("postgres.role_get", name)["groups"]) == sorted([one, two])


def test_a_role_whose_group_does_not_exist_is_not_created_half(postgres, fresh):
    name = fresh("ada")
    row = postgres.state("postgres_user.present", name=name, groups="nobody at all")
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"] == f'Failed to create user {name}\nERROR:  role "nobody at all" does not exist'
    assert postgres.call("postgres.user_exists", name) is False


@pytest.mark.parametrize(("kind", "function"), [("User", "postgres_user"), ("Group", "postgres_group")])
def test_a_role_is_removed_once(postgres, fresh, kind, function):
    name = fresh("ada")
    postgres.call("postgres.user_create", name)
    assert rows(postgres, f"{function}.absent", name=name) == [
        (None, f"{kind} {name} is set to be removed", {}),
        (True, f"{kind} {name} has been removed", {name: "Absent"}),
        (True, f"{kind} {name} is not present, so it cannot be removed", {}),
    ]


def test_a_role_that_owns_something_stays(postgres, fresh):
    name, database = fresh("ada"), fresh("shop")
    postgres.call("postgres.user_create", name)
    postgres.call("postgres.db_create", database, owner=name)
    row = postgres.state("postgres_user.absent", name=name)
    assert row["result"] is False
    assert row["comment"].startswith(f"User {name} failed to be removed\nERROR:  role ")
    assert "cannot be dropped" in row["comment"]


def test_a_database(postgres, fresh):
    name, owner = fresh("shop"), fresh("ada")
    postgres.call("postgres.user_create", owner)
    arguments = {"encoding": "UTF8", "lc_collate": "C", "lc_ctype": "C", "template": "template0"}
    assert rows(postgres, "postgres_database.present", name=name, **arguments) == [
        (None, f"Database {name} is set to be created", {}),
        (True, f"The database {name} has been created", {name: "Present"}),
        (True, f"Database {name} is already present", {}),
    ]
    assert rows(postgres, "postgres_database.present", name=name, owner=owner, **arguments) == [
        (None, f"Database {name} exists, but parameters need to be changed", {}),
        (True, f"Parameters for database {name} have been changed", {name: "Parameters changed"}),
        (True, f"Database {name} is already present", {}),
    ]
    for wrong in ({"encoding": "LATIN1"}, {"lc_collate": "POSIX"}, {"lc_ctype": "POSIX"}):
        row = postgres.state("postgres_database.present", name=name, **wrong)
        assert row["result"] is False
        assert row["comment"] == f"Database {name} has wrong parameters which couldn't be changed on fly."
    row = postgres.state("postgres_database.present", name=name, owner="nobody at all")
    assert row["result"] is False
    assert row["comment"].startswith(f"Failed to change parameters for database {name}\nERROR:  role")
    assert rows(postgres, "postgres_database.absent", name=name) == [
        (None, f"Database {name} is set to be removed", {}),
        (True, f"Database {name} has been removed", {name: "Absent"}),
        (True, f"Database {name} is not present, so it cannot be removed", {}),
    ]


def test_the_owner_of_a_database_has_nothing_run_as_superuser(postgres, fresh):
    name, owner = fresh("shop"), fresh("ada")
    postgres.call("postgres.user_create", owner)
    postgres.call("postgres.db_create", name)
    quoted = '"' + name.replace('"', '""') + '"'
    for statement in (
        "CREATE SCHEMA evil",
        "CREATE TABLE evil.ran (x text)",
        "CREATE FUNCTION evil.note() RETURNS text LANGUAGE sql AS $$ INSERT INTO evil.ran VALUES ('x') RETURNING x $$",
        "CREATE FUNCTION evil.quote_ident(name) RETURNS text LANGUAGE sql AS $$ SELECT evil.note() $$",
        f"ALTER DATABASE {quoted} SET search_path = evil, pg_catalog",
    ):
        in_sql(postgres, name, statement)
    row = postgres.state("postgres_database.present", name=name, owner=owner, owner_recurse=True)
    assert (row["result"], row["comment"]) == (True, f"Parameters for database {name} have been changed")
    assert postgres.call("postgres.psql_query", "SELECT * FROM evil.ran", maintenance_db=name) == []


def test_a_database_changes_hands_with_what_is_in_it(postgres, fresh):
    name, owner = fresh("shop"), fresh("ada")
    postgres.call("postgres.user_create", owner)
    postgres.call("postgres.db_create", name)
    for statement in (
        "CREATE SCHEMA a",
        "CREATE TABLE a.t (id serial, name text)",
        "CREATE VIEW a.v AS SELECT * FROM a.t",
        "CREATE SEQUENCE s",
        "CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$",
        "CREATE AGGREGATE g(integer) (SFUNC = int4pl, STYPE = integer)",
    ):
        in_sql(postgres, name, statement)
    row = postgres.state("postgres_database.present", name=name, owner=owner, owner_recurse=True)
    assert row["changes"] == {name: "Parameters changed"}
    owners = postgres.call(
        "postgres.psql_query",
        "SELECT relname AS n, pg_get_userbyid(relowner) AS o FROM pg_class WHERE relname IN ('t', 'v', 's', 't_id_seq')"
        " UNION SELECT proname, pg_get_userbyid(proowner) FROM pg_proc WHERE proname IN ('f', 'g')"
        " UNION SELECT nspname, pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname IN ('a', 'pg_catalog')",
        maintenance_db=name,
    )
    own = dict.fromkeys(("t", "v", "s", "t_id_seq", "f", "g", "a"), owner)
    assert {row["n"]: row["o"] for row in owners} == {**own, "pg_catalog": "postgres"}
    assert postgres.call("postgres.db_list")[name]["Owner"] == owner


def test_a_schema(postgres, fresh):
    database, owner = fresh("shop"), fresh("ada")
    postgres.call("postgres.db_create", database)
    postgres.call("postgres.user_create", owner)
    where = {"dbname": database, "name": 'st"ock'}
    assert rows(postgres, "postgres_schema.present", owner=owner, **where) == [
        (None, f'Schema st"ock is set to be created in database {database}.', {}),
        (True, f'Schema st"ock has been created in database {database}', {'st"ock': "Present"}),
        (True, f'Schema st"ock already exists in database {database}', {}),
    ]
    assert postgres.call("postgres.schema_get", database, 'st"ock')["owner"] == owner
    in_sql(postgres, database, 'CREATE TABLE "st""ock".t (id integer)')
    row = postgres.state("postgres_schema.absent", **where)
    assert row["result"] is False
    assert row["comment"].startswith('Schema st"ock failed to be removed\nERROR:  cannot drop schema')
    in_sql(postgres, database, 'DROP TABLE "st""ock".t')
    assert rows(postgres, "postgres_schema.absent", **where) == [
        (None, f'Schema st"ock is set to be removed from database {database}', {}),
        (True, f'Schema st"ock has been removed from database {database}', {'st"ock': "Absent"}),
        (True, f'Schema st"ock is not present in database {database}, so it cannot be removed', {}),
    ]


def test_an_extension(postgres, fresh):
    database = fresh("shop")
    postgres.call("postgres.db_create", database)
    where = {"name": "hstore", "maintenance_db": database}
    if not postgres.call("postgres.is_available_extension", "hstore"):
        pytest.skip("the server has no contributed extensions")
    assert rows(postgres, "postgres_extension.present", ext_version="1.4", **where) == [
        (None, "Extension hstore is set to be installed", {}),
        (True, "The extension hstore has been installed", {"hstore": "Installed"}),
        (True, "Extension hstore is already present", {}),
    ]
    postgres.call("postgres.schema_create", database, "other")
    assert rows(postgres, "postgres_extension.present", ext_version="1.8", schema="other", **where) == [
        (None, "Extension hstore is set to be upgraded", {}),
        (True, "The extension hstore has been upgraded", {"hstore": "Upgraded"}),
        (True, "Extension hstore is already present", {}),
    ]
    found = postgres.call("postgres.get_installed_extension", "hstore", maintenance_db=database)
    assert (found["extversion"], found["schema_name"]) == ("1.8", "other")
    assert rows(postgres, "postgres_extension.absent", **where) == [
        (None, "Extension hstore is set to be removed", {}),
        (True, "Extension hstore has been removed", {"hstore": "Absent"}),
        (True, "Extension hstore is not present, so it cannot be removed", {}),
    ]
    row = postgres.state("postgres_extension.present", name="no such thing", maintenance_db=database)
    assert row["result"] is False
    assert row["comment"].startswith("Failed to install extension no such thing\nextension no such thing is not avail")


PRIVILEGES = TABLES["privileges"]


@pytest.fixture
def shop(postgres, fresh):
    """A database with something of every kind, and nothing granted to anybody."""
    database = fresh("shop")
    postgres.call("postgres.db_create", database)
    body = "RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$"
    for statement in (
        "CREATE SCHEMA a",
        "CREATE TABLE t (id integer)",
        'CREATE TABLE a."in a" (id integer)',
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE SEQUENCE s",
        f"CREATE FUNCTION f(integer, text) {body}",
        f"CREATE FUNCTION a.g(integer) {body}",
    ):
        in_sql(postgres, database, statement)
    return database


@pytest.mark.parametrize(("object_name", "object_type", "options"), PRIVILEGES)
def test_privileges(postgres, fresh, shop, object_name, object_type, options):  # noqa: PLR0917 - one a column of the table
    role = fresh("ada")
    postgres.call("postgres.user_create", role)
    what = {"name": role, "object_name": object_name, "object_type": object_type, "maintenance_db": shop, **options}
    words = ",".join(options["privileges"])
    assert rows(postgres, "postgres_privileges.present", **what) == [
        (None, f"The privilege(s): {words} are set to be granted to {role}", {}),
        (True, f"The privilege(s): {words} have been granted to {role}", {role: "Present"}),
        (True, "The requested privilege(s) are already set", {}),
    ]
    what.pop("grant_option", None)
    assert rows(postgres, "postgres_privileges.absent", **what) == [
        (None, f"The privilege(s): {words} are set to be revoked from {role}", {}),
        (True, f"The privilege(s): {words} have been revoked from {role}", {role: "Absent"}),
        (True, "The requested privilege(s) are not set so cannot be revoked", {}),
    ]


def test_the_owner_and_the_public_have_privileges(postgres, fresh, shop):
    role = fresh("ada")
    postgres.call("postgres.user_create", role)
    in_sql(postgres, shop, f'ALTER TABLE t OWNER TO "{role.replace(chr(34), chr(34) * 2)}"')
    what = {"object_name": "t", "object_type": "table", "maintenance_db": shop, "privileges": "ALL"}
    assert postgres.state("postgres_privileges.present", name=role, **what)["changes"] == {}
    what["privileges"] = ["SELECT"]
    assert rows(postgres, "postgres_privileges.present", name="public", **what)[1][2] == {"public": "Present"}
    listed = postgres.call("postgres.privileges_list", "t", "table", maintenance_db=shop)
    assert listed["public"] == {"SELECT": False}


def test_membership_is_a_privilege(postgres, fresh):
    role, group = fresh("ada"), fresh("staff")
    postgres.call("postgres.user_create", role)
    postgres.call("postgres.group_create", group)
    what = {"name": role, "object_name": group, "object_type": "group"}
    dry, real, again = rows(postgres, "postgres_privileges.present", **what)
    assert dry == (None, f"The privilege(s): {group} are set to be granted to {role}", {})
    assert (real[2], again[2]) == ({role: "Present"}, {})
    assert rows(postgres, "postgres_privileges.present", grant_option=True, **what)[1][2] == {role: "Present"}
    assert postgres.call("postgres.privileges_list", group, "group") == {role: True}
    assert [row[2] for row in rows(postgres, "postgres_privileges.absent", **what)] == [{}, {role: "Absent"}, {}]


@pytest.mark.parametrize(
    ("arguments", "comment"),
    TABLES["wrong privileges are a failed row"],
)
def test_wrong_privileges_are_a_failed_row(postgres, arguments, comment):
    row = postgres.state("postgres_privileges.present", name="ada", object_name="x; DROP TABLE t", **arguments)
    assert (row["result"], row["changes"]) == (False, {})
    assert comment in row["comment"]


def test_a_tablespace(postgres, fresh, postgres_socket):
    name, owner = fresh("fast"), fresh("ada")
    postgres.call("postgres.user_create", owner)
    folder = f"{postgres_socket}/{uuid.uuid4().hex}"
    os.mkdir(folder)
    os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    what = {"name": name, "directory": folder}
    assert rows(postgres, "postgres_tablespace.present", **what) == [
        (None, f"Tablespace {name} is set to be created", {}),
        (True, f"The tablespace {name} has been created", {name: "Present"}),
        (True, f"Tablespace {name} is already present", {}),
    ]
    options = {"random_page_cost": 1.5, "seq_page_cost": 2}
    dry, real, again = rows(postgres, "postgres_tablespace.present", owner=owner, options=options, **what)
    assert dry == (None, f"Tablespace {name} options to be altered", {})
    assert real[2] == {name: {"owner": owner, "options": options}}
    assert again == (True, f"Tablespace {name} is already present", {})
    row = postgres.state("postgres_tablespace.present", name=name, directory="/elsewhere")
    assert row["result"] is False
    assert "is not at the right location" in row["comment"]
    assert [row[2] for row in rows(postgres, "postgres_tablespace.absent", name=name)] == [{}, {name: "Absent"}, {}]


def test_a_query_that_writes(postgres, fresh):
    name = fresh("ada")
    postgres.call("postgres.user_create", name)
    update = "WITH u AS (UPDATE pg_authid SET rolconnlimit = 7 WHERE oid = (SELECT max(oid) FROM pg_authid)"
    update += " RETURNING rolconnlimit) SELECT * FROM u;"
    assert postgres.call("postgres.psql_query", update, write=True) == [{"rolconnlimit": "7"}]
    assert postgres.call("postgres.psql_query", "SELECT 'a,\n\"b' AS x, NULL AS y") == [{"x": 'a,\n"b', "y": ""}]
    assert postgres.call("postgres.psql_query", "SELECT 1 AS x WHERE false") == []


@pytest.mark.parametrize("test", [True, False])
def test_a_server_that_does_not_answer(postgres, tmp_path, test):
    row = postgres.state("postgres_user.present", name="ada", db_host="/nowhere", test=test)
    assert (row["result"], row["changes"]) == (False, {})
    assert "/nowhere/.s.PGSQL.5432" in row["comment"]


def test_no_name_is_no_name(postgres):
    with pytest.raises(InvocationError, match="is no name"):
        postgres.call("postgres.user_create", "")


def in_sql(postgres, database, statement):
    from asyncstate.modules.postgres import _psql

    with postgres.calling():
        _psql.run(statement, maintenance_db=database)
