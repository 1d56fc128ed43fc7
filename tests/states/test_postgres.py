"""The PostgreSQL states on a fake execution module that keeps roles, databases and the rest in dicts."""

from __future__ import annotations

import copy
import datetime as dt

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError

pytestmark = pytest.mark.feature("F211")

CONNECTION = {"user": "pg", "db_user": "me", "db_password": "secret", "db_host": "db", "db_port": 5433}
ASKED = {"runas": "pg", "user": "me", "password": "secret", "host": "db", "port": 5433, "maintenance_db": None}


class FakeServer:
    """``complaint`` makes whatever would change something fail; ``silent`` answers False instead, as other modules do."""

    def __init__(self, harness):
        self.roles, self.databases, self.schemas, self.extensions = {}, {}, {}, {}
        self.tablespaces, self.privileges, self.clusters = {}, set(), {}
        self.complaint, self.silent, self.asked = "", False, []
        for name in vars(type(self)):
            if not name.startswith("_"):
                harness.salt[f"postgres.{name}"] = getattr(self, name)

    def _change(self, work):
        if self.complaint:
            raise CommandExecutionError(self.complaint)
        if self.silent:
            return False
        work()
        return True

    def role_get(self, name, return_password=False, **connection):
        self.asked.append(connection)
        return self.roles.get(name)

    def user_exists(self, name, **connection):
        return name in self.roles

    def password_matches(self, role, password, stored, encrypted):
        return stored == f"{encrypted}:{password}"

    def expiry_time(self, text, **connection):
        return dt.datetime.fromisoformat(text)

    def user_create(self, name, **options):
        return self._change(lambda: self._set(name, role(), options))

    def user_update(self, name, **options):
        return self._change(lambda: self._set(name, self.roles[name], options))

    def user_remove(self, name, **connection):
        return self._change(lambda: self.roles.pop(name))

    group_create, group_update, group_remove = user_create, user_update, user_remove

    def _set(self, name, found, options):
        for option, attribute in {"createdb": "can create databases", "superuser": "superuser"}.items():
            if options[option] is not None:
                found[attribute] = options[option]
        if options["rolepassword"] is not None:
            found["password"] = f"{options['encrypted']}:{options['rolepassword']}"
        found["groups"] += options["groups"].split(",") if options["groups"] else []
        self.roles[name] = found

    def db_list(self, **connection):
        return self.databases

    def db_exists(self, name, **connection):
        return name in self.databases

    def db_create(self, name, *, owner, encoding, lc_collate, lc_ctype, **options):
        found = database(owner or "postgres", encoding or "UTF8", lc_collate or "C", lc_ctype or "C")
        return self._change(lambda: self.databases.update({name: found}))

    def db_alter(self, name, owner, tablespace, **options):
        given = {"Owner": owner, "Tablespace": tablespace}
        return self._change(lambda: self.databases[name].update({k: v for k, v in given.items() if v}))

    def db_remove(self, name, **connection):
        return self._change(lambda: self.databases.pop(name))

    def schema_get(self, dbname, name, **connection):
        self.asked.append(connection)
        return self.schemas.get((dbname, name))

    def schema_exists(self, dbname, name, **connection):
        return (dbname, name) in self.schemas

    def schema_create(self, dbname, name, owner, **connection):
        return self._change(lambda: self.schemas.update({(dbname, name): {"owner": owner}}))

    def schema_remove(self, dbname, name, **connection):
        return self._change(lambda: self.schemas.pop((dbname, name)))

    def create_metadata(self, name, schema, ext_version, **connection):
        return self.extensions.get(name, ["EXTENSION NOT INSTALLED"])

    def create_extension(self, name, **options):
        return self._change(lambda: self.extensions.update({name: ["EXTENSION INSTALLED"]}))

    def is_installed_extension(self, name, **connection):
        return name in self.extensions

    def drop_extension(self, name, **options):
        return self._change(lambda: self.extensions.pop(name))

    def has_privileges(self, name, object_name, object_type, privileges=None, **options):
        return (name, object_name, object_type, privileges) in self.privileges

    def privileges_grant(self, name, object_name, object_type, privileges=None, **options):
        return self._change(lambda: self.privileges.add((name, object_name, object_type, privileges)))

    def privileges_revoke(self, name, object_name, object_type, privileges=None, **options):
        return self._change(lambda: self.privileges.remove((name, object_name, object_type, privileges)))

    def tablespace_list(self, **connection):
        return self.tablespaces

    def tablespace_exists(self, name, **connection):
        return name in self.tablespaces

    def tablespace_create(self, name, location, options, owner, **connection):
        found = {"Location": location, "Owner": owner or "postgres", "Opts": ""}
        return self._change(lambda: self.tablespaces.update({name: found}))

    def tablespace_alter(self, name, new_owner, set_option, **connection):
        options = ",".join(f"{key}={value}" for key, value in set_option.items())
        return self._change(lambda: self.tablespaces[name].update(Owner=new_owner, Opts=f"{{{options}}}"))

    def tablespace_remove(self, name, **connection):
        return self._change(lambda: self.tablespaces.pop(name))

    def cluster_list(self, verbose):
        assert verbose is True
        return self.clusters

    def cluster_exists(self, version, name):
        return f"{version}/{name}" in self.clusters

    def cluster_create(self, version, name, port, datadir, **options):
        found = {"port": int(port or 5432), "datadir": datadir or "/d"}
        return self._change(lambda: self.clusters.update({f"{version}/{name}": found}))

    def cluster_remove(self, version, name, stop):
        return self._change(lambda: self.clusters.pop(f"{version}/{name}"))


def role(**attributes):
    flags = "inherits privileges|can login|can create roles|can create databases|replication|superuser".split("|")
    plain = {"password": "", "groups": [], "expiry time": None}
    return {**dict.fromkeys(flags, False), **plain, **attributes}


def database(owner="postgres", encoding="UTF8", collate="C", ctype="C"):
    return {"Owner": owner, "Encoding": encoding, "Collate": collate, "Ctype": ctype, "Tablespace": "pg_default"}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    for name in ("user", "group", "database", "schema", "extension", "privileges", "tablespace", "cluster"):
        harness.load("states", f"postgres_{name}")
    return harness


@pytest.fixture
def server(plugins):
    return FakeServer(plugins)


def removed(what, name, place="{}"):
    return (f"{what} is set to be removed", f"{what} has been removed", {name: "Absent"}, f"{what} is not present")


PRESENT = [
    ("postgres_user", {"name": "ada", "password": "p", "createdb": True, "groups": "a,b"},
     ("User ada is set to be created", "The user ada has been created", {"ada": "Present"},
      "User ada is already present", "Failed to create user ada")),
    ("postgres_group", {"name": "staff", "password": "p"},
     ("Group staff is set to be created", "The group staff has been created", {"staff": "Present"},
      "Group staff is already present", "Failed to create group staff")),
    ("postgres_database", {"name": "shop", "owner": "ada", "encoding": "utf8", "lc_collate": "C", "lc_ctype": "C"},
     ("Database shop is set to be created", "The database shop has been created", {"shop": "Present"},
      "Database shop is already present", "Failed to create database shop")),
    ("postgres_schema", {"name": "s", "dbname": "d", "owner": "ada"},
     ("Schema s is set to be created in database d.", "Schema s has been created in database d", {"s": "Present"},
      "Schema s already exists in database d", "Failed to create schema s in database d")),
    ("postgres_extension", {"name": "e", "schema": "s", "ext_version": 1.4},
     ("Extension e is set to be installed", "The extension e has been installed", {"e": "Installed"},
      "Extension e is already present", "Failed to install extension e")),
    ("postgres_privileges", {"name": "ada", "object_name": "t", "object_type": "table", "privileges": ["A", "B"]},
     ("The privilege(s): A,B are set to be granted to ada", "The privilege(s): A,B have been granted to ada",
      {"ada": "Present"}, "The requested privilege(s) are already set", "Failed to grant privilege(s): A,B to ada")),
    ("postgres_privileges", {"name": "ada", "object_name": "g", "object_type": "group"},
     ("The privilege(s): g are set to be granted to ada", "The privilege(s): g have been granted to ada",
      {"ada": "Present"}, "The requested privilege(s) are already set", "Failed to grant privilege(s): g to ada")),
    ("postgres_tablespace", {"name": "t", "directory": "/d"},
     ("Tablespace t is set to be created", "The tablespace t has been created", {"t": "Present"},
      "Tablespace t is already present", "Failed to create tablespace t")),
    ("postgres_cluster", {"name": "main", "version": 15, "port": "5433", "datadir": "/x"},
     ("Cluster 15/main is set to be created", "The cluster 15/main has been created", {"15/main": "Present"},
      "Cluster 15/main is already present", "Failed to create cluster 15/main")),
]  # fmt: skip
ABSENT = [
    ("postgres_user", "User ada is set to be removed", "User ada has been removed", {"ada": "Absent"},
     "User ada is not present, so it cannot be removed", "User ada failed to be removed"),
    ("postgres_group", "Group staff is set to be removed", "Group staff has been removed", {"staff": "Absent"},
     "Group staff is not present, so it cannot be removed", "Group staff failed to be removed"),
    ("postgres_database", "Database shop is set to be removed", "Database shop has been removed", {"shop": "Absent"},
     "Database shop is not present, so it cannot be removed", "Database shop failed to be removed"),
    ("postgres_schema", "Schema s is set to be removed from database d", "Schema s has been removed from database d",
     {"s": "Absent"}, "Schema s is not present in database d, so it cannot be removed",
     "Schema s failed to be removed"),
    ("postgres_extension", "Extension e is set to be removed", "Extension e has been removed", {"e": "Absent"},
     "Extension e is not present, so it cannot be removed", "Extension e failed to be removed"),
    ("postgres_privileges", "The privilege(s): A,B are set to be revoked from ada",
     "The privilege(s): A,B have been revoked from ada", {"ada": "Absent"},
     "The requested privilege(s) are not set so cannot be revoked", "Failed to revoke privilege(s): A,B from ada"),
    ("postgres_privileges", "The privilege(s): g are set to be revoked from ada",
     "The privilege(s): g have been revoked from ada", {"ada": "Absent"},
     "The requested privilege(s) are not set so cannot be revoked", "Failed to revoke privilege(s): g from ada"),
    ("postgres_tablespace", "Tablespace t is set to be removed", "Tablespace t has been removed", {"t": "Absent"},
     "Tablespace t is not present, so it cannot be removed", "Tablespace t failed to be removed"),
    ("postgres_cluster", "Cluster 15/main is set to be removed", "Cluster 15/main has been removed",
     {"main": "Absent"}, "Cluster 15/main is not present, so it cannot be removed",
     "Cluster 15/main failed to be removed"),
]  # fmt: skip
KEYS = ("name", "dbname", "version", "object_name", "object_type", "privileges")


def short(row):
    return row["result"], row["comment"], row["changes"]


@pytest.mark.parametrize(("module", "arguments", "expected"), PRESENT)
def test_what_is_missing_is_made_once(plugins, server, module, arguments, expected):
    foretold, done, changes, present, _ = expected
    assert list(map(short, plugins.three_runs(f"{module}.present", **arguments))) == [
        (None, foretold, {}), (True, done, changes), (True, present, {}),
    ]  # fmt: skip
    assert short(plugins.state(f"{module}.present", test=True, **arguments)) == (True, present, {})


@pytest.mark.parametrize(("module", "arguments", "expected"), PRESENT)
def test_what_cannot_be_made_is_told(plugins, server, module, arguments, expected):
    server.complaint = "ERROR: no!"
    row = plugins.state(f"{module}.present", **arguments)
    assert short(row) == (False, f"{expected[-1]}\nERROR: no!", {})
    server.complaint, server.silent = "", True
    assert short(plugins.state(f"{module}.present", **arguments)) == (False, expected[-1], {})


@pytest.mark.parametrize(("present", "expected"), list(zip(PRESENT, ABSENT, strict=True)))
def test_what_is_there_is_removed_once(plugins, server, present, expected):
    module, foretold, done, changes, absent, failed = expected
    arguments = {key: value for key, value in present[1].items() if key in KEYS}
    plugins.state(f"{module}.present", **present[1])
    server.complaint = "ERROR: no!"
    assert short(plugins.state(f"{module}.absent", **arguments)) == (False, f"{failed}\nERROR: no!", {})
    server.complaint = ""
    assert list(map(short, plugins.three_runs(f"{module}.absent", **arguments))) == [
        (None, foretold, {}), (True, done, changes), (True, absent, {}),
    ]  # fmt: skip


@pytest.mark.parametrize("module", ["postgres_user", "postgres_group"])
@pytest.mark.parametrize(
    ("before", "arguments", "update"),
    [
        ({}, {"createdb": True}, {"createdb": True}),
        ({"superuser": True}, {"superuser": False}, {"superuser": False}),
        ({"password": "md5:old"}, {"password": "new"}, {"password": True}),
        ({"password": "md5:p"}, {"password": "p", "encrypted": "scram-sha-256"}, {"password": True}),
        ({"groups": ["a"]}, {"groups": "a,b"}, {"groups": ["b"]}),
    ],
)
def test_a_role_is_changed_once(plugins, server, module, before, arguments, update):  # noqa: PLR0917 - one a column of the table
    server.roles["ada"] = role(**copy.deepcopy(before))
    kind = module.partition("_")[2]
    dry, real, again = plugins.three_runs(f"{module}.present", name="ada", **arguments)
    assert short(dry) == (None, f"{kind.capitalize()} ada is set to be updated", {"ada": update})
    assert short(real) == (True, f"The {kind} ada has been updated", {"ada": update})
    assert short(again) == (True, f"{kind.capitalize()} ada is already present", {})


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        ({"password": "md5:p"}, {"password": "p"}),
        ({"password": "md5:p"}, {"default_password": "other"}),
        ({"groups": ["a", "b"]}, {"groups": "b"}),
        ({"expiry time": dt.datetime.fromisoformat("2031-01-02")}, {"valid_until": "2031-01-02"}),
        ({"can login": True}, {}),
    ],
)
def test_a_role_that_is_right_is_left_alone(plugins, server, before, arguments):
    server.roles["ada"] = role(**before)
    server.complaint = "changed!"
    assert short(plugins.state("postgres_user.present", name="ada", **arguments)) == (
        True, "User ada is already present", {},
    )  # fmt: skip


def test_the_default_password_is_for_a_new_role(plugins, server):
    plugins.state("postgres_user.present", name="ada", default_password="d", encrypted="scram-sha-256")
    assert server.roles["ada"]["password"] == "scram-sha-256:d"


def test_a_database_that_must_change(plugins, server):
    server.databases["shop"] = database()
    dry, real, again = plugins.three_runs("postgres_database.present", name="shop", owner="ada", tablespace="fast")
    assert short(dry) == (None, "Database shop exists, but parameters need to be changed", {})
    assert short(real) == (True, "Parameters for database shop have been changed", {"shop": "Parameters changed"})
    assert short(again) == (True, "Database shop is already present", {})
    for wrong in ({"encoding": "LATIN1"}, {"lc_collate": "de_DE"}, {"lc_ctype": "de_DE"}):
        row = plugins.state("postgres_database.present", name="shop", **wrong)
        assert short(row) == (False, "Database shop has wrong parameters which couldn't be changed on fly.", {})


@pytest.mark.parametrize("flag", ["EXTENSION TO MOVE", "EXTENSION TO UPGRADE"])
def test_an_extension_is_upgraded(plugins, server, flag):
    server.extensions["e"] = ["EXTENSION INSTALLED", flag]
    dry, real, again = plugins.three_runs("postgres_extension.present", name="e")
    assert short(dry) == (None, "Extension e is set to be upgraded", {})
    assert short(real) == (True, "The extension e has been upgraded", {"e": "Upgraded"})
    assert short(again) == (True, "Extension e is already present", {})


def test_a_tablespace_that_must_change(plugins, server):
    server.tablespaces["t"] = {"Location": "/d", "Owner": "postgres", "Opts": "{seq_page_cost=11}"}
    wanted = {"name": "t", "directory": "/d", "owner": "ada", "options": {"seq_page_cost": 1}}
    dry, real, again = plugins.three_runs("postgres_tablespace.present", **wanted)
    assert short(dry) == (None, "Tablespace t options to be altered", {})
    changes = {"t": {"owner": "ada", "options": {"seq_page_cost": 1}}}
    assert short(real) == (True, "Tablespace t opts changed", changes)
    assert short(again) == (True, "Tablespace t is already present", {})
    server.complaint = "no!"
    row = plugins.state("postgres_tablespace.present", name="t", directory="/d", owner="grace")
    assert short(row) == (False, "Failed to alter tablespace t\nno!", {})
    row = plugins.state("postgres_tablespace.present", name="t", directory="/other", test=True)
    assert row["result"] is False


@pytest.mark.parametrize("wrong", [{"port": 5433}, {"datadir": "/elsewhere"}])
def test_a_cluster_is_not_changed(plugins, server, wrong):
    server.clusters["15/main"] = {"port": 5432, "datadir": "/d"}
    row = plugins.state("postgres_cluster.present", name="main", version="15", **wrong)
    assert short(row) == (False, "Cluster 15/main has wrong parameters which couldn't be changed on fly.", {})


def test_the_arguments_for_the_server_arrive(plugins, server):
    plugins.state("postgres_user.present", name="ada", **CONNECTION, refresh_password=True)
    plugins.state("postgres_schema.present", name="s", dbname="d", **CONNECTION)
    assert server.asked == [ASKED, CONNECTION]


@pytest.mark.parametrize(("module", "arguments", "expected"), PRESENT)
@pytest.mark.parametrize("function", ["present", "absent"])
def test_a_server_that_does_not_answer_is_one_failed_row(plugins, server, module, arguments, expected, function):  # noqa: PLR0917 - one a column of the table
    def refuse(*args, **kwargs):
        raise CommandExecutionError("connection refused")

    for name in list(plugins.salt):
        if name.startswith("postgres."):
            plugins.salt[name] = refuse
    given = {key: value for key, value in arguments.items() if function == "present" or key in KEYS}
    row = plugins.state(f"{module}.{function}", test=True, **given)
    assert short(row) == (False, "connection refused", {})


def test_footprints(plugins):
    from asyncstate.states import postgres_cluster, postgres_tablespace, postgres_user

    def common(user):
        return [f"user:{user}", "service:postgresql", f"path:~{user}/.pgpass"]

    assert postgres_user.mod_footprint({"name": "ada"}) == {"reads": common("postgres"), "writes": ["postgres"]}
    assert postgres_user.mod_footprint({"user": "pg"})["reads"] == common("pg")
    assert "path:/etc/hosts" in postgres_user.mod_footprint({"db_host": "db"})["reads"]
    assert "path:/etc/hosts" not in postgres_user.mod_footprint({"db_host": "/run/postgresql"})["reads"]
    assert postgres_tablespace.mod_footprint({"directory": "/d/"})["reads"] == [*common("postgres"), "path:/d"]
    cluster = {"version": 15, "name": "main", "datadir": "/d"}
    assert postgres_cluster.mod_footprint(cluster)["writes"] == [
        "postgres",
        "path:/d/**",
        "path:/etc/postgresql/15/main/**",
    ]
