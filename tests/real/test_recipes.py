"""The recipes of docs/recipes.md, done by the programs that they are for, in a Debian that has them.

That Debian has no network, so two things are not as a reader has them: `pip` is a program that only looks at what it is
told to install, and the image that the recipe for images begins with is made of folders of that Debian.
"""

from __future__ import annotations

import subprocess

import pytest
from debian_machine import DebianMachine, missing
from recipe_page import blocks

TOOLS = ("systemd", "packer", "vagrant", "buildah", "openssh-server")
TREE = {
    "/srv/salt/top.sls": "base:\n  '*': [web]\n",
    "/srv/salt/web.sls": "/root/page:\n  file.managed:\n    - contents: {{ pillar['text'] }}\n",
    "/srv/pillar/top.sls": "base:\n  '*': [text]\n",
    "/srv/pillar/text.sls": "text: hello\n",
}
PROGRAM = '#!/bin/sh\nPYTHONPATH=/opt/code:/opt/python exec /usr/bin/python3 -m asyncstate "$@"\n'
BUILDER = """
source "null" "debian" {
  ssh_host             = "127.0.0.1"
  ssh_port             = 2222
  ssh_username         = "root"
  ssh_private_key_file = "/root/.ssh/id"
}
"""
STORAGE = '[storage]\ndriver = "vfs"\nrunroot = "/run/containers"\ngraphroot = "/tmp/containers"\n'
BASE = """
mkdir -p base/tmp base/etc base/usr base/opt base/root
for name in bin sbin lib lib64; do ln -s usr/$name base/$name; done
cp /etc/passwd /etc/group base/etc
container=$(buildah from scratch)
buildah copy -q $container base /
buildah commit -q $container docker.io/library/python:3.13-slim
"""


@pytest.fixture(scope="session")
def tooled_root(checkout_root):
    """Build the Debian that has the programs, or take the one that is there."""
    if reason := missing():
        pytest.skip(f"a throw-away Debian {reason}")
    base = checkout_root / "build/recipes"
    subprocess.run([checkout_root / ".ci/debian-root", base, *TOOLS], check=True, cwd=checkout_root)
    return base


@pytest.fixture
def machine(tooled_root, checkout_root, tmp_path):
    """A machine with asyncstate where the recipes have it, and with a tree."""
    with DebianMachine(tooled_root, tmp_path / "machine", checkout_root) as debian:
        debian.run("sh", "-ec", "mkdir /opt/code; mount --move /opt/asyncstate /opt/code")
        for path in ("/opt/asyncstate/bin/asyncstate", "/usr/local/bin/asyncstate"):
            debian.write(path, PROGRAM, 0o755)
        for path, text in TREE.items():
            debian.write(path, text)
        yield debian


def test_cron_mails_what_a_run_has_to_say_and_nothing_else(machine):
    """Both lines of the recipe, every minute."""
    lines = "".join(blocks("cron")).replace("7 * * * *", "* * * * *").replace("7 6 * * *", "* * * * *")
    assert lines.count("* * * * *") == 2
    machine.write("/usr/sbin/sendmail", '#!/bin/sh\ncat >"/tmp/mail.$$"\n', 0o755)
    machine.write("/etc/cron.d/asyncstate", lines)
    machine.run("cron")
    machine.until("grep", "-qs", "File /root/page updated", "-r", "/tmp", seconds=100)
    assert machine.read("/root/page") == "hello\n"
    machine.until("sh", "-c", "test $(asyncstate runs list --out json | grep -c '\"finished\"') -ge 4", seconds=100)
    mails = machine.run("sh", "-c", "cat /tmp/mail.*")
    assert mails.count("File /root/page updated") == 1
    assert mails.count("Subject:") <= 2, "the run that only looks may have been the first of the two"


def test_systemd_finds_nothing_wrong_with_the_units(machine):
    units = [f"/etc/systemd/system/asyncstate-apply.{kind}" for kind in ("service", "timer")]
    for path, text in zip(units, blocks("systemd timer"), strict=True):
        assert text.startswith(f"# {path}\n")
        machine.write(path, text)
    assert machine.run("systemd-analyze", "verify", "--man=no", *units) == ""


def test_packer_provisions_a_machine_and_fails_with_a_state(machine):
    machine.run(
        "sh", "-ec", "mkdir -p /run/sshd /root/.ssh /root/image; ssh-keygen -A >/dev/null; cp -r /srv /root/image"
    )
    machine.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/.ssh/id")
    machine.run("cp", "/root/.ssh/id.pub", "/root/.ssh/authorized_keys")
    machine.run("/usr/sbin/sshd", "-p", "2222")
    (recipe,) = blocks("Packer")
    machine.write("/root/image/build.pkr.hcl", BUILDER + recipe.replace("source.qemu.debian", "source.null.debian"))
    build = ("env", "--chdir=/root/image", "CHECKPOINT_DISABLE=1", "packer", "build", "-color=false", ".")
    said = machine.run(*build, timeout=300)
    assert "File /root/page updated" in said
    assert machine.read("/root/page") == "hello\n"
    machine.write("/root/image/srv/salt/web.sls", "broken:\n  test.fail_without_changes: []\n")
    assert not machine.succeeds(*build)


def test_vagrant_takes_the_file_and_its_script_works_in_the_shell_that_vagrant_starts(machine):
    (recipe,) = blocks("Vagrant")
    machine.write("/root/box/Vagrantfile", recipe)
    machine.run("cp", "-r", "/srv", "/root/box/srv")
    said = machine.run("env", "--chdir=/root/box", "vagrant", "validate", "--ignore-provider")
    assert "validated successfully" in said
    printed = "module Vagrant; def self.configure(_); yield self; end; def self.vm; self; end; def self.box=(_); end\n"
    printed += (
        "def self.synced_folder(*_); end; def self.provision(kind, inline:); print kind, 10.chr, inline; end; end\n"
    )
    machine.write("/root/box/script.rb", printed + "load '/root/box/Vagrantfile'\n")
    kind, _, script = machine.run("ruby", "/root/box/script.rb").partition("\n")
    assert kind == "shell"
    machine.write("/tmp/vagrant-shell", f"#!/bin/bash -l\n{script}", 0o755)
    machine.run("/tmp/vagrant-shell")
    assert machine.read("/root/page") == "hello\n"


def test_an_image_has_what_the_states_make_and_nothing_else_of_the_run(machine):
    machine.write("/etc/containers/storage.conf", STORAGE)
    machine.write(
        "/usr/local/bin/pip",
        '#!/bin/sh\n[ "$2 $3" = "--no-cache-dir /wheels/asyncstate-0.1.0-py3-none-any.whl" ]\n',
        0o755,
    )
    machine.write("/root/image/wheels/asyncstate-0.1.0-py3-none-any.whl", "")
    machine.write("/root/image/Dockerfile", blocks("Images of containers")[0])
    machine.run("cp", "-r", "/srv", "/root/image/srv")
    build = "cd /root/image; export BUILDAH_ISOLATION=chroot\n"
    machine.run("sh", "-ec", build + BASE)
    machine.run("sh", "-ec", f"{build}buildah bud --pull-never -v /usr:/usr:ro -v /opt:/opt:ro -t made .")
    files = "cd $(buildah mount $(buildah from --pull-never made)); find . -path ./etc -prune -o -type f -print"
    found = machine.run("sh", "-ec", f"{build}{files}").split()
    wheel = "./wheels/asyncstate-0.1.0-py3-none-any.whl"
    assert sorted(found) == sorted(["./root/page", wheel, *(f".{path}" for path in TREE)])
