"""The providers of BusyBox by the calls they make and the files they change, in a scratch root; and ``shadow``."""

from __future__ import annotations

import os

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def root(tmp_path):
    etc = tmp_path / "root/etc"
    etc.mkdir(parents=True)
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\nada:x:500:500:Ada,1,,,:/home/ada:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\nada:x:500:\nwheel:x:10:ada\ndialout:x:20:\n")
    (etc / "shadow").write_text("root:*:1::::::\nada:!:1:0:99999:7:::\n")
    return tmp_path / "root"


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    for module in ("busybox_user", "busybox_group", "shadow"):
        harness.load("modules", module)
    return harness


@pytest.fixture
def calls(plugins):
    seen = []
    plugins.salt["cmd.run_all"] = lambda command, python_shell: seen.append(command) or {"retcode": 0, "stderr": ""}
    return seen


def line(root, file, name):
    return next((row for row in (root / "etc" / file).read_text().splitlines() if row.startswith(f"{name}:")), None)


@pytest.mark.parametrize(
    ("function", "arguments", "command"),
    [
        ("user.add", {"name": "bob"}, ["adduser", "-D", "-g", "", "--", "bob"]),
        (
            "user.add",
            {"name": "bob", "uid": 7, "gid": 0, "home": "/b", "shell": "/bin/sh", "system": True, "createhome": False,
             "fullname": "Bob", "homephone": "3"},
            ["adduser", "-D", "-g", "Bob,,,3", "-u", "7", "-G", "root", "-h", "/b", "-s", "/bin/sh", "-S", "-H", "--", "bob"],
        ),
        ("user.delete", {"name": "bob", "remove": True}, ["deluser", "--remove-home", "--", "bob"]),
        ("group.add", {"name": "g", "gid": 5, "system": True}, ["addgroup", "-g", "5", "-S", "--", "g"]),
        ("group.delete", {"name": "g"}, ["delgroup", "--", "g"]),
        ("group.adduser", {"name": "g", "username": "u"}, ["addgroup", "--", "u", "g"]),
        ("group.delete", {"name": "g", "root": "/r"}, ["chroot", "/r", "delgroup", "--", "g"]),
    ],
)  # fmt: skip
def test_commands(plugins, calls, function, arguments, command):
    assert plugins.call(function, **arguments) is True
    assert calls == [command]


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        ("chuid", 501, "ada:x:501:500:Ada,1,,,:/home/ada:/bin/sh"),
        ("chgid", 20, "ada:x:500:20:Ada,1,,,:/home/ada:/bin/sh"),
        ("chgid", "dialout", "ada:x:500:20:Ada,1,,,:/home/ada:/bin/sh"),
        ("chshell", "/bin/ash", "ada:x:500:500:Ada,1,,,:/home/ada:/bin/ash"),
        ("chhome", "/srv", "ada:x:500:500:Ada,1,,,:/srv:/bin/sh"),
        ("chfullname", "A L", "ada:x:500:500:A L,1:/home/ada:/bin/sh"),
        ("chroomnumber", None, "ada:x:500:500:Ada:/home/ada:/bin/sh"),
        ("chworkphone", 7, "ada:x:500:500:Ada,1,7:/home/ada:/bin/sh"),
        ("chhomephone", "8", "ada:x:500:500:Ada,1,,8:/home/ada:/bin/sh"),
        ("chother", "o", "ada:x:500:500:Ada,1,,,o:/home/ada:/bin/sh"),
    ],
)
def test_changes(plugins, root, function, value, expected):
    others = line(root, "passwd", "root")
    assert plugins.call(f"user.{function}", "ada", value, root=str(root)) is True
    assert line(root, "passwd", "ada") == expected
    assert line(root, "passwd", "root") == others


def test_home_moves(plugins, root):
    (root / "home/ada").mkdir(parents=True)
    (root / "srv").mkdir()
    plugins.call("user.chhome", "ada", "/srv/ada", persist=True, root=str(root))
    assert (root / "srv/ada").is_dir()
    assert not (root / "home/ada").exists()


def test_groups_of_a_user(plugins, root):
    assert plugins.call("user.chgroups", "ada", ["dialout"], root=str(root)) is True
    assert (line(root, "group", "wheel"), line(root, "group", "dialout")) == ("wheel:x:10:", "dialout:x:20:ada")
    plugins.call("user.chgroups", "ada", "wheel", append=True, root=str(root))
    assert plugins.call("user.info", "ada", root=str(root))["groups"] == ["ada", "dialout", "wheel"]
    with pytest.raises(CommandExecutionError, match=r"not present: nil"):
        plugins.call("user.chgroups", "ada", ["nil"], root=str(root))


def test_members_and_numbers_of_a_group(plugins, root):
    where = {"root": str(root)}
    assert plugins.call("group.members", "dialout", "ada,root", **where) is True
    assert line(root, "group", "dialout") == "dialout:x:20:ada,root"
    assert plugins.call("group.members", "dialout", "nobody-there", **where) is False
    assert plugins.call("group.chgid", "dialout", 21, **where) is True
    assert plugins.call("group.chgid", "dialout", 10, **where) is False
    assert plugins.call("group.chgid", "none", 10, **where) is False
    assert plugins.call("group.info", "dialout", **where)["gid"] == 21
    assert plugins.call("group.deluser", "none", "ada", **where) is True


def test_rename(plugins, root):
    assert plugins.call("user.rename", "ada", "eve", root=str(root)) is True
    assert line(root, "passwd", "eve").startswith("eve:x:500")
    assert line(root, "shadow", "eve").startswith("eve:!")
    assert line(root, "group", "wheel") == "wheel:x:10:eve"
    with pytest.raises(CommandExecutionError, match="already exists"):
        plugins.call("user.rename", "eve", "root", root=str(root))


@pytest.mark.parametrize("value", ["a:b", "a\nb"])
def test_what_would_break_the_file_is_refused(plugins, root, value):
    before = (root / "etc/passwd").read_text()
    with pytest.raises(CommandExecutionError, match="cannot stand"):
        plugins.call("user.chshell", "ada", value, root=str(root))
    with pytest.raises(CommandExecutionError, match="does not exist"):
        plugins.call("user.chshell", "none", "/x", root=str(root))
    assert (root / "etc/passwd").read_text() == before


# --- shadow


def test_shadow_info(plugins, root):
    assert plugins.call("shadow.info", "ada", root=str(root)) == {
        "name": "ada", "passwd": "!", "lstchg": 1, "min": 0, "max": 99999, "warn": 7, "inact": -1, "expire": -1,
    }  # fmt: skip
    assert set(plugins.call("shadow.info", "none", root=str(root)).values()) == {""}
    assert plugins.call("shadow.list_users", root=str(root)) == ["ada", "root"]


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        ("set_mindays", 2, "ada:!:1:2:99999:7:::"),
        ("set_maxdays", 90, "ada:!:1:0:90:7:::"),
        ("set_warndays", 3, "ada:!:1:0:99999:3:::"),
        ("set_inactdays", 4, "ada:!:1:0:99999:7:4::"),
        ("set_expire", 30000, "ada:!:1:0:99999:7::30000:"),
        ("set_expire", "2000-01-01", "ada:!:1:0:99999:7::10957:"),
        ("set_expire", -1, "ada:!:1:0:99999:7:::"),
        ("set_date", 0, "ada:!:0:0:99999:7:::"),
    ],
)
def test_shadow_ages(plugins, root, function, value, expected):
    os.chmod(root / "etc/shadow", 0o640)
    assert plugins.call(f"shadow.{function}", "ada", value, root=str(root)) is True
    assert line(root, "shadow", "ada") == expected
    assert (root / "etc/shadow").stat().st_mode & 0o777 == 0o640
    assert plugins.call(f"shadow.{function}", "none", value, root=str(root)) is False


@pytest.mark.parametrize("value", ["soon", "2000-13-01", None])
def test_what_is_no_day_is_refused(plugins, root, value):
    with pytest.raises(CommandExecutionError, match=r"no number of days|no date"):
        plugins.call("shadow.set_expire", "ada", value, root=str(root))


def test_shadow_passwords(plugins, root):
    where = {"root": str(root)}
    hashed = plugins.call("shadow.gen_password", "secret", crypt_salt="abcdefgh")
    assert hashed.startswith("$6$abcdefgh$")
    assert hashed == plugins.call("shadow.gen_password", "secret", crypt_salt="abcdefgh")
    assert hashed != plugins.call("shadow.gen_password", "secret")
    assert plugins.call("shadow.gen_password", "x", algorithm="sha256").startswith("$5$")
    assert plugins.call("shadow.set_password", "ada", hashed, **where) is True
    assert plugins.call("shadow.info", "ada", **where)["passwd"] == hashed
    assert plugins.call("shadow.info", "ada", **where)["lstchg"] > 20000
    assert plugins.call("shadow.lock_password", "ada", **where) is True
    assert plugins.call("shadow.info", "ada", **where)["passwd"] == f"!{hashed}"
    assert plugins.call("shadow.unlock_password", "ada", **where) is True
    assert plugins.call("shadow.info", "ada", **where)["passwd"] == hashed
    assert plugins.call("shadow.del_password", "ada", **where) is True
    assert plugins.call("shadow.info", "ada", **where)["passwd"] == ""
    with pytest.raises(CommandExecutionError, match="colon"):
        plugins.call("shadow.set_password", "ada", "a:b", **where)
    with pytest.raises(CommandExecutionError, match="rot13"):
        plugins.call("shadow.gen_password", "x", algorithm="rot13")


# --- which provider loads


def program(folder, name, target=None):
    folder.mkdir(exist_ok=True)
    path = folder / name
    if target:
        path.symlink_to(target)
    else:
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("shadow", "busybox", "first"), [(True, True, True), (False, True, False), (False, False, True)]
)
def test_one_provider_loads(tmp_path, monkeypatch, shadow, busybox, first):
    from asyncstate.modules import busybox_group, busybox_user, group, user

    folder = tmp_path / "bin"
    for name in ("useradd", "groupadd") if shadow else ():
        program(folder, name)
    for name in ("adduser", "addgroup"):
        if busybox:
            program(folder, name, program(folder, "busybox") if name == "adduser" else folder / "busybox")
        else:
            program(folder, name)
    monkeypatch.setenv("PATH", str(folder))
    for usual, small in ((user, busybox_user), (group, busybox_group)):
        assert (usual.__virtual__() is True) is first
        assert (small.__virtual__() is True) is not first


def test_a_carriage_return_ends_no_row(plugins, root):
    """A user may have got one into his description; changing somebody else must not make a row of what follows."""
    passwd = root / "etc/passwd"
    kept = "eve:x:501:501:Eve\rmore:/home/eve:/bin/sh\n"
    passwd.write_bytes(passwd.read_bytes() + kept.encode())
    assert plugins.call("user.chshell", "ada", "/bin/ash", root=str(root))
    assert passwd.read_bytes().endswith(kept.encode())


@pytest.mark.parametrize("name", ["-x", "a:b", "bob:x:0:0::/:/bin/sh\nada", "a,b", "../x"])
def test_no_user_gets_a_name_that_is_more_than_one(plugins, root, name):
    before = (root / "etc/passwd").read_bytes()
    with pytest.raises(CommandExecutionError, match="cannot be the name of a user"):
        plugins.call("user.rename", "ada", name, root=str(root))
    assert (root / "etc/passwd").read_bytes() == before
