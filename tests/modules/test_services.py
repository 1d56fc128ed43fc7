"""Both providers of ``service``: System V scripts that really run, and recorded output of systemctl."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from asyncstate.modules import _init_system, debian_service, systemd_service
from plugin_harness import PluginHarness
from record_services import RECORDED, cases

from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces import interface_of
from asyncstate.interfaces.conformance import Status, check_conformance

SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides: {name}
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
pid={folder}/{name}.pid
case "$1" in
start) sleep 300 >/dev/null 2>&1 & echo $! > $pid ;;
stop) [ -f $pid ] && kill $(cat $pid) && rm $pid ;;
restart) $0 stop; $0 start ;;
reload|force-reload) echo "$1" >> {folder}/{name}.log ;;
status) [ -f $pid ] && kill -0 $(cat $pid) 2>/dev/null || exit 3 ;;
esac
"""


class SysvRoot:
    """An /etc of its own. ``service`` runs its scripts; update-rc.d makes, renames or refuses links as Debian's does."""

    def __init__(self, tmp_path):
        self.etc = tmp_path / "etc"
        (self.etc / "init.d").mkdir(parents=True)
        for level in "0123456S":
            (self.etc / f"rc{level}.d").mkdir()
        self.folder = tmp_path
        self.runlevel = "N 2"
        self.ran = []

    def script(self, name):
        path = self.etc / "init.d" / name
        path.write_text(SCRIPT.format(name=name, folder=self.folder))
        path.chmod(0o755)

    def run_all(self, command, **_):
        self.ran.append(command)
        if command[0] == "runlevel":
            if not self.runlevel:
                raise CommandExecutionError("Unable to run command '['runlevel']'")
            return self.answer(0 if self.runlevel[0] == "N" else 1, self.runlevel)
        name, action = command[-2:]
        if command[0] == "update-rc.d":
            return self.update_rc(name, action)
        done = subprocess.run([self.etc / "init.d" / name, action], check=False, capture_output=True, text=True)
        return self.answer(done.returncode, done.stdout, done.stderr)

    def update_rc(self, name, action):
        links = sorted(path for path in self.etc.glob("rc[2-5].d/*") if path.name[3:] == name)
        if action == "defaults":
            for level in "2345":
                (self.etc / f"rc{level}.d" / f"S01{name}").symlink_to(f"../init.d/{name}")
        elif not links:
            return self.answer(1, "", "update-rc.d: error: no runlevel symlinks to modify, aborting!")
        else:
            letter = "S" if action == "enable" else "K"
            for path in links:
                path.rename(path.with_name(f"{letter}{path.name[1:]}"))
        return self.answer(0)

    @staticmethod
    def answer(retcode, stdout="", stderr=""):
        return {"pid": 1, "retcode": retcode, "stdout": stdout, "stderr": stderr}

    def stop_all(self):
        for path in self.folder.glob("*.pid"):
            os.kill(int(path.read_text()), signal.SIGKILL)


@pytest.fixture
def sysv(tmp_path, monkeypatch):
    made = SysvRoot(tmp_path)
    monkeypatch.setattr(debian_service, "_ETC", str(made.etc))
    made.harness = PluginHarness(tmp_path)
    made.harness.salt["cmd.run_all"] = made.run_all
    made.harness.load("modules", "debian_service")
    made.harness.load("modules", "status")
    made.harness.load("states", "service")
    yield made
    made.stop_all()


def be_booted(monkeypatch, *, booted):
    monkeypatch.setattr(_init_system, "booted_with_systemd", lambda: booted)
    monkeypatch.setattr(systemd_service, "_booted_with_systemd", lambda: booted)


def test_the_interface_is_kept_by_both_providers():
    for provider in (debian_service, systemd_service):
        interface = interface_of(provider)
        aliases = provider.__func_alias__
        exports = {
            aliases.get(name, name): value
            for name, value in vars(provider).items()
            if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == provider.__name__
        }
        grains = {"os_family": "Debian", "init": "systemd" if provider is systemd_service else "sysvinit"}
        findings = check_conformance(interface, exports, grains)
        assert {(each.function, each.details) for each in findings if each.status is Status.INCOMPATIBLE} == set()
        assert {each.function for each in findings if each.status in {Status.MISSING, Status.DEPRECATED}} == set()


@pytest.mark.parametrize(
    ("machine", "load"),
    [
        (("Debian", False, None), {"sysv"}),
        (("Debian", False, "/bin/systemctl"), {"systemd"}),  # in a container or an image that is being built
        (("Debian", True, "/bin/systemctl"), {"systemd"}),
        (("RedHat", False, "/bin/systemctl"), {"systemd"}),
        (("RedHat", False, None), set()),
    ],
)
def test_which_provider_loads(tmp_path, monkeypatch, machine, load):
    family, booted, systemctl = machine
    be_booted(monkeypatch, booted=booted)
    monkeypatch.setattr(shutil, "which", lambda _program: systemctl)
    harness = PluginHarness(tmp_path)
    harness.grains["os_family"] = family
    with harness.calling():
        verdicts = {"sysv": debian_service.__virtual__(), "systemd": systemd_service.__virtual__()}
        offline = systemd_service.offline()
    assert {name for name, verdict in verdicts.items() if verdict == "service"} == load
    assert offline is (systemctl is not None and not booted)


def test_a_script_that_cannot_be_executed_is_no_service(tmp_path):
    (tmp_path / "README").write_text("text")
    (tmp_path / "sun").write_text("#!/bin/sh")
    (tmp_path / "sun").chmod(0o755)
    assert _init_system.init_scripts(str(tmp_path)) == ["sun"]
    assert _init_system.init_scripts(str(tmp_path / "nowhere")) == []


def test_sysv_starts_and_stops(sysv):
    sysv.script("sun2")
    call = sysv.harness.call
    assert call("service.available", "sun2")
    assert call("service.missing", "moon")
    assert call("service.status", "sun2") is False
    assert call("service.start", "sun2") is True
    assert call("service.status", "sun*") == {"sun2": True}
    assert call("service.restart", "sun2") is True
    assert call("service.reload", "sun2") is True
    assert (sysv.folder / "sun2.log").read_text() == "reload\n"
    assert call("service.stop", "sun2") is True
    assert call("service.stop", "sun2") is False


def test_sysv_enables_and_disables_names_with_digits(sysv):
    sysv.script("apache2")
    sysv.script("moon")
    call = sysv.harness.call
    assert call("service.get_disabled") == ["apache2", "moon"]
    assert call("service.enable", "apache2") is True
    assert (call("service.enabled", "apache2"), call("service.disabled", "apache2")) == (True, False)
    assert call("service.get_enabled") == ["apache2"]
    assert call("service.disable", "apache2") is True
    assert call("service.enabled", "apache2") is False
    assert call("service.enable", "apache2") is True
    assert [command[1:] for command in sysv.ran if command[0] == "update-rc.d"] == [
        ["apache2", "defaults"], ["apache2", "disable"], ["apache2", "enable"],
    ]  # fmt: skip
    with pytest.raises(CommandExecutionError, match="no runlevel symlinks"):
        call("service.disable", "moon")


def test_sysv_without_a_runlevel_looks_where_debian_boots_to(sysv):
    sysv.script("sun")
    sysv.runlevel = "unknown"
    sysv.harness.call("service.enable", "sun")
    shutil.rmtree(sysv.etc / "rc3.d")
    assert sysv.harness.call("service.enabled", "sun")
    sysv.runlevel = ""
    assert sysv.harness.call("service.enabled", "sun")
    sysv.runlevel = "N 3"
    assert not sysv.harness.call("service.enabled", "sun")


def test_a_command_line_tells_whether_a_service_runs(sysv):
    sysv.script("sun")
    assert sysv.harness.call("service.status", "sun", sig="no such command line at all") is False
    with subprocess.Popen(["sleep", "300.123"]) as process:
        try:
            command_line = Path(f"/proc/{process.pid}/cmdline")
            while b"300.123" not in command_line.read_bytes():  # the kernel shows the new arguments a moment after exec
                assert process.poll() is None
            assert sysv.harness.call("service.status", "sun", sig=r"sleep 300\.123") is True
        finally:
            process.kill()


def test_the_states_of_a_real_service(sysv):
    sysv.script("sun")
    state = sysv.harness.state
    dry = state("service.running", test=True, name="sun", enable=True)
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, "Service sun is set to start", {})
    real = state("service.running", name="sun", enable=True)
    assert real == {
        "name": "sun", "result": True, "changes": {"sun": True},
        "comment": "Service sun has been enabled, and is running",
    }  # fmt: skip
    again = state("service.running", name="sun", enable=True)
    assert (again["result"], again["changes"]) == (True, {})
    assert again["comment"] == "The service sun is already running"
    dead = state("service.dead", name="sun", enable=False)
    assert (dead["result"], dead["changes"]) == (True, {"sun": True})
    assert dead["comment"] == "Service sun has been disabled, and is dead"
    again = state("service.dead", name="sun", enable=False)
    assert (again["comment"], again["changes"]) == ("The service sun is already dead", {})


# --- systemd


class Systemctl:
    """Answers systemctl with recorded output; units it does not know are not found."""

    def __init__(self):
        self.answers = {}
        self.ran = []

    def __call__(self, command, **_):
        line = " ".join(command)
        self.ran.append(line)
        for start, (retcode, stdout, stderr) in self.answers.items():
            if line.startswith((f"systemctl {start}", start)):
                return {"pid": 1, "retcode": retcode, "stdout": stdout, "stderr": stderr}
        unknown = any(word in line for word in ("status", "is-active", "is-enabled", "service nova"))
        return {"pid": 1, "retcode": 4 if unknown else 0, "stdout": "", "stderr": ""}

    def acted(self):
        return [line for line in self.ran if " show " not in line and " status " not in line]


STATUS = "--full --no-legend --no-pager --plain status"


@pytest.fixture
def systemd(tmp_path, monkeypatch):
    be_booted(monkeypatch, booted=True)
    made = PluginHarness(tmp_path)
    made.salt["cmd.run_all"] = made.systemctl = Systemctl()
    made.load("modules", "systemd_service")
    made.load("states", "service")
    return made


@pytest.fixture
def offline(systemd, monkeypatch):
    """The same machine as an image: systemd is installed and not process 1."""
    be_booted(monkeypatch, booted=False)
    monkeypatch.setattr(shutil, "which", lambda _program: "/bin/systemctl")
    return systemd


OFFLINE = json.loads((RECORDED / "offline.json").read_text())
NOTHING_TO_DO = [
    (title, name)
    for title, tree in cases().items()
    if title.startswith(("running", "dead")) and "changed" not in tree
    for name in tree
]


@pytest.mark.parametrize(("title", "name"), NOTHING_TO_DO)
def test_the_rows_that_salt_gives_in_an_image(offline, title, name):
    [(function, arguments)] = cases()[title][name].items()
    keywords = {key: value for each in arguments for key, value in each.items()}
    rows = [offline.state(function, test=test, name=name, **keywords) for test in (True, False, False)]
    assert [[row["result"], row["changes"], row["comment"]] for row in rows] == [
        each[name] for each in OFFLINE[title]["answers"]
    ]
    assert offline.systemctl.ran == []


@pytest.mark.parametrize("function", ["start", "stop", "restart", "reload", "force_reload", "status"])
def test_in_an_image_of_debian_its_program_runs_the_script(offline, function):
    offline.systemctl.answers["service moon"] = (0, "", "")
    assert offline.call(f"service.{function}", "moon") is True
    assert offline.call(f"service.{function}", "nova") is False
    action = function.replace("_", "-")
    assert offline.systemctl.ran == [f"service moon {action}", f"service nova {action}"]


def test_in_an_image_of_another_distribution_nothing_can_be_started(offline):
    offline.grains["os_family"] = "RedHat"
    offline.systemctl.answers["start"] = (1, "", "System has not been booted with systemd as init system (PID 1).")
    with pytest.raises(CommandExecutionError, match="has not been booted"):
        offline.call("service.start", "nginx")


def test_without_systemd_running_a_unit_is_there_if_its_file_is(offline, monkeypatch, tmp_path):
    (tmp_path / "nginx.service").touch()
    monkeypatch.setattr(systemd_service, "_UNIT_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(systemd_service, "_init_scripts", lambda *_: ["moon"])
    offline.systemctl.answers = {f"{STATUS} nosuch.service": (0, "", "Running in chroot, ignoring command 'status'")}
    assert offline.call("service.available", "nginx")
    assert offline.call("service.available", "moon")
    assert not offline.call("service.available", "nosuch")


def test_systemd_tells_what_it_knows(systemd):
    systemd.systemctl.answers = {
        f"{STATUS} nginx.service": (3, "● nginx.service - A web server\n     Loaded: loaded", ""),
        "is-active nginx.service": (3, "inactive", ""),
        "is-active cron.timer": (0, "active", ""),
        "is-enabled nginx.service": (0, "enabled", ""),
        "is-enabled ssh.service": (0, "alias", ""),
        "show ssh.service --property=Id --value": (0, "sshd.service", ""),
        "is-enabled sshd.service": (1, "disabled", ""),
    }
    call = systemd.call
    assert (call("service.available", "nginx"), call("service.available", "nosuch")) == (True, False)
    assert (call("service.status", "nginx"), call("service.status", "cron.timer")) == (False, True)
    assert (call("service.enabled", "nginx"), call("service.disabled", "nginx")) == (True, False)
    assert call("service.enabled", "ssh") is False
    assert call("service.missing", "nosuch") is True


def test_systemd_acts(systemd):
    call = systemd.call
    assert call("service.start", "nginx", no_block=True) is True
    assert call("service.restart", "nginx") is True
    assert call("service.reload", "nginx") is True
    assert call("service.force_reload", "nginx.service") is True
    assert call("service.stop", "cron.timer") is True
    assert call("service.enable", "nginx") is True
    assert call("service.disable", "nginx") is True
    assert call("service.mask", "nginx", runtime=True) is True
    assert systemd.systemctl.acted() == [
        "systemctl --no-block start nginx.service",
        "systemctl restart nginx.service",
        "systemctl reload nginx.service",
        "systemctl force-reload nginx.service",
        "systemctl stop cron.timer",
        "systemctl enable nginx.service",
        "systemctl disable nginx.service",
        "systemctl mask --runtime nginx.service",
    ]


def test_systemd_reads_a_changed_unit_file_first(systemd):
    systemd.systemctl.answers["show nginx.service --property=NeedDaemonReload --value"] = (0, "yes", "")
    systemd.call("service.start", "nginx")
    assert systemd.systemctl.acted() == ["systemctl daemon-reload", "systemctl start nginx.service"]


def test_what_systemd_refuses_is_an_error(systemd):
    reason = "Running scope as unit: run-1.scope\nJob for nginx.service failed."
    for action in ("start", "enable", "mask"):
        systemd.systemctl.answers[f"{action} nginx.service"] = (1, "", reason)
    with pytest.raises(CommandExecutionError, match=r"^Job for nginx\.service failed\.$"):
        systemd.call("service.start", "nginx")
    with pytest.raises(CommandExecutionError, match="Job for"):
        systemd.call("service.enable", "nginx")
    with pytest.raises(CommandExecutionError, match="Failed to mask service 'nginx'"):
        systemd.call("service.mask", "nginx")
    systemd.systemctl.answers[STATUS] = (0, "", "")
    row = systemd.state("service.running", name="nginx")
    assert (row["result"], row["comment"]) == (False, "Job for nginx.service failed.")


def test_masks_are_links_to_nothing(systemd, tmp_path):
    folder = tmp_path / "etc/systemd/system"
    folder.mkdir(parents=True)
    assert systemd.call("service.masked", "nginx", root=str(tmp_path)) is False
    (folder / "nginx.service").symlink_to("/dev/null")
    assert systemd.call("service.masked", "nginx", root=str(tmp_path)) is True
    assert systemd.call("service.masked", "nginx", runtime=True, root=str(tmp_path)) is False


def test_the_lists_of_systemd(systemd, tmp_path):
    units = tmp_path / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for name in ("nginx.service", "apt-daily.timer", "notes.txt"):
        (units / name).touch()
    scripts = tmp_path / "etc/init.d"
    scripts.mkdir(parents=True)
    for name in ("nginx", "legacy"):
        (scripts / name).touch(0o755)
    (tmp_path / "etc/rc2.d").mkdir()
    (tmp_path / "etc/rc2.d/S01legacy").touch()
    root = str(tmp_path)
    options = f"--root {root} --full --no-legend --no-pager --plain"
    systemd.systemctl.answers = {
        f"{options} list-unit-files": (0, "nginx.service enabled enabled\nx.timer disabled enabled\ny.service static -", ""),
        "--full --no-legend --no-pager --plain list-units": (
            0, "nginx.service loaded active running A web server\nx.timer loaded active waiting X", "",
        ),
    }  # fmt: skip
    assert systemd.call("service.get_all", root=root) == ["apt-daily.timer", "legacy", "nginx"]
    assert systemd.call("service.get_enabled", root=root) == ["legacy", "nginx"]
    assert systemd.call("service.get_disabled", root=root) == ["x.timer"]
    assert systemd.call("service.get_static", root=root) == ["y"]
    assert systemd.call("service.get_running") == ["nginx"]


def test_a_disabled_script_is_enabled(systemd, tmp_path):
    folder = tmp_path / "etc/rc2.d"
    folder.mkdir(parents=True)
    (folder / "K01legacy").touch()
    (tmp_path / "etc/init.d").mkdir()
    (tmp_path / "etc/init.d/legacy").touch(0o755)

    def run_all(command, **options):
        if command[0] == "update-rc.d" and "enable" in command:
            (folder / "K01legacy").rename(folder / "S01legacy")
        return systemd.systemctl(command, **options)

    systemd.salt["cmd.run_all"] = run_all
    root = str(tmp_path)
    assert systemd.call("service.enabled", "legacy", root=root) is False
    assert systemd.call("service.enable", "legacy", root=root) is True
    assert systemd.call("service.enabled", "legacy", root=root) is True
    systemd.systemctl.ran.clear()
    assert systemd.call("service.enable", "legacy", root=root) is True
    assert [line for line in systemd.systemctl.ran if line.startswith("update-rc.d")] == [
        "update-rc.d -f legacy defaults 99"
    ]


def test_the_properties_of_a_unit(systemd):
    systemd.systemctl.answers["show nginx.service"] = (
        0,
        "Id=nginx.service\nAfter=a.target b.target\nExecStart={ path=/usr/sbin/nginx ; argv[]=/usr/sbin/nginx -g x=1 ; }",
        "",
    )
    shown = systemd.call("service.show", "nginx")
    assert shown["Id"] == "nginx.service"
    assert shown["After"] == ["a.target", "b.target"]
    assert shown["ExecStart"]["path"] == "/usr/sbin/nginx"
