"""The command lines of provisioners, as their sources build them.

kitchen-salt: ``lib/kitchen/provisioner/salt_solo.rb``; Packer: ``provisioner/salt-masterless/provisioner.go``; Vagrant:
``plugins/provisioners/salt/provisioner.rb``; SUSE: ``ha-sap-terraform-deployments``, ``salt/provision.sh``.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

ROWS = 3
"""States of the highstate."""


@pytest.fixture
def etc(root, monkeypatch):
    """The tree's configuration where the provisioner has put it, found without an option."""
    monkeypatch.setenv("SALT_CONFIG_DIR", str(root / "etc"))
    return root


@pytest.mark.parametrize("level", ["info", "debug", "warning", "quiet"])
def test_kitchen_salt(root, salt_call, level):
    sandbox = root / "kitchen" / "etc" / "salt"
    shutil.copytree(root / "etc", sandbox)
    done = salt_call(
        *shlex.split(f"--config-dir={sandbox} --local state.highstate --log-level={level} --retcode-passthrough"),
        config=False,
    )
    assert done.code == 0
    assert f"Succeeded: {ROWS} (changed=2)" in done.out
    assert "Result: False" not in done.out
    assert "Data failed to compile" not in done.out


@pytest.mark.parametrize(("line", "changed"), [("", "changed=2"), (" test=true", "unchanged=3")])
def test_kitchen_salt_of_today(root, salt_call, line, changed):
    sandbox = root / "kitchen" / "etc" / "salt"
    shutil.copytree(root / "etc", sandbox)
    (sandbox / "grains").write_text("role: kitchen\n")
    start = f"--state-output=changes --config-dir={sandbox} --local state.highstate --log-level=info --id=default-box"
    done = salt_call(*shlex.split(f"{start}{line} --retcode-passthrough"), config=False)
    assert done.code == 0
    assert changed in done.out


def test_kitchen_salt_takes_the_version_from_the_second_word(salt_call):
    said = salt_call("--version", config=False).out
    assert said.split(" ")[1] > "0.17.5"


def test_kitchen_salt_sees_a_failure_in_the_words_and_in_the_exit_code(root, salt_call):
    done = salt_call(*shlex.split("--state-output=changes --local state.sls fails -l info --retcode-passthrough"))
    assert done.code == 2
    assert "      Result: False" in done.out


@pytest.mark.parametrize("arguments", ["state.highstate", "state.sls  web"])
def test_packer_salt_masterless(etc, salt_call, arguments):
    line = f"--local {arguments} --file-root={etc}/salt --pillar-root={etc}/pillar --retcode-passthrough -l info"
    done = salt_call(*shlex.split(line), config=False)
    assert done.code == 0
    assert f"Total states run:     {ROWS}" in done.out
    assert "port 8080" in (etc / "target" / "web.conf").read_text()


def test_packer_with_a_minion_configuration_and_its_own_arguments(etc, salt_call):
    done = salt_call(
        *shlex.split("--local state.sls fails --retcode-passthrough -l warning --id box2 test=True"), config=False
    )
    assert done.code == 2


@pytest.mark.parametrize(("colour", "coloured"), [(" --force-color", True), (" --no-color", False)])
def test_vagrant_salt(etc, salt_call, colour, coloured):
    pillar = json.dumps({"port": 8081, "site": {"name": "vagrant's"}}).replace("'", "'\\''")
    line = f"state.highstate --retcode-passthrough --local --id web1 --log-level=debug{colour} pillar='{pillar}'"
    done = salt_call(*shlex.split(line), config=False)
    assert done.code == 0
    assert ("\x1b[0;32m" in done.out) is coloured
    assert (etc / "target" / "web.conf").read_text() == "port 8081\nname web1\n"


def test_vagrant_syncs_first_without_masterless(etc, salt_call):
    assert salt_call("saltutil.sync_all", config=False).code == 0


@pytest.mark.parametrize("arguments", ["state.apply web", "state.highstate saltenv=base"])
@pytest.mark.parametrize("colour", ["--no-color", "--force-color"])
def test_ha_sap(etc, salt_call, arguments, colour):
    log = etc / "salt-deployment.log"
    line = (
        f"--local --log-level=error --log-file={log} --log-file-level=debug --retcode-passthrough {colour} {arguments}"
    )
    done = salt_call(*shlex.split(line), config=False)
    assert done.code == 0
    assert "changed=2" in done.out
    assert done.errors == ""
    assert log.stat().st_size > 0


def test_an_installed_program_is_called_by_its_name(etc, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin", "COLUMNS": "80"}
    module = [sys.executable, "-m", "asyncstate", "salt-call"]
    subprocess.run([*module, "--install", folder], env=environment, check=True, capture_output=True)
    (folder / "asyncstate.py").write_text("raise SystemExit('imported from the working directory')\n")
    script = "set -e\nsalt-call --local --out=newline_values_only grains.get role\nsalt-call --local test.retcode 3 || exit $?"
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    assert done.stdout == "web\nlocal:\n    True\n"
    assert done.returncode == 1
