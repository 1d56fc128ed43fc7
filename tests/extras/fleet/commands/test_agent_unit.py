"""The unit that `fleet agent --print-unit` prints."""

import os
import re
import shlex
import shutil
import subprocess

import pytest


@pytest.fixture
def unit(run_cli):
    done = run_cli("fleet", "agent", "--print-unit")
    assert done.returncode == 0, done.stderr
    return done.stdout


def settings(unit):
    return re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE)


def test_it_starts_this_program_as_a_service_that_says_when_it_is_ready(unit, run_cli):
    found = dict(settings(unit))
    assert (found["Type"], found["Restart"], found["WantedBy"]) == ("notify", "always", "multi-user.target")
    program, *words = shlex.split(found["ExecStart"])
    assert os.access(program, os.X_OK)
    assert words[-2:] == ["fleet", "agent"]
    done = subprocess.run([program, *words, "--help"], env=run_cli.environ, capture_output=True, text=True, check=True)
    for name in re.findall(r"ASYNCSTATE_FLEET_\w+", unit):
        assert name in {"ASYNCSTATE_FLEET_CREDS", "ASYNCSTATE_FLEET_NATS"}
    assert "--creds" in done.stdout


def test_it_has_no_mount_namespace_and_nothing_that_programs_of_states_would_inherit(unit):
    names = {name for name, _ in settings(unit)}
    assert {
        name for name in names if re.match(r"Protect|Private(?!$)|Read(Only|Write)|Inaccessible|Mount|Temporary", name)
    } == set()
    assert names.isdisjoint({"NoNewPrivileges", "UMask", "MemoryDenyWriteExecute", "SystemCallArchitectures"})


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_accepts_it(unit, tmp_path):
    path = tmp_path / "asyncstate-agent.service"
    path.write_text(unit)
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "asyncstate-agent" in line]) == (0, []), (
        done.stderr
    )
