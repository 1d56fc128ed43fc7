"""The ssh_auth states on the real execution module, held against the rows and files of Salt."""

from __future__ import annotations

import os
import stat

import pytest
from asyncstate.modules import _user_files
from asyncstate.modules.ssh import lines
from plugin_harness import PluginHarness
from recorded_states import expected, recorded, replay

from asyncstate.errors import CommandExecutionError, PathRefused

CASES = recorded("ssh_auth")
RSA = CASES["new key, home without .ssh"]["arguments"]["name"]
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
STRANGER = 65534


@pytest.fixture
def home(tmp_path):
    return tmp_path / "root/home"


@pytest.fixture
def plugins(tmp_path, home, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    harness = PluginHarness(tmp_path)
    worker = {"name": "worker", "uid": os.geteuid(), "gid": os.getegid(), "home": str(home)}
    harness.accounts = {"worker": worker}
    harness.salt["user.info"] = lambda name: harness.accounts.get(name, {})
    harness.salt["user.list_users"] = lambda: list(harness.accounts)
    harness.load("modules", "ssh")
    harness.load("states", "ssh_auth")
    return harness


@pytest.fixture
def keys(home):
    """The file of a user who lets one key in already."""
    path = home / ".ssh/authorized_keys"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text(f"ssh-rsa {RSA} me\n")
    return path


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, CASES[case]) == expected(CASES[case])


def test_what_is_made_is_for_the_user_alone(plugins, home):
    home.mkdir(parents=True)
    plugins.state("ssh_auth.present", name=RSA, user="worker", config="a/b/keys")
    assert stat.S_IMODE((home / "a/b").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "a/b/keys").stat().st_mode) == 0o600


def test_the_mode_of_the_file_is_kept(plugins, keys):
    keys.chmod(0o640)
    plugins.state("ssh_auth.present", name=RSA, user="worker", comment="other")
    assert keys.read_text() == f"ssh-rsa {RSA} other\n"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o640
    assert os.listdir(keys.parent) == ["authorized_keys"]


@ROOT
def test_owner_of_what_is_made(plugins, home):
    home.mkdir(parents=True)
    plugins.accounts["worker"] |= {"uid": STRANGER, "gid": STRANGER}
    plugins.state("ssh_auth.present", name=RSA, user="worker")
    for path in (home / ".ssh", home / ".ssh/authorized_keys"):
        assert (path.stat().st_uid, path.stat().st_gid) == (STRANGER, STRANGER)


def planted_link_to_a_folder(home, secret):
    (home / ".ssh").symlink_to(secret.parent)


def planted_link_to_a_file(home, secret):
    (home / ".ssh").mkdir()
    (home / ".ssh/authorized_keys").symlink_to(secret)


def planted_name_of_a_file(home, secret):
    (home / ".ssh").mkdir()
    os.link(secret, home / ".ssh/authorized_keys")


@pytest.mark.feature("F195")
@ROOT
@pytest.mark.parametrize("plant", [planted_link_to_a_folder, planted_link_to_a_file, planted_name_of_a_file])
@pytest.mark.parametrize("fun", ["present", "absent"])
def test_root_is_not_led_astray(plugins, home, tmp_path, plant, fun):
    plugins.accounts["worker"] |= {"uid": STRANGER, "gid": STRANGER}
    home.mkdir(parents=True)
    secret = tmp_path / "etc/authorized_keys"
    secret.parent.mkdir()
    secret.write_text("root:$6$secret\n")
    secret.chmod(0o600)
    plant(home, secret)
    for path in [home, *home.rglob("*")]:
        if path.is_symlink() or path.is_dir():
            os.lchown(path, STRANGER, STRANGER)
    row = plugins.state(f"ssh_auth.{fun}", name=RSA, user="worker")
    assert row["result"] is False
    assert row["comment"].startswith(("Refusing to follow", "Refusing to use"))
    assert secret.read_text() == "root:$6$secret\n"
    assert (secret.stat().st_uid, stat.S_IMODE(secret.stat().st_mode)) == (0, 0o600)
    assert sorted(os.listdir(secret.parent)) == ["authorized_keys"]


def test_a_link_among_the_users_own_files_is_followed(plugins, home, keys):
    (home / "dotfiles").mkdir()
    keys.rename(home / "dotfiles/keys")
    keys.symlink_to("../dotfiles/keys")
    plugins.state("ssh_auth.present", name=RSA, user="worker", comment="other")
    assert keys.is_symlink()
    assert (home / "dotfiles/keys").read_text() == f"ssh-rsa {RSA} other\n"


def test_what_is_no_file(plugins, home):
    (home / ".ssh").mkdir(parents=True)
    os.mkfifo(home / ".ssh/authorized_keys")
    assert "it is a pipe" in plugins.state("ssh_auth.present", name=RSA, user="worker")["comment"]
    (home / ".ssh/authorized_keys").unlink()
    (home / ".ssh/authorized_keys").mkdir()
    with pytest.raises(CommandExecutionError, match="Is a directory"):
        plugins.state("ssh_auth.present", name=RSA, user="worker")


def test_a_comment_is_no_way_to_a_second_key(plugins, keys):
    with pytest.raises(CommandExecutionError, match="line break"):
        plugins.call("ssh.set_auth_key", "worker", RSA, comment="x\nssh-rsa AAAA evil")
    assert "evil" not in keys.read_text()


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize("fun", ["present", "absent"])
@pytest.mark.parametrize("between", ["\n", "\r\n", "\n\n", "\u2028"])
def test_a_name_of_several_lines_is_no_key(plugins, keys, fun, test, between):
    before = keys.read_text()
    name = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 one{between}ssh-rsa {RSA} two\n"
    row = plugins.state(f"ssh_auth.{fun}", name=name, user="worker", test=test)
    assert row["result"] is False
    assert "A key is one line" in row["comment"]
    assert keys.read_text() == before


def test_execution_functions(plugins, keys):
    known = {RSA: {"enc": "ssh-rsa", "comment": "me", "options": [], "fingerprint": lines.fingerprint(RSA)}}
    assert plugins.call("ssh.auth_keys", "worker") == known
    assert plugins.call("ssh.auth_keys", ["worker", "nobody"]) == {"worker": known}
    assert plugins.call("ssh.auth_keys") == {"worker": known}
    assert plugins.call("ssh.auth_keys", "worker", config="%x") == {}
    assert plugins.call("ssh.check_key", "worker", RSA, "rsa", "me", None) == "exists"
    assert plugins.call("ssh.check_key", "worker", RSA, "rsa", "me", "no-pty") == "update"
    assert plugins.call("ssh.set_auth_key", "worker", "a b") == "invalid"
    with pytest.raises(CommandExecutionError, match="Last character"):
        plugins.call("ssh.set_auth_key", "worker", RSA, config="keys%")
    with pytest.raises(CommandExecutionError, match="Failed to pull key file"):
        plugins.call("ssh.rm_auth_key_from_file", "worker", "salt://gone")


@pytest.mark.timeout(20)
def test_a_long_line_takes_no_hours(plugins, keys):
    keys.parent.mkdir(parents=True, exist_ok=True)
    keys.write_text("ssh-" * 500_000 + "\n")
    assert plugins.call("ssh.auth_keys", "worker") == {}


def test_a_pipe_in_the_place_of_a_source(plugins, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    plugins.salt["cp.cache_file"] = lambda path, saltenv="base": path  # as it does for local paths
    with pytest.raises(PathRefused, match="it is a pipe"):
        plugins.call("ssh.set_auth_key_from_file", "worker", str(tmp_path / "pipe"))
    with pytest.raises(PathRefused, match="it is a pipe"):
        plugins.call("ssh.key_is_encrypted", str(tmp_path / "pipe"))


def test_fingerprints():
    assert lines.fingerprint("AAAA", "MD5") == "69:3e:9a:f8:4d:3d:fc:c7:1e:64:0e:00:5b:dc:5e:2e"
    assert lines.fingerprint("?") is None
    for name in ("crc", "shake_128"):
        with pytest.raises(CommandExecutionError, match="not supported"):
            lines.fingerprint("AAAA", name)


def test_keys_of_users_and_of_the_machine(plugins, keys, home, tmp_path):
    (keys.parent / "id_rsa").write_text("private\n")
    (keys.parent / "id_rsa.pub").write_text("public\n")
    (keys.parent / "id_dsa").mkdir()
    assert plugins.call("ssh.user_keys") == {"worker": {"id_rsa": "private", "id_rsa.pub": "public"}}
    assert plugins.call("ssh.user_keys", "worker", prvfile=False) == {"worker": {"id_rsa.pub": "public"}}
    assert plugins.call("ssh.user_keys", "nobody") == {}
    for name in ("ssh_host_rsa_key", "ssh_host_rsa_key.pub", "ssh_host_rsa_key-cert.pub", "other"):
        (tmp_path / name).write_text(f"{name}\n")
    found = plugins.call("ssh.host_keys", str(tmp_path), private=False, certs=False)
    assert found == {"rsa.pub": "ssh_host_rsa_key.pub"}
    assert set(plugins.call("ssh.host_keys", str(tmp_path))) == {"rsa", "rsa.pub", "rsa-cert.pub"}


@pytest.mark.parametrize(
    ("text", "encrypted"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", True),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU=\n-----END X-----\n", False),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHI=\n-----END X-----\n", True),
    ],
)
def test_private_keys_with_a_passphrase(plugins, text, encrypted):
    assert plugins.call("ssh.key_is_encrypted", text) is encrypted


def test_a_file_of_the_system_may_have_several_names(tmp_path):
    (tmp_path / "a").write_text("x")
    os.link(tmp_path / "a", tmp_path / "b")
    assert _user_files.read(str(tmp_path / "b")) == "x"
    assert _user_files.read(str(tmp_path / "no/b")) is None


def test_a_dry_run_refuses_keys_of_a_file_that_is_missing(plugins):
    plugins.opts["foresight"] = True
    plugins.salt["cp.cache_file"] = lambda *_: False
    for test in (True, False):
        row = plugins.state("ssh_auth.present", test=test, name="x", user="worker", source="salt://none")
        assert (row["result"], row["comment"]) == (
            False,
            "Failed to add the ssh key. Source file salt://none is missing",
        )


@pytest.mark.parametrize("name", ["", " ", "ssh-ed25519", "ssh-ed25519 "])
def test_no_key_is_refused_each_time(plugins, name):
    plugins.opts["foresight"] = True
    for row in plugins.three_runs("ssh_auth.present", name=name, user="u", enc="ed25519", options=["no-pty"]):
        assert (row["result"], row["changes"]) == (False, {}), row["comment"]
