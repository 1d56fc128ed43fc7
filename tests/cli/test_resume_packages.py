"""A run that is killed in the middle of a package transaction: real apt and dpkg, in a root of their own."""

import json
import os
import re
import signal
import subprocess
import time
from contextlib import suppress

import pytest
from apt_root import AptRoot, needs_apt
from messages import said
from tables import beside

TABLES = beside(__file__)

pytestmark = needs_apt

TREE = TABLES["tree"]
WAITS = "echo configured >> {0}/calls; touch {0}/began; while test -d {0} && ! test -e {0}/go; do sleep 0.05; done"


class Site:
    def __init__(self, tmp_path, environ, program):
        self.folder = tmp_path / "site"
        self.folder.mkdir()
        self.apt = AptRoot(tmp_path)
        self.apt.package("alpha", postinst=WAITS.format(self.folder))
        self.apt.package("beta")
        (self.folder / "web.sls").write_text(TREE.format(self.folder))
        self.environ = {**environ, **self.apt.environ, "PATH": f"{program.parent}:{self.apt.environ['PATH']}"}
        self.program = program
        self.started = []

    def apply(self, *words, **streams):
        grains = self.folder / "grains.json"
        grains.write_text('{"osarch": "amd64", "os": "Debian", "os_family": "Debian", "oscodename": "bookworm"}')
        command = [self.program, "apply", *words, "--file-root", self.folder, "--grains", grains]
        process = subprocess.Popen(command, env=self.environ, text=True, start_new_session=True, **streams)
        self.started.append(process)
        return process

    def kill_amid(self):
        """Kill a run while dpkg configures alpha."""
        process = self.apply("web", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not (self.folder / "began").exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.kill()
        process.wait()
        process.stderr.close()

    def resumed(self, *words):
        done = self.apply("--resume", "--out", "json", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, errors = done.communicate()
        return done.returncode, out, errors


@pytest.fixture
def site(tmp_path, run_cli, program):
    site = Site(tmp_path, run_cli.environ, program)
    yield site
    (site.folder / "go").touch()
    for process in site.started:
        if process.poll() is None:
            process.kill()
            process.wait()


def end_programs(said):
    for pid in re.search(r": kill ([\d ]+)", said)[1].split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def check(site, code, out, errors):
    assert code == 0, out + errors
    rows = {row["__id__"]: row for row in json.loads(out).values()}
    for name in ("alpha", "beta"):
        assert said("began-before") in rows[name]["comment"]
        assert rows[name]["result"] is True
    assert (site.folder / "restarts").read_text() == "restarted\n"
    assert (site.folder / "late").exists()
    assert site.apt.installed() == {"alpha": "1.0", "beta": "1.0"}


def test_apt_goes_on_and_the_resumed_run_waits_for_it(site):
    site.kill_amid()
    code, _, errors = site.resumed("--wait", "0.1")
    assert code == 1
    assert "(apt-get, since" in errors
    (site.folder / "go").touch()
    check(site, *site.resumed())
    assert (site.folder / "calls").read_text() == "configured\n"


def test_a_transaction_that_was_killed_as_well_says_how_it_is_mended(site):
    site.kill_amid()
    _, _, errors = site.resumed("--wait", "0.1")
    end_programs(errors)
    (site.folder / "go").touch()
    code, _, errors = site.resumed()
    assert code == 2
    assert "dpkg was interrupted" in errors
    assert "dpkg --configure -a" in errors
    assert not (site.folder / "late").exists()
