"""Only a line feed ends a line of a file: a comment with another separator is one line, and stays as it is."""

from __future__ import annotations

import os

import pytest
from plugin_harness import PluginHarness

SEPARATORS = ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
KEY = "AAAAB3NzaC1yc2EAAAADAQAB"
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAA"

FILES = {
    "hosts": ("10.0.0.9 live", "hosts.set_host", {"ip": "10.0.0.1", "alias": "a"}),
    "hosts, one less": ("10.0.0.9 live", "hosts.rm_host", {"ip": "10.0.0.2", "alias": "b"}),
    "aliases": ("root: eve", "aliases.set_target", {"alias": "bob", "target": "al"}),
    "sysctl.conf": ("kernel.x = 1", "sysctl.persist", {"name": "net.ipv4.ip_forward", "value": 1}),
    "authorized_keys": (f"ssh-rsa {OTHER} eve", "ssh.set_auth_key", {"user": "worker", "key": KEY}),
    "authorized_keys, one less": (f"ssh-rsa {OTHER} eve", "ssh.rm_auth_key", {"user": "worker", "key": KEY}),
    "known_hosts": (f"evil ssh-rsa {OTHER}", "ssh.set_known_host", {"hostname": "a", "key": KEY, "enc": "ssh-rsa"}),
    "known_hosts, one less": (f"evil ssh-rsa {OTHER}", "ssh.rm_known_host", {"hostname": "b"}),
}
BEFORE = {
    "hosts": "10.0.0.2 b\n",
    "aliases": "postmaster: root\n",
    "sysctl.conf": "kernel.y = 1\n",
    "authorized_keys": f"ssh-rsa {KEY} b\n",
    "known_hosts": f"b ssh-rsa {KEY}\n",
}


@pytest.mark.parametrize("separator", SEPARATORS, ids=ascii)
@pytest.mark.parametrize("kind", FILES)
def test_what_follows_a_separator_in_a_comment_does_not_count(tmp_path, kind, separator):
    live, function, arguments = FILES[kind]
    name = kind.partition(",")[0]
    path = tmp_path / name
    plugins = PluginHarness(tmp_path, **{f"{name}.file": str(path), "cachedir": str(tmp_path)})
    plugins.salt["config.option"] = lambda key: plugins.opts.get(key, "")
    worker = {"name": "worker", "uid": os.geteuid(), "gid": os.getegid(), "home": str(tmp_path)}
    plugins.salt["user.info"] = lambda name: worker if name == "worker" else {}
    plugins.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 0, "stdout": "", "stderr": ""}
    plugins.load("modules", {"sysctl": "linux_sysctl"}.get(function.partition(".")[0], function.partition(".")[0]))
    comment = f"# disabled:{separator}{live}\n"
    before = comment + ("" if function == "ssh.set_auth_key" else BEFORE[name])  # it adds the key that others remove
    path.write_text(before)
    where = {"config": str(path)} if function.startswith(("ssh.", "sysctl.")) else {}
    plugins.call(function, **arguments, **where)
    after = path.read_bytes().decode()  # read_text would turn a carriage return into a line feed
    assert after != before
    assert comment in after
