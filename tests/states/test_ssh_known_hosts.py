"""The ssh_known_hosts states on the real execution module, held against the rows and files of Salt."""

from __future__ import annotations

import os

import pytest
from asyncstate.modules.ssh.entries import entry, hashed_name
from hypothesis import given
from hypothesis import strategies as st
from plugin_harness import PluginHarness
from recorded_states import expected, recorded, replay

CASES = recorded("ssh_known_hosts", but=("key without enc",))
KEY = CASES["new, unhashed"]["arguments"]["key"]
OTHER = CASES["absent"]["files"]["home/.ssh/known_hosts"].split()[-4]


@pytest.fixture
def known(tmp_path):
    path = tmp_path / "root/home/.ssh/known_hosts"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    home = str(tmp_path / "root/home")
    worker = {"name": "worker", "uid": os.geteuid(), "gid": os.getegid(), "home": home}
    harness.salt["user.info"] = lambda name: worker if name == "worker" else {}
    harness.shown = ""
    harness.asked = []

    def keyscan(command, **_):
        harness.asked.append(command)
        return harness.shown

    harness.salt["cmd.run"] = keyscan
    harness.load("modules", "ssh")
    harness.load("states", "ssh_known_hosts")
    return harness


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, CASES[case]) == expected(CASES[case])


@pytest.mark.feature("F195")
@pytest.mark.parametrize("test", [True, False])
def test_a_key_without_its_type_is_a_mistake(plugins, known, test):
    row = plugins.state("ssh_known_hosts.present", name="git.example", user="worker", key=KEY, test=test)
    assert (row["result"], row["comment"]) == (False, 'Required argument "enc" if using "key" argument.')
    assert not known.exists()


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize("key", ["bad", "AAAA=AAA", "é", KEY + "!"])
def test_a_key_that_would_not_be_found_again_is_a_mistake(plugins, known, test, key):
    plugins.opts["foresight"] = True
    arguments = {"name": "git.example", "user": "worker", "key": key, "enc": "ssh-rsa", "test": test}
    row = plugins.state("ssh_known_hosts.present", **arguments)
    assert (row["result"], row["comment"]) == (False, f"{key!r} is no public key: it is not base64")
    assert not known.exists()


def test_a_key_counts_more_than_a_fingerprint(plugins):
    plugins.opts["foresight"] = True
    arguments = {"name": "git.example", "user": "worker", "key": KEY, "enc": "ssh-rsa", "fingerprint": "aa:bb"}
    rows = [plugins.state("ssh_known_hosts.present", test=test, **arguments) for test in (True, False)]
    assert [row["result"] for row in rows] == [None, True]


def test_names_are_hashed(plugins, known):
    known.write_text(f"# c\na.example,10.0.0.1 ssh-rsa {KEY}\n*.wild ssh-rsa {KEY}\n@revoked bad ssh-rsa {KEY}\n")
    for _ in range(2):
        row = plugins.state("ssh_known_hosts.present", name="git.example", user="worker", key=KEY, enc="ssh-ed25519")
    assert row["comment"] == "git.example already exists in .ssh/known_hosts"
    lines = known.read_text().splitlines()
    assert [lines[0], lines[3], lines[4]] == ["# c", f"*.wild ssh-rsa {KEY}", f"@revoked bad ssh-rsa {KEY}"]
    assert all(lines[place].startswith("|1|") for place in (1, 2, 5))
    for name in ("a.example", "10.0.0.1", "git.example"):
        found = plugins.call("ssh.get_known_host_entries", "worker", name)
        assert [each["key"] for each in found] == [KEY]
    assert plugins.call("ssh.get_known_host_entries", "worker", "bad") is None


@given(st.text("abc.-0[]:", min_size=1))
def test_a_hashed_name_is_found_again(name):
    assert entry(f"{hashed_name(name)} ssh-rsa x").is_about(name)
    assert not entry(f"{hashed_name(name)} ssh-rsa x").is_about(f"{name}x")


@pytest.mark.parametrize(
    ("names", "host", "about"),
    [
        ("*.org,!b.org", "a.org", True),
        ("*.org,!b.org", "b.org", False),
        ("[h]:22", "[h]:22", True),
        ("[h]:22", "h", False),
        ("a?c", "abc", True),
        ("|1|not base64|x", "a", False),
        ("Upper", "upper", True),
        ("*", "", True),
        ("**a*", "ba", True),
        ("*a?", "aab", True),
        ("*a?", "aa", True),
        ("a*b*c", "abcb", False),
        (f"{'*' * 30}X", "git.example.com", False),
        (f"{'*?' * 30}X", "git.example.com" * 9, False),
    ],
)
@pytest.mark.timeout(20)
def test_which_machines_a_line_is_about(names, host, about):
    assert entry(f"{names} ssh-rsa x").is_about(host) is about


def test_a_machine_is_asked_for_its_keys(plugins, known):
    plugins.shown = f"# git:22 SSH-2.0\ngit.example ssh-rsa {KEY}\ngit.example ssh-ed25519 {OTHER}\n"
    arguments = {"name": "git.example", "user": "worker", "hash_known_hosts": False, "timeout": 7}
    row = plugins.state("ssh_known_hosts.present", **arguments)
    assert row["comment"] == "git.example's key(s) saved to .ssh/known_hosts"
    assert [each["enc"] for each in row["changes"]["new"]] == ["ssh-rsa", "ssh-ed25519"]
    assert plugins.asked == [["ssh-keyscan", "-T", "7", "git.example"]]
    again = plugins.state("ssh_known_hosts.present", **arguments)
    assert (again["comment"], again["changes"]) == ("git.example already exists in .ssh/known_hosts", {})
    print_ = plugins.call("ssh.get_known_host_entries", "worker", "git.example")[0]["fingerprint"]
    known.unlink()
    row = plugins.state("ssh_known_hosts.present", **arguments, fingerprint=print_)
    assert row["comment"] == f"git.example's key saved to .ssh/known_hosts (fingerprint: {print_})"
    known.unlink()
    row = plugins.state("ssh_known_hosts.present", **{**arguments, "port": 2222}, enc="ssh-rsa")
    assert row["comment"] == f"git.example's ssh-rsa key saved to .ssh/known_hosts (key: {KEY})"
    assert plugins.asked[-1] == ["ssh-keyscan", "-p", "2222", "-t", "ssh-rsa", "-T", "7", "git.example"]
    assert known.read_text().startswith(f"[git.example]:2222 ssh-rsa {KEY}\n")


def test_a_wrong_fingerprint_keeps_the_machine_unknown(plugins, known):
    plugins.shown = f"git.example ssh-rsa {KEY}\n"
    row = plugins.state("ssh_known_hosts.present", name="git.example", user="worker", fingerprint="aa:bb")
    assert row["result"] is False
    assert row["comment"] == (
        "Remote host public keys found but none of their fingerprints match the one you have provided"
    )
    assert not known.exists()


def test_a_name_is_no_option(plugins, known):
    row = plugins.state("ssh_known_hosts.present", name="-oProxyCommand=x", user="worker")
    assert (row["result"], row["comment"]) == (False, "Unable to receive remote host keys")
    assert plugins.asked == []


def test_malformed_lines_are_kept(plugins, known):
    known.write_text(f"rubbish\ngit.example ssh-rsa {KEY}\n|1|x|y ssh-rsa {KEY}\n")
    row = plugins.state("ssh_known_hosts.absent", name="git.example", user="worker")
    assert row["changes"]["new"] is None
    assert known.read_text() == f"rubbish\n|1|x|y ssh-rsa {KEY}\n"


def test_execution_functions(plugins, known, tmp_path):
    for function in ("ssh.set_known_host", "ssh.rm_known_host", "ssh.check_known_host"):
        assert plugins.call(function, user="worker")["error"] == "hostname argument required"
    for function in ("ssh.rm_known_host", "ssh.hash_known_hosts"):
        arguments = {"hostname": "x"} if "rm" in function else {}
        gone = f"Known hosts file {known} does not exist"
        assert plugins.call(function, user="worker", **arguments)["error"] == gone
        assert plugins.call(function, user="nobody", **arguments)["error"] == "User nobody does not exist"
        relative = plugins.call(function, config="x", **arguments)["error"]
        assert relative == "Cannot determine absolute path to file."
    known.write_text(f"a ssh-rsa {KEY}\n")
    answer = plugins.call("ssh.rm_known_host", "worker", "b")
    assert answer == {"status": "removed", "comment": f"Host b not found in {known}"}
    assert plugins.call("ssh.hash_known_hosts", "worker")["status"] == "updated"
    assert plugins.call("ssh.check_known_host", "worker", "a", fingerprint="x") == "update"


def test_the_hosts_of_a_user_who_does_not_exist(plugins):
    plugins.opts["foresight"] = True
    for test in (True, False):
        row = plugins.state("ssh_known_hosts.absent", test=test, name="git.example", user="nobody-has-this-name")
        assert (row["result"], row["comment"]) == (False, "User nobody-has-this-name does not exist")
