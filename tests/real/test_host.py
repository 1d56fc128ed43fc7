"""The machine itself: names, kernel settings, mounts, locale, time zone, alternatives, and its database server."""

import pytest


def test_names_of_hosts(debian, prove):
    prove("web: {host.present: [{ip: 10.0.0.7}, {names: [web, www]}]}")
    assert debian.run("getent", "hosts", "www").split()[0] == "10.0.0.7"
    prove("web: {host.absent: [{ip: 10.0.0.7}, {names: [web, www]}]}")
    assert not debian.succeeds("getent", "hosts", "www")


def test_a_kernel_setting_of_this_network(debian, prove):
    prove("net.ipv4.ip_forward: {sysctl.present: [{value: 1}]}")
    assert debian.run("sysctl", "-n", "net.ipv4.ip_forward").strip() == "1"
    debian.run("sysctl", "-w", "net.ipv4.ip_forward=0")
    prove("net.ipv4.ip_forward: {sysctl.present: [{value: 1}]}")


def test_a_kernel_setting_of_the_machine_below_cannot_be_changed(debian):
    (row,) = debian.apply(
        "fs.protected_fifos: {sysctl.present: [{value: 1}, {config: /etc/sysctl.d/x.conf}]}"
    ).rows.values()
    assert row["result"] is False
    assert "Read-only file system" in row["comment"]


def test_a_mount(debian, prove):
    mounted = "/mnt/scratch: {mount.mounted: [{device: tmpfs}, {fstype: tmpfs}, {mkmnt: true}, {opts: 'size=1m'}, {persist: true}]}"
    prove(mounted)
    assert debian.run("findmnt", "-n", "-o", "FSTYPE", "/mnt/scratch").strip() == "tmpfs"
    assert "/mnt/scratch" in debian.read("/etc/fstab")
    prove("/mnt/scratch: {mount.unmounted: [{persist: true}, {device: tmpfs}]}")
    assert not debian.succeeds("findmnt", "/mnt/scratch")
    assert "/mnt/scratch" not in debian.read("/etc/fstab")


def test_time_zone_and_locale(debian, prove):
    prove("Europe/Berlin: timezone.system\nde_DE.UTF-8: {locale.present: []}")
    assert debian.run("date", "-d", "2026-07-01", "+%Z").strip() == "CEST"
    assert "de_DE.utf8" in debian.run("locale", "-a")
    prove("de_DE.UTF-8: locale.system")
    assert "LANG=de_DE.UTF-8" in debian.read("/etc/default/locale").replace('"', "")


def test_alternatives(debian, prove):
    for name in ("red", "blue"):
        debian.write(f"/usr/bin/{name}", f"#!/bin/sh\necho {name}\n", 0o755)
    install = "{name}: {{alternatives.install: [{{name: colour}}, {{link: /usr/bin/colour}}, {{path: /usr/bin/{name}}}, {{priority: {rank}}}]}}"
    prove("\n".join([install.format(name="red", rank=10), install.format(name="blue", rank=20)]))
    assert debian.run("colour").strip() == "blue"
    prove("colour: {alternatives.set: [{path: /usr/bin/red}]}")
    assert debian.run("colour").strip() == "red"
    prove("colour: alternatives.auto")
    prove("blue: {alternatives.remove: [{name: colour}, {path: /usr/bin/blue}]}")
    assert debian.run("colour").strip() == "red"


@pytest.fixture
def database(debian):
    debian.run("service", "postgresql", "start", timeout=120)
    debian.until("su", "postgres", "-c", "psql -c 'select 1'")
    return lambda question: debian.run("su", "postgres", "-c", f'psql -Atc "{question}"').strip()


def test_a_role_a_database_and_a_privilege(database, prove):
    rows = prove(
        """
    app: {postgres_user.present: [{password: s3cret-word}, {createdb: true}, {login: true}]}
    shop: {postgres_database.present: [{owner: app}, {encoding: UTF8}, {template: template0}, {require: [{postgres_user: app}]}]}
    """,
        unforetold=frozenset({"shop"}),
    )
    assert "s3cret-word" not in str(rows)
    prove("pgcrypto: {postgres_extension.present: [{maintenance_db: shop}]}")
    assert database("select rolcreatedb from pg_roles where rolname='app'") == "t"
    assert database("select pg_get_userbyid(datdba) from pg_database where datname='shop'") == "app"
    prove("shop: postgres_database.absent")
    prove("app: postgres_user.absent")
    assert database("select count(*) from pg_roles where rolname='app'") == "0"
