"""Missing requisites that lint names: those an author would write down, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundled_states import Bundled
from trees import plan

from asyncstate.extras.analyse.lint import lint

GOOD = Path(__file__).parent / "good_tree"
GRAINS = {"os_family": "Debian"}


def named(tree, sls):
    """The orders that lint names: the ID of a state, and what it says of its place."""
    made = plan(tree, sls, states=Bundled(), grains=GRAINS, implicit_order="footprint")
    found = [each for each in lint(made) if each.code in {"W301", "W302"}]
    return [(made.chunks[each.chunk].id, made.chunks[each.missing].id, each.message) for each in found]


def good_tree():
    """The texts of a whole host by SLS name: packages, accounts, a database, an application behind a web server."""
    texts = {}
    for path in GOOD.rglob("*"):
        inside = path.relative_to(GOOD)
        if path.suffix == ".sls":
            texts[".".join(inside.with_suffix("").parts).removesuffix(".init")] = path.read_text()
        elif path.is_file():
            texts[f"salt://{inside}"] = path.read_text()
    return texts


ORDER = "common common.users common.ssh common.firewall postgres app.service nginx monitoring backup".split()


def test_a_good_tree_needs_no_advice():
    assert named(good_tree(), ORDER) == []


@pytest.mark.parametrize(
    ("sls", "line", "state", "missing"),
    [
        ("app.deps", "      - group: app-group\n", "app-user", "app-group"),
        ("app.deps", "      - file: /srv/app\n", "/srv/app/releases", "/srv/app"),
        ("app.service", "      - file: /etc/app\n", "app-config", "/etc/app"),
        ("app.service", "      - cmd: app-venv\n", "app-requirements", "app-venv"),
        ("app.service", "      - cmd: app-daemon-reload\n", "app-service", "app-daemon-reload"),
        ("app.service", "      - file: /var/log/app\n", "app-service", "/var/log/app"),
        ("app.service", "      - file: app-env\n", "app-service", "app-env"),
        ("common.firewall", "      - pkg: nftables\n", "/etc/nftables.conf", "nftables"),
        ("common.firewall", "      - file: /etc/nftables.conf\n", "nftables-service", "/etc/nftables.conf"),
        ("common.ssh", "      - pkg: openssh-server\n", "/etc/ssh/sshd_config", "openssh-server"),
        ("common.ssh", "      - file: /etc/ssh/sshd_config\n", "ssh", "/etc/ssh/sshd_config"),
        ("common.users", "      - pkg: base-packages\n", "/etc/sudoers.d/admins", "base-packages"),
        ("common.users", "      - user: alice\n", "alice", "alice"),
        ("postgres", "      - service: postgresql-service\n", "app-db-user", "postgresql-service"),
        ("postgres", "      - postgres_user: app-db-user\n", "app-db", "app-db-user"),
    ],
)
def test_a_requisite_that_a_good_tree_lacks_is_named(sls, line, state, missing):
    tree = good_tree()
    head, found, tail = tree[sls].partition(line)
    assert found
    if not tail.startswith("      - "):  # the only one
        head = head.removesuffix("    - require:\n").removesuffix("    - watch:\n")
    tree[sls] = head + tail
    assert (state, missing) in [pair[:2] for pair in named(tree, ORDER)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("pkg.installed: [{name: mysql-server}]", "file.managed: [{name: /etc/mysql/my.cnf}]"),
        ("pkg.installed: [{name: unheard-of}]", "file.managed: [{name: /etc/unheard/x.conf}]"),
        ("pkg.installed: [{name: curl}]", "cmd.run: [{name: curl -o /srv/x http://example.com/x}]"),
        ("pkg.installed: [{name: unheard-of}]", "service.running: [{name: unheard}]"),
        ("file.managed: [{name: /etc/mysql/my.cnf}]", "service.running: [{name: mysql}]"),
        ("file.managed: [{name: /etc/default/web}]", "service.running: [{name: web}]"),
        ("user.present: [{name: web}]", "service.running: [{name: web}]"),
        ("service.running: [{name: web}]", "cmd.run: [{name: curl -f http://localhost/}]"),
        ("service.running: [{name: web}]", "cmd.run: [{name: web-admin init}]"),
        ("cmd.run: [{name: systemctl daemon-reload}]", "service.running: [{name: web}]"),
        ("group.present: [{name: web}]", "user.present: [{name: app}, {groups: [web]}]"),
        ("user.present: [{name: app}]", "file.directory: [{name: /srv/app}, {user: app}]"),
        ("host.present: [{name: db.test}, {ip: 192.0.2.7}]", "ssh_known_hosts.present: [{name: db.test}]"),
        ("file.directory: [{name: /srv/x}]", "file.managed: [{name: /srv/x/y}]"),
        ("pkg.installed: [{name: ca-certificates}]", "git.latest: [{name: https://x/y}, {target: /srv/y}]"),
        ("pkgrepo.managed: [{name: deb http://x y z}]", "pkg.installed: [{name: web}]"),
    ],
)
def test_what_a_state_needs_is_named(first, second):
    ((state, _, message),) = named(f"one: {{{first}}}\ntwo: {{{second}}}", ["s"])
    assert state == "two"
    assert "formula:" not in message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("service.running: [{name: web}]", "sysctl.present: [{name: vm.swappiness}, {value: 10}]"),
        ("sysctl.present: [{name: vm.swappiness}, {value: 10}]", "service.running: [{name: web}]"),
        ("service.running: [{name: web}]", "cron.present: [{name: /usr/bin/web-clean}]"),
        ("service.running: [{name: web}]", "group.present: [{name: web}]"),
        ("service.running: [{name: web}]", "service.running: [{name: db}]"),
        ("pkg.installed: [{name: vim}]", "timezone.system: [{name: UTC}]"),
        ("pkg.installed: [{name: vim}]", "file.managed: [{name: /etc/motd}]"),
        ("pkg.installed: [{name: unheard-of}]", "file.managed: [{name: /etc/security/limits.d/x.conf}]"),
        ("file.managed: [{name: /etc/unheard/x.conf}]", "pkg.installed: [{name: unheard-of}]"),
        ("sysctl.present: [{name: vm.swappiness}, {value: 10}]", "pkg.installed: [{name: procps}]"),
        ("cmd.run: [{name: openssl rand -out /srv/x 8}]", "pkg.installed: [{name: openssl}]"),
        ("pkg.installed: [{name: unheard-of}]", "group.present: [{name: app}, {system: True}]"),
        ("host.present: [{name: db.test}, {ip: 192.0.2.7}]", "ssh_known_hosts.present: [{name: x.test}]"),
        ("host.present: [{name: db.test}, {ip: 192.0.2.7}]", "pkg.installed: [{name: vim}]"),
        ("user.absent: [{name: mallory}]", "group.present: [{name: app}, {system: True}]"),
        ("pkg.installed: [{name: ca-certificates}]", "ssh_known_hosts.present: [{name: x.test}]"),
        ("file.managed: [{name: /home/alice/.bashrc}]", "service.running: [{name: ssh}]"),
    ],
)
def test_what_a_state_does_not_need_is_not(first, second):
    assert named(f"one: {{{first}}}\ntwo: {{{second}}}", ["s"]) == []
