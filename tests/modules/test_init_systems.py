"""The providers of ``service`` for OpenRC, runit and supervisord, without their programs: files, and recorded answers."""

from contextlib import suppress

import pytest
from asyncstate.modules import debian_service, gentoo_service, runit, supervisord_service, systemd_service
from plugin_harness import PluginHarness
from tables import rows

from asyncstate.errors import CommandExecutionError


def answer(retcode=0, stdout="", stderr=""):
    return {"pid": 1, "retcode": retcode, "stdout": stdout, "stderr": stderr}


def harness_of(name, tmp_path, run_all):
    made = PluginHarness(tmp_path)
    made.salt["cmd.run_all"] = run_all
    made.load("modules", name)
    made.load("modules", "status")
    made.load("states", "service")
    return made


@pytest.mark.parametrize(
    ("grains", "booted_systemd", "loads"),
    [
        ({"os": "Gentoo", "os_family": "Gentoo", "init": "sysvinit"}, False, {"gentoo_service"}),
        ({"os": "Alpine", "os_family": "Alpine", "init": "openrc"}, False, {"gentoo_service"}),
        ({"os": "Gentoo", "os_family": "Gentoo", "init": "systemd"}, True, set()),
        ({"os": "Void", "os_family": "Void", "init": "runit"}, False, {"runit"}),
        ({"os": "Debian", "os_family": "Debian", "init": "runit"}, False, {"runit"}),
        ({"os": "Debian", "os_family": "Debian", "init": "openrc"}, False, {"gentoo_service"}),
        ({"os": "Debian", "os_family": "Debian", "init": "sysvinit"}, False, {"debian_service"}),
        ({"os": "Debian", "os_family": "Debian", "init": "supervisord"}, False, {"debian_service"}),
    ],
)
def test_one_provider_loads(grains, booted_systemd, loads, tmp_path, monkeypatch):
    modules = {
        each.__name__.rpartition(".")[2]: each for each in (gentoo_service, runit, debian_service, supervisord_service)
    }
    monkeypatch.setattr(gentoo_service, "booted_with_systemd", lambda: booted_systemd)
    monkeypatch.setattr(debian_service, "_has_systemd", lambda: booted_systemd)
    monkeypatch.setattr("shutil.which", lambda program: None if program == "systemctl" else f"/sbin/{program}")
    made = PluginHarness(tmp_path)
    made.grains.clear()
    made.grains.update(kernel="Linux", **grains)
    with made.calling():
        verdicts = {name: module.__virtual__() for name, module in modules.items()}
    assert {name for name, verdict in verdicts.items() if verdict == "service"} == loads


# --- OpenRC


class OpenRc:
    """Answers init scripts and rc-update as OpenRC 0.45 does."""

    def __init__(self, folder):
        self.folder = folder
        self.started = set()
        self.levels = {"sshd": ["default"], "hostname": ["boot"]}
        self.ran = []

    def __call__(self, command, **_):
        self.ran.append(list(command))
        if command == ["rc-update", "-v", "show"]:
            names = sorted({*self.levels, "sun"})
            return answer(0, "\n".join(f"{name:>20} | {' '.join(self.levels.get(name, []))}" for name in names))
        if command[0] == "rc-update":
            return self._update(*command[1:])
        name, action = command[0].rpartition("/")[2], command[1]
        if not command[0].startswith(self.folder) or name != "sun":
            return answer(127, "", "not found")
        if action == "status":
            return answer(0, " * status: started") if name in self.started else answer(3, " * status: stopped")
        if action == "reload":
            return answer(1, "", " * sun: unknown function `reload'")
        (self.started.discard if action == "stop" else self.started.add)(name)
        return answer()

    def _update(self, action, name, *levels):
        if name not in {"sun", "sshd"}:
            return answer(1, "", f" * rc-update: service `{name}' does not exist")
        current = [each for each in self.levels.get(name, []) if each not in levels]
        self.levels[name] = [*current, *levels] if action == "add" else current
        return answer(0, f" * service {name} {action}ed")


@pytest.fixture
def openrc(tmp_path, monkeypatch):
    scripts = tmp_path / "init.d"
    scripts.mkdir()
    for name in ("sun", "functions.sh", "sshd"):
        (scripts / name).touch(0o755)
    monkeypatch.setattr(gentoo_service, "_SCRIPTS", str(scripts))
    made = harness_of("gentoo_service", tmp_path, rc := OpenRc(str(scripts)))
    made.rc = rc
    return made


@pytest.mark.feature("F176")
def test_openrc_services(openrc):
    state, call = openrc.state, openrc.call
    assert call("service.get_all") == ["sshd", "sun"]
    assert state("service.running", name="sun", enable=True, test=True)["result"] is None
    row = state("service.running", name="sun", enable=True)
    assert (row["comment"], row["changes"]) == ("Service sun has been enabled, and is running", {"sun": True})
    assert state("service.running", name="sun", enable=True)["changes"] == {}
    assert call("service.get_enabled") == ["hostname", "sshd", "sun"]
    assert call("service.status", "s*n") == {"sun": True}
    assert call("service.force_reload", "sun") is True
    assert call("service.zap", "sun") is True
    row = state("service.dead", name="sun", enable=False)
    assert (row["comment"], row["changes"]) == ("Service sun has been disabled, and is dead", {"sun": True})
    assert state("service.dead", name="sun", enable=False)["changes"] == {}


def test_openrc_runlevels(openrc):
    call = openrc.call
    assert call("service.enabled", "sshd", runlevels="boot") is False
    assert call("service.enable", "sshd", runlevels=["boot", "default"]) is True
    assert openrc.rc.ran[-1] == ["rc-update", "add", "sshd", "boot"]
    assert call("service.enabled", "sshd", runlevels=["boot", "default"]) is True
    assert call("service.disable", "sshd", runlevels="boot") is True
    assert call("service.enabled", "sshd") is True
    assert call("service.disable", "sshd") is True
    assert call("service.disabled", "sshd") is True
    with pytest.raises(CommandExecutionError, match="does not exist"):
        call("service.enable", "moon")


def test_openrc_runs_nothing_outside_its_folder(openrc):
    for name in ("../../bin/true", "", "a/b"):
        assert openrc.call("service.start", name) is False
    assert openrc.rc.ran == []


# --- runit


@pytest.fixture
def sv(tmp_path, monkeypatch):
    available, running = tmp_path / "sv", tmp_path / "service"
    running.mkdir()
    (available / "sun").mkdir(parents=True)
    (available / "sun/run").touch(0o755)
    (available / "sun/supervise").mkdir()
    (available / "sun/supervise/ok").touch()
    (available / "notes").mkdir()
    monkeypatch.setattr(runit, "_AVAILABLE", (str(available),))
    monkeypatch.setattr(runit, "_RUNNING", (str(tmp_path / "nowhere"), str(running)))
    up = set()

    def run_all(command, **_):
        assert command[:3] == ["sv", "-w", "10"]
        action, path = command[3:]
        if not (running / path.rpartition("/")[2]).exists():
            return answer(1, f"fail: {path}: unable to change to service directory: file does not exist")
        if action == "status":
            return answer(0, f"run: {path}: (pid 7) 3s") if path in up else answer(0, f"down: {path}: 3s")
        (up.discard if action == "stop" else up.add)(path)
        return answer(0, f"ok: {action}: {path}")

    made = harness_of("runit", tmp_path, run_all)
    made.available, made.running = available / "sun", running / "sun"
    return made


@pytest.mark.feature("F176")
def test_runit_services(sv):
    state, call = sv.state, sv.call
    assert call("service.get_all") == ["sun"]
    assert call("service.available", "notes") is False
    row = state("service.running", name="sun")
    assert (row["comment"], row["changes"]) == ("Started service sun", {"sun": True})
    assert sv.running.resolve() == sv.available
    assert call("service.enabled", "sun") is False
    row = state("service.running", name="sun", enable=True)
    assert row["changes"] == {"sun": True}
    assert not (sv.available / "down").exists()
    assert state("service.running", name="sun", enable=True)["changes"] == {}
    assert call("service.restart", "sun") is True
    assert state("service.dead", name="sun", enable=False)["changes"] == {"sun": True}
    assert (sv.available / "down").exists()
    assert state("service.dead", name="sun", enable=False)["changes"] == {}
    assert call("service.get_disabled") == ["sun"]
    assert call("service.remove", "sun") is True
    assert not sv.running.exists()
    assert call("service.remove", "sun") is True


def test_runit_enables_and_disables(sv):
    call = sv.call
    assert call("service.enable", "sun") is True
    assert call("service.status", "sun") is False
    assert call("service.enabled", "sun") is True
    assert call("service.disable", "sun", stop=True) is True
    assert call("service.enable", "sun", start=True) is True
    assert call("service.status", "sun") is True
    for function in ("enable", "disable", "start"):
        assert call(f"service.{function}", "moon") is False


def test_runit_leaves_a_service_that_is_no_link_alone(sv):
    sv.running.mkdir()
    (sv.running / "run").touch(0o755)
    with pytest.raises(CommandExecutionError, match="is the service itself"):
        sv.call("service.remove", "sun")


def test_runit_without_its_folder(sv, monkeypatch):
    monkeypatch.setattr(runit, "_RUNNING", ("/nowhere",))
    row = sv.state("service.running", name="sun")
    assert (row["result"], row["comment"]) == (False, "runit's folder of running services is none of /nowhere")


def test_runit_follows_no_planted_link(sv, tmp_path):
    (sv.available / "down").symlink_to(tmp_path / "victim")
    with pytest.raises(CommandExecutionError, match="Cannot make"):
        sv.call("service.disable", "sun")
    assert not (tmp_path / "victim").exists()


# --- supervisord


class Supervisorctl:
    """Answers as supervisorctl 4.2 does."""

    def __init__(self):
        self.states = {"sun": "STOPPED", "stars:vega": "RUNNING"}
        self.answers = True
        self.ran = []

    def __call__(self, command, **_):
        self.ran.append(list(command))
        if not self.answers:
            return answer(4, "unix:///run/supervisor.sock no such file")
        action, *rest = command[1:]
        if action == "status":
            return answer(3, "\n".join(f"{name:<20} {state:<9} x" for name, state in self.states.items()))
        if action == "reread":
            return answer(0, "No config updates to processes")
        name = rest[-1]
        if name not in self.states:
            return answer(1, f"{name}: ERROR (no such process)")
        if action == "start" and self.states[name] == "RUNNING":
            return answer(7, f"{name}: ERROR (already started)")
        if action == "signal":
            return answer(0, f"{name}: signalled") if self.states[name] == "RUNNING" else answer(7, f"{name}: ERROR")
        self.states[name] = "STOPPED" if action == "stop" else "RUNNING"
        return answer(0, f"{name}: {action}ed")


@pytest.fixture
def supervisor(tmp_path, monkeypatch):
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "sun.conf").write_text("; the star\n[program:sun]\ncommand=/bin/sleep 300\n; not yet\nautostart=false\n")
    monkeypatch.setattr(supervisord_service, "_FILES", (str(tmp_path / "supervisord.conf"),))
    monkeypatch.setattr(supervisord_service, "_FOLDERS", (str(folder),))
    made = harness_of("supervisord_service", tmp_path, control := Supervisorctl())
    made.control, made.config = control, folder / "sun.conf"
    return made


@pytest.mark.feature("F176")
def test_programs_of_supervisord(supervisor):
    state, call = supervisor.state, supervisor.call
    assert call("service.get_all") == ["stars:vega", "sun"]
    row = state("service.running", name="sun", enable=True)
    assert (row["comment"], row["changes"]) == ("Service sun has been enabled, and is running", {"sun": True})
    assert supervisor.config.read_text() == (
        "; the star\n\n[program:sun]\ncommand=/bin/sleep 300\n; not yet\nautostart=true\n"
    )
    assert state("service.running", name="sun", enable=True)["changes"] == {}
    assert call("service.start", "sun") is True
    assert call("service.force_reload", "sun") is True
    assert call("service.status", "s*") == {"stars:vega": True, "sun": True}
    assert state("service.dead", name="sun", enable=False)["changes"] == {"sun": True}
    assert state("service.dead", name="sun", enable=False)["changes"] == {}
    assert call("service.get_disabled") == ["stars:vega", "sun"]


def test_what_supervisord_cannot_do(supervisor):
    row = supervisor.state("service.running", name="moon")
    assert (row["result"], row["comment"]) == (False, "The named service moon is not available")
    assert supervisor.call("service.start", "moon") is False
    row = supervisor.state("service.enabled", name="stars:vega")
    assert row["result"] is False
    assert "has no [program:vega] in" in row["comment"]
    supervisor.control.answers = False
    row = supervisor.state("service.running", name="sun")
    assert (row["result"], row["comment"]) == (
        False, "supervisord does not answer: unix:///run/supervisor.sock no such file",
    )  # fmt: skip


@rows("name", ["-x", "--root=/x", "-Hevil", "../x", "/tmp/x", "a\nb", "a\0b", ""])
@rows(
    "module",
    [systemd_service, debian_service, gentoo_service, runit, supervisord_service],
)
def test_a_service_is_named_by_neither_a_path_nor_an_option(tmp_path, monkeypatch, module, name):
    """A path leads to a script or unit of somebody else's, which root would run; -H makes systemctl call another host."""
    ran = []
    monkeypatch.setattr(runit, "_running_folder", lambda: str(tmp_path))
    made = harness_of(
        module.__name__.rpartition(".")[2],
        tmp_path,
        lambda command, **_: ran.append(command) or answer(stdout=f"{name} RUNNING" if name else ""),
    )
    for function in ("start", "stop", "restart", "reload_", "status", "enable", "disable"):
        with suppress(CommandExecutionError):
            made.call(getattr(module, function), name)
    assert not [command for command in ran if name in command[1:] or f"{name}.service" in command]
