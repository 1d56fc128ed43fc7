"""Rosters: Salt's flat format, with possible mistakes."""

import json

import pytest
from record_answers import recorded
from tables import rows

from asyncstate.config import Settings
from asyncstate.errors import CompileError
from asyncstate.extras.fleet.ssh import roster


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "roster"

    def read(text, **extra):
        path.write_text(text)
        return roster.read(
            str(path),
            Settings(id="here", cachedir=str(tmp_path / "c"), state_dir=str(tmp_path / "s"), extra=extra),
        )

    return read


def mistakes(read, text, **extra):
    with pytest.raises(CompileError) as caught:
        read(text, **extra)
    assert {each.code for each in caught.value.issues} == {"E601"}
    return [(each.line, each.message, each.hint) for each in caught.value.issues]


PASSED_OVER = ["a: [host, b]", "a: null", "a: {host: a, usr: me}", "roster_defaults:"]
"""Mistakes that Salt passes over."""


@rows(("question", "answer"), recorded("roster").items())
def test_a_roster_has_the_hosts_that_salt_finds_or_is_a_mistake(read, question, answer):
    text, defaults = json.loads(question)
    if not isinstance(answer, dict) or not text or text.startswith(tuple(PASSED_OVER)):
        assert mistakes(read, text, roster_defaults=defaults)
        return
    hosts = {host.id: host for host in read(text, roster_defaults=defaults)}
    assert hosts.keys() == answer.keys()
    for id_, given in answer.items():
        found = {"cmd_umask": hosts[id_].umask} | {
            name: getattr(hosts[id_], name, None) for name in ("host", "sudo", "minion_opts", "timeout", "thin_dir")
        }
        assert found == found | {name: each for name, each in given.items() if name in found}
        assert {name: str(getattr(hosts[id_], name)) for name in ("port", "user", "passwd")} == {
            name: str(given.get(name) or default) for name, default in (("port", 22), ("user", "root"), ("passwd", ""))
        }


def test_hosts_have_what_the_roster_its_template_and_the_defaults_say(read, tmp_path):
    (tmp_path / "key").touch()
    hosts = read(
        "{% for n in [2, 1] %}\nweb{{ n }}:\n  host: 10.0.0.{{ n }}\n  port: 220{{ n }}\n{% endfor %}\n"
        f"db1:\n  host: db\n  user: me\n  sudo: True\n  sudo_user: pg\n  priv: {tmp_path}/key\n  timeout: 5\n"
        "  thin_dir: /srv/t\n  cmd_umask: '022'\n  passwd: 1234\n  tty: False\n"
        "  ssh_options: ['ProxyJump=a@b:1,[::1]:2', -o IdentitiesOnly=yes]\n"
        "  minion_opts:\n    grains: {role: db}\n    own: 1\nplain: host.example.com\n",
        roster_defaults={"user": "deploy", "port": 2222},
    )
    assert [each.id for each in hosts] == ["db1", "plain", "web1", "web2"]
    db, plain, web, _ = hosts
    assert (plain.host, plain.user, plain.port) == ("host.example.com", "deploy", 2222)
    assert (web.host, web.user, web.port, web.timeout) == ("10.0.0.1", "deploy", 2201, 30.0)
    assert (db.user, db.sudo, db.sudo_user, db.priv, db.timeout) == ("me", True, "pg", f"{tmp_path}/key", 5.0)
    assert (db.thin_dir, db.umask, db.passwd) == ("/srv/t", 0o022, "1234")
    assert db.options.jumps == (("a", "b", 1), ("", "::1", 2))
    assert db.options.identities_only is True
    assert db.grains == {"role": "db"}
    assert "1234" not in repr(db)


def test_the_keys_of_the_ssh_agent_are_forwarded_if_the_roster_says_so(read):
    (host,) = read("a: {host: a, priv: agent-forwarding}\n")
    assert (host.priv, host.forward_agent) == ("", True)


def test_every_mistake_has_its_line_and_the_nearest_name(read):
    found = mistakes(
        read,
        "a:\n  host: a\n  usr: me\n  port: 99999\n"
        "b:\n  user: x\n"
        "c:\n  host: c\n  tty: True\n  timeout: soon\n  priv: /no/such/key\n"
        "  thin_dir: tmp\n  set_path: '$(reboot)'\n  sudo: perhaps\n  cmd_umask: '99'\n"
        "d: [1]\n'e f': {host: e}\n",
    )
    said = {line: (message, hint) for line, message, hint in found}
    assert said[3] == ("a: usr: there is no such key of a host", "did you mean user?")
    assert said[4][0] == "a: port: expected a port from 1 to 65535, found 99999"
    assert said[5][0] == "b: the key host is missing"
    assert said[9] == ("c: tty: this is not supported", roster._REFUSED["tty"])
    assert "soon" in said[10][0]
    assert said[11][0] == "c: priv: there is no private key /no/such/key"
    assert "absolute path" in said[12][0]
    assert "$(reboot)" in said[13][0]
    assert "perhaps" in said[14][0]
    assert "'99'" in said[15][0]
    assert said[16][0] == "d: expected the keys of a host, found [1]"
    assert said[17][0] == "e f: the ID of a host has no space, comma or @"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("[StrictHostKeyChecking=no]", "StrictHostKeyChecking is not supported"),
        ("[ProxyJum=a]", "ProxyJum is no option that is supported here"),
        ("['ProxyJump=a b']", "is no [user@]host[:port]"),
        ("[ForwardAgent=maybe]", "ForwardAgent is yes or no"),
        ("[Nothing]", "expected Name=value"),
        ("ProxyJump=a", "expected a list"),
        ("[IdentityFile=/no/such]", "there is no private key /no/such"),
    ],
)
def test_options_of_ssh_that_are_not_for_here_are_refused(read, options, words):
    ((line, message, _),) = mistakes(read, f"a:\n  host: a\n  ssh_options: {options}\n")
    assert line == 3
    assert words in message


def test_a_host_has_no_tree_of_its_own(read):
    found = mistakes(read, "a:\n  host: a\n  minion_opts:\n    file_roots: {base: [/srv]}\n    test: True\n")
    assert [message.split(":")[2] for _, message, _ in found] == [
        " file_roots cannot be set for a host", " test cannot be set for a host",
    ]  # fmt: skip
    assert "concurrency" in mistakes(read, "a: {host: a, minion_opts: {concurrency: many}}\n")[0][1]


@pytest.mark.parametrize("text", ["", "[]", "- a\n", "a: {{ no }\n", "a: [\n", "{% x %}", "a: {{ nothing.there }}\n"])
def test_what_is_no_roster_is_refused_with_its_file(read, tmp_path, text):
    with pytest.raises(CompileError) as caught:
        read(text)
    assert all(each.file == str(tmp_path / "roster") for each in caught.value.issues)


def test_a_roster_that_cannot_be_read_and_odd_defaults_are_refused(read, tmp_path):
    with pytest.raises(CompileError, match="cannot be read"):
        roster.read(str(tmp_path / "none"), Settings())
    assert "roster_defaults" in mistakes(read, "a: {host: a}\n", roster_defaults=[1])[0][1]


def test_a_password_is_in_no_message(read):
    assert "hidden" not in str(mistakes(read, "a:\n  host: a\n  passwd: [hidden]\n  priv_passwd: {hidden: 1}\n"))
