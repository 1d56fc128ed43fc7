"""The commands that the postgres module gives psql, and its reading of the answers. tests/servers has a real server."""

from __future__ import annotations

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError


class FakePsql:
    """Answers by the first key found in the statements; ``ran`` has the options of each call with its ``command``."""

    def __init__(self, harness):
        self.answers = {}
        self.ran = []
        harness.salt["cmd.run_all"] = self.run
        harness.salt["cmd.which"] = lambda name: f"/bin/{name}"

    def run(self, command, stdin=None, **options):
        self.ran.append({"command": command, "sql": stdin, **options})
        text = " ".join(command) if stdin is None else stdin
        answer = next((value for key, value in self.answers.items() if key in text), "")
        failed = isinstance(answer, CommandExecutionError)
        return {"retcode": 3 if failed else 0, "stdout": "" if failed else answer, "stderr": str(answer)}

    @property
    def sql(self):
        return [" ".join(each["sql"].split()) for each in self.ran]


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "config")
    harness.load("modules", "postgres")
    return harness


@pytest.fixture
def psql(plugins):
    return FakePsql(plugins)


def test_nothing_secret_is_on_the_command_line_or_logged(plugins, psql):
    psql.answers["COPY"] = "name\n"
    options = {"host": "db", "port": 5433, "user": "me", "password": "s3cret", "maintenance_db": "shop"}
    assert plugins.call("postgres.user_create", "ada", rolepassword="t0p", **options) is True
    _, create = psql.ran
    assert create["command"] == [
        "/bin/psql", "--no-align", "--no-readline", "--no-psqlrc", "--no-password", "--quiet",
        "--set", "ON_ERROR_STOP=1", "--single-transaction",
        "--username", "me", "--host", "db", "--port", "5433", "--dbname", "shop",
    ]  # fmt: skip
    assert create["env"]["PGPASSWORD"] == "s3cret"
    assert (create["python_shell"], create["output_loglevel"], create["clean_env"]) == (False, "quiet", True)
    assert "t0p" not in create["sql"]
    assert "PASSWORD 'md5" in create["sql"]


@pytest.mark.parametrize(
    ("opts", "arguments", "runas", "target"),
    [
        ({}, {}, "postgres", ["--dbname", "postgres"]),
        ({}, {"runas": "pg"}, "pg", ["--dbname", "postgres"]),
        ({}, {"host": "/run"}, "postgres", ["--host", "/run", "--dbname", "postgres"]),
        ({}, {"host": "db"}, None, ["--host", "db", "--dbname", "postgres"]),
        ({"postgres.host": "db", "postgres.user": "me", "postgres.port": 1, "postgres.maintenance_db": "m"}, {}, None,
         ["--username", "me", "--host", "db", "--port", "1", "--dbname", "m"]),
        ({"postgres.host": "db"}, {"host": "/run", "user": "you"}, "postgres",
         ["--username", "you", "--host", "/run", "--dbname", "postgres"]),
    ],
)  # fmt: skip
def test_which_server_and_as_whom(plugins, psql, opts, arguments, runas, target):  # noqa: PLR0917 - one a column of the table
    plugins.opts.update(opts, **{"postgres.pass": "p"})
    psql.answers["COPY"] = "version\n15.4\n"
    assert plugins.call("postgres.version", **arguments) == "15.4"
    (call,) = psql.ran
    assert (call["runas"], call["command"][8:]) == (runas, target)
    assert call["env"]["PGPASSWORD"] == "p"


def test_what_psql_complains_about(plugins, psql):
    psql.answers["COPY"] = CommandExecutionError("psql:<stdin>:1: ERROR:  no\npsql:<stdin>:2: HINT:  do\n")
    with pytest.raises(CommandExecutionError, match=r"^ERROR:  no\nHINT:  do$"):
        plugins.call("postgres.db_list")
    plugins.salt["cmd.which"] = lambda name: None
    with pytest.raises(CommandExecutionError, match=r"psql was not found\. Install"):
        plugins.call("postgres.db_list")


def test_psql_is_looked_for_in_a_folder_first(plugins, psql, tmp_path):
    (tmp_path / "psql").write_text("")
    (tmp_path / "psql").chmod(0o755)
    psql.answers["COPY"] = "version\n15.4\n"
    plugins.call("postgres.version")
    plugins.opts["postgres.bins_dir"] = str(tmp_path)
    plugins.call("postgres.version")
    assert [call["command"][0] for call in psql.ran] == ["/bin/psql", str(tmp_path / "psql")]


@pytest.mark.parametrize(
    ("function", "arguments", "sql"),
    [
        ("user_create", {"username": 'a"d'}, 'CREATE ROLE "a""d" WITH INHERIT LOGIN;'),
        ("user_create", {"username": "a", "login": False, "groups": ["x", 'y"']},
         'CREATE ROLE "a" WITH INHERIT NOLOGIN; GRANT "x" TO "a"; GRANT "y""" TO "a";'),
        ("group_create", {"groupname": "g", "inherit": False, "connlimit": 3},
         'CREATE ROLE "g" WITH NOINHERIT NOLOGIN CONNECTION LIMIT 3;'),
        ("user_create", {"username": "a", "valid_until": "it's", "rolepassword": ""},
         "CREATE ROLE \"a\" WITH INHERIT LOGIN PASSWORD NULL VALID UNTIL 'it''s';"),
        ("user_create", {"username": "a", "rolepassword": "x\\y", "encrypted": False},
         "CREATE ROLE \"a\" WITH INHERIT LOGIN PASSWORD E'x\\\\y';"),
        ("db_create", {"name": "d", "owner": "o", "template": "t", "encoding": "UTF8", "lc_ctype": "C"},
         "CREATE DATABASE \"d\" OWNER = \"o\" TEMPLATE = \"t\" ENCODING = 'UTF8' LC_CTYPE = 'C';"),
        ("db_alter", {"name": "d", "tablespace": "t"}, 'ALTER DATABASE "d" SET TABLESPACE "t";'),
        ("tablespace_create", {"name": "t", "location": "/x", "options": {"seq_page_cost": 1.5}, "owner": "o"},
         'CREATE TABLESPACE "t" OWNER "o" LOCATION \'/x\' WITH ("seq_page_cost" = \'1.5\');'),
        ("tablespace_alter", {"name": "t", "new_name": "n", "reset_option": "seq_page_cost"},
         'ALTER TABLESPACE "t" RESET ("seq_page_cost"); ALTER TABLESPACE "t" RENAME TO "n";'),
        ("schema_create", {"dbname": "d", "name": "s", "owner": "o"}, 'CREATE SCHEMA "s" AUTHORIZATION "o";'),
        ("privileges_grant", {"name": "r", "object_name": "t", "object_type": "TABLE", "privileges": "select , all"},
         'GRANT ALL ON TABLE "public"."t" TO "r";'),
        ("privileges_grant", {"name": "r", "object_name": "ALL", "object_type": "sequence", "privileges": "USAGE",
                              "prepend": "s", "grant_option": True},
         'GRANT USAGE ON ALL SEQUENCES IN SCHEMA "s" TO "r" WITH GRANT OPTION;'),
    ],
)  # fmt: skip
def test_statements(plugins, psql, function, arguments, sql):
    psql.answers = {"server_version_num": "number\n150004\n", "to_regprocedure": "id\n", "COPY": "name\n"}
    if arguments.get("object_name") == "ALL":
        psql.answers["COPY"] = "id,owner,role,privilege_type,is_grantable\n1,o,r,USAGE,f\n"
    assert plugins.call(f"postgres.{function}", **arguments) is True
    assert psql.sql[-1] == sql


@pytest.mark.parametrize(
    ("installed", "ext_version", "statements"),
    [
        ("", "1.4", 'CREATE EXTENSION IF NOT EXISTS "e" SCHEMA "s" VERSION \'1.4\';'),
        ("", "'1.4'", 'CREATE EXTENSION IF NOT EXISTS "e" SCHEMA "s" VERSION \'1.4\';'),
        ("e,1.9,t,s", "1.10", "ALTER EXTENSION \"e\" UPDATE TO '1.10';"),
        ("e,1.9,t,x", "1.9", 'ALTER EXTENSION "e" SET SCHEMA "s";'),
        ("e,1.9,f,x", "1.8", None),
    ],
)
def test_an_extension(plugins, psql, installed, ext_version, statements):
    psql.answers = {
        "pg_available": "name,default_version\nE,2\n",
        "pg_extension": f"extname,extversion,extrelocatable,schema_name\n{installed}\n",
    }
    assert plugins.call("postgres.create_extension", "e", schema="s", ext_version=ext_version) is True
    assert (psql.sql[-1] if "COPY" not in psql.sql[-1] else None) == statements


def test_clusters(plugins, psql):
    psql.answers["pg_lsclusters"] = "15 main 5432 online postgres /data /var/log/pg.log\n16 x 5433 down pg /d /l\n"
    assert plugins.call("postgres.cluster_list") == ["15/main", "16/x"]
    assert plugins.call("postgres.cluster_list", verbose=True)["16/x"] == {
        "port": 5433, "status": "down", "user": "pg", "datadir": "/d", "log": "/l",
    }  # fmt: skip
    assert plugins.call("postgres.cluster_exists", 15) is True
    assert plugins.call("postgres.cluster_exists", 15, "other") is False
    options = {"port": 1, "encoding": "UTF8", "datadir": "/d", "data_checksums": True, "wal_segsize": 32}
    plugins.call("postgres.cluster_create", 16, "x", allow_group_access=True, **options)
    assert psql.ran[-1]["command"] == [
        "pg_createcluster", "--port=1", "--encoding=UTF8", "--datadir=/d", "16", "x",
        "--", "--allow-group-access", "--data-checksums", "--wal-segsize=32",
    ]  # fmt: skip
    plugins.call("postgres.cluster_remove", 16, "x", stop=True)
    assert psql.ran[-1]["command"] == ["pg_dropcluster", "--stop", "16", "x"]
    psql.answers["pg_dropcluster"] = CommandExecutionError("Error: no")
    with pytest.raises(CommandExecutionError, match="Error: no"):
        plugins.call("postgres.cluster_remove", 16, "x")
    with pytest.raises(InvocationError, match="no version or name"):
        plugins.call("postgres.cluster_create", 16, "--help")


SCRAM = (  # RFC 7677's example
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    ":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
)


@pytest.mark.parametrize(
    ("password", "stored", "method", "same"),
    [
        ("pencil", SCRAM, "scram-sha-256", True),
        ("pen\u00adcil", SCRAM, "scram-sha-256", True),
        ("pencil", SCRAM, False, True),
        ("pencil", SCRAM, "md5", False),
        ("crayon", SCRAM, "scram-sha-256", False),
        (SCRAM, SCRAM, "scram-sha-256", True),
        ("pencil", "md5e0a7ad13b5c1c1ed5c4f1c4a8a8f0d5e", "md5", False),
        ("pencil", "pencil", False, True),
        ("pencil", "", "scram-sha-256", False),
        (7, "md5" + "0" * 32, True, False),
    ],
)
def test_passwords(plugins, password, stored, method, same):
    assert plugins.call("postgres.password_matches", "user", password, stored, method) is same


def test_a_password_matches_what_was_made_of_it(plugins, psql):
    from asyncstate.modules.postgres import _passwords

    for password in ("xyzzy", "sécret", "a\u00a0b", "\u0007bell", "א1", "אבג", "\u0378"):
        for method in (True, "md5", "scram-sha-256"):
            stored = _passwords.encrypted("ada", password, method)
            assert password not in stored
            assert plugins.call("postgres.password_matches", "ada", password, stored, method) is True
            assert plugins.call("postgres.password_matches", "ada", f"{password}.", stored, method) is False
    psql.answers["COPY"] = "name\n"
    with pytest.raises(InvocationError, match="Unknown password algorithm: rot13"):
        plugins.call("postgres.user_create", "ada", rolepassword="x", encrypted="rot13")


@pytest.mark.parametrize("name", ["host=evil.example", "postgres://evil.example/x", r"a'=\b"])
def test_a_database_is_never_taken_for_another_server(plugins, psql, name):
    psql.answers["COPY"] = "version\n15.4\n"
    plugins.call("postgres.version", maintenance_db=name)
    quoted = name.replace("\\", r"\\").replace("'", r"\'")
    assert psql.ran[-1]["command"][-2:] == ["--dbname", f"dbname='{quoted}'"]


def test_only_a_query_of_the_tree_looks_names_up_where_a_database_says(plugins, psql):
    psql.answers = {"pg_roles": "name\n", "COPY": "n\nTABLE public.t\n", "ALTER": ""}
    plugins.call("postgres.owner_to", "shop", "ada")
    assert psql.sql
    assert all(sql.startswith("SET search_path = pg_catalog, pg_temp; ") for sql in psql.sql)
    plugins.call("postgres.psql_query", "SELECT f()")
    assert psql.sql[-1].startswith("COPY")
