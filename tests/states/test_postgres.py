"""The PostgreSQL states on a fake execution module that keeps roles, databases and the rest in dicts."""

from __future__ import annotations

import datetime as dt

import pytest
from fake_postgres import FakePostgres
from plugin_harness import PluginHarness
from state_tables import cases

from asyncstate.errors import CommandExecutionError

pytestmark = pytest.mark.feature("F211")

CONNECTION = {"user": "pg", "db_user": "me", "db_password": "secret", "db_host": "db", "db_port": 5433}
ASKED = {"runas": "pg", "user": "me", "password": "secret", "host": "db", "port": 5433, "maintenance_db": None}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    for name in ("user", "group", "database", "schema", "extension", "privileges", "tablespace", "cluster"):
        harness.load("states", f"postgres_{name}")
    return harness


@pytest.fixture
def server(plugins):
    return FakePostgres(plugins)


CHANGES = {title: case for title, case in cases().items() if title.startswith("postgres:") and case["run"][1]}


def short(row):
    return row["result"], row["comment"], row["changes"]


def test_the_default_password_is_for_a_new_role(plugins, server):
    plugins.state("postgres_user.present", name="ada", default_password="d", encrypted="scram-sha-256")
    assert server.roles["ada"]["password"] == "scram-sha-256:d"


def test_the_arguments_for_the_server_arrive(plugins, server):
    plugins.state("postgres_user.present", name="ada", **CONNECTION, refresh_password=True)
    plugins.state("postgres_schema.present", name="s", dbname="d", **CONNECTION)
    assert server.asked == [ASKED, CONNECTION]


def test_an_expiry_time_that_is_right_is_left_alone(plugins, server):
    server.roles["ada"] = {"expiry time": dt.datetime.fromisoformat("2031-01-02")}
    server.complaint = "changed!"
    row = plugins.state("postgres_user.present", name="ada", valid_until="2031-01-02")
    assert short(row) == (True, "User ada is already present", {})


@pytest.mark.parametrize("case", CHANGES)
def test_a_server_that_does_not_answer_is_one_failed_row(plugins, server, case):
    def refuse(*args, **kwargs):
        raise CommandExecutionError("connection refused")

    for name in list(plugins.salt):
        if name.startswith("postgres."):
            plugins.salt[name] = refuse
    row = plugins.state(CHANGES[case]["state"], test=True, **CHANGES[case]["arguments"])
    assert short(row) == (False, "connection refused", {})
