import json
import os
import socket
import time
from pathlib import Path

import pytest
from installed_salt import Site, installed_salt
from messages import said
from record_answers import recorded
from tables import beside

from asyncstate.errors import ConfigError
from asyncstate.sources import grains_hardware, grains_os
from asyncstate.sources.grains import core_grains, gather, load_grains_file
from asyncstate.sources.machine import which

TABLES = beside(__file__)


@pytest.fixture
def system(tmp_path):
    """Write files below a root and return it: system({"etc/os-release": "…"})."""

    def build(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return str(tmp_path)

    return build


def test_core_grains_of_this_machine():
    grains = core_grains()
    assert grains["kernel"] == os.uname().sysname
    assert grains["pid"] == os.getpid()
    assert grains["num_cpus"] >= 1
    assert grains["mem_total"] > 0
    assert "127.0.0.1" in grains["ipv4"]
    assert grains["ip4_interfaces"]["lo"] == ["127.0.0.1"]
    assert (grains["saltversion"], grains["saltversioninfo"]) == ("3008.3", [3008, 3])
    assert grains["host"] == grains["fqdn"].partition(".")[0]
    for name in ("os", "os_family", "osarch", "cpuarch", "init", "virtual", "path", "shell", "username", "groupname"):
        assert isinstance(grains[name], str), name
    json.dumps(grains)


def test_gathering_is_quick_and_asks_no_name_server(monkeypatch):
    def refuse(*args):
        raise AssertionError("a name was looked up")

    for function in ("getaddrinfo", "getfqdn", "gethostbyaddr", "gethostbyname"):
        monkeypatch.setattr(socket, function, refuse)
    core_grains()
    best = min(_seconds(core_grains) for _ in range(5))
    assert best < 0.05, "a few milliseconds on a quiet machine"


def _seconds(function):
    start = time.thread_time()  # of this thread: what else the machine does is not counted
    function()
    return time.thread_time() - start


@pytest.mark.parametrize("name", TABLES["machines"])
def test_machines(system, name):
    case = dict(TABLES["machines"][name])
    root = system(case.pop("files"))
    for call, expected in case.items():
        function, *arguments = call.split()
        module = grains_os if hasattr(grains_os, function) else grains_hardware
        found = getattr(module, function)(*arguments, root)
        if isinstance(expected, dict) and function not in WHOLE:
            found = {key: found.get(key) for key in expected}
        assert json.loads(json.dumps(found)) == expected


WHOLE = {"cpu_grains", "memory_grains", "firmware_grains", "name_grains", "virtual_grains"}


@pytest.mark.parametrize(("release", "expected"), TABLES["distributions"])
def test_distributions(system, release, expected):
    grains = grains_os.distribution_grains(system({"etc/os-release": release}))
    grains |= grains_os.release_grains(grains)
    names = ("os", "os_family", "osfullname", "osrelease", "oscodename", "osfinger", "osmajorrelease")
    assert [grains.get(name) for name in names] == expected


def test_a_system_that_does_not_say_what_it_is(system):
    assert grains_os.distribution_grains(system({}))["os_family"] == "Unknown"
    assert core_grains(system({}))["os"] == "Unknown"


def test_disks(system, tmp_path):
    root = system({"devices/sda/queue/rotational": "1\n", "devices/nvme0n1/queue/rotational": "0\n", "sys/block/x": ""})
    for name in ("sda", "nvme0n1"):
        (tmp_path / "sys/block" / name).symlink_to(f"../../devices/{name}")
    assert grains_hardware.disk_grains(root) == {"disks": ["sda"], "ssds": ["nvme0n1"]}


def test_which(tmp_path, monkeypatch):
    tool = tmp_path / "tool"
    tool.write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert which("tool") is None, "not executable"
    tool.chmod(0o755)
    assert which("tool") == str(tool)
    assert which(str(tool)) == str(tool)
    assert which("/no/such") is None
    assert which("sh"), "the system's directories are searched without being on PATH"


CORE = {"os": "Debian", "who": "core", "deep": {"core": 1}}


def opts_with(tmp_path, file=None, **opts):
    if file is not None:
        (tmp_path / "grains").write_text(file)
    return {"id": "web1", "conf_file": str(tmp_path / "minion"), **opts}


def test_sources_of_grains_in_order(tmp_path):
    custom = {"mine.main": lambda: {"who": "custom", "c": 1, "f": "custom"}}
    opts = opts_with(tmp_path, "who: file\nf: file", grains={"who": "config"})
    grains = gather(opts, custom, core=CORE)
    expected = {"who": "config", "f": "file", "c": 1, "os": "Debian", "id": "web1"}
    assert {name: grains[name] for name in expected} == expected
    assert gather(opts, custom, {"who": "flag"}, core=CORE)["who"] == "flag"
    assert gather(opts_with(tmp_path), custom, core=CORE)["who"] == "file"
    (tmp_path / "grains").unlink()
    assert gather(opts_with(tmp_path), custom, core=CORE)["who"] == "custom"
    assert CORE["who"] == "core"


def test_deep_merge_is_an_option(tmp_path):
    opts = opts_with(tmp_path, "deep: {file: 1}", grains={"deep": {"config": 1}})
    assert gather(opts, core=CORE)["deep"] == {"config": 1}
    assert gather(opts | {"grains_deep_merge": True}, core=CORE)["deep"] == {"core": 1, "file": 1, "config": 1}


def test_custom_grains(tmp_path, caplog):
    def fails():
        raise ValueError("no fact")

    custom = {
        "a.sees": lambda grains: {"seen": grains["os"]},
        "b.fails": fails,
        "c.nothing": lambda: None,
        "d.after": lambda: {"after": True},
    }
    grains = gather(opts_with(tmp_path), custom, core=CORE)
    assert (grains["seen"], grains["after"]) == ("Debian", True)
    assert said("grain-failed", name="b.fails", error="ValueError: no fact") in caplog.text
    assert "Traceback" not in caplog.text


def test_blacklist(tmp_path):
    opts = opts_with(tmp_path, "secret_file: 1", grains={"secret_config": 1}, grains_blacklist=["secret*", "who"])
    grains = gather(opts, {"m.f": lambda: {"secret_custom": 1}}, core=CORE)
    assert "who" not in grains
    assert [name for name in grains if name.startswith("secret")] == ["secret_config"]


@pytest.mark.parametrize(("name", "number"), recorded("server_id").items())
def test_server_id_is_salts(tmp_path, name, number):
    assert gather({"id": name}, core={})["server_id"] == number


@pytest.mark.parametrize(
    ("text", "message"),
    [("[1]", said("grains-mapping")), ("a: {\nb", ":3: not valid YAML"), ("a: !x 1", "not valid YAML")],
)
def test_a_broken_grains_file_is_an_error(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        gather(opts_with(tmp_path, text), core=CORE)
    assert str(tmp_path / "grains") in str(caught.value)


def test_grains_file_of_the_command_line(tmp_path):
    (tmp_path / "g.yaml").write_text("role: web")
    assert load_grains_file(str(tmp_path / "g.yaml")) == {"role": "web"}
    (tmp_path / "g.yaml").write_text("")
    assert load_grains_file(str(tmp_path / "g.yaml")) == {}
    with pytest.raises(ConfigError, match="cannot read the grains: No such file"):
        load_grains_file(str(tmp_path / "gone"))


@pytest.mark.timeout(20)
def test_a_pipe_in_the_place_of_a_grains_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "grains")
    with pytest.raises(ConfigError, match=r"cannot read the grains: Refusing to read .* it is a pipe"):
        load_grains_file(str(tmp_path / "grains"))


@pytest.mark.parametrize(("library", "features"), TABLES["what systemd can do is read from its library"])
def test_what_systemd_can_do_is_read_from_its_library(system, monkeypatch, library, features):
    monkeypatch.setattr(grains_os, "which", lambda program: f"/bin/{program}")
    root = system({"usr/lib/systemd/libsystemd-shared-252.so": library})
    assert grains_os.init_grains(root)["systemd"] == {"version": "252", "features": features}


def test_a_blacklist_of_everything_leaves_what_was_given(tmp_path):
    (tmp_path / "grains").write_text("from_file: 1\n")
    opts = {"id": "web", "conf_file": str(tmp_path / "minion"), "grains_blacklist": ["*"], "grains": {"role": "db"}}
    found = gather(opts, {"own": lambda: {"computed": 1}}, {"os": "Alpine"})
    assert found.keys() == {"id", "server_id", "master", "role", "os"}


OF_SALT_ITSELF = {"ca_truststore", "zmqversion"}
"""Versions and places of the libraries of Salt, which is not there."""
OF_SOME_MACHINES = {"machine_id", "systemd", "virtual_subtype", "lsb_distrib_codename", "oscodename"}
OF_THE_PROGRAM = {"pid", "pythonexecutable", "pythonpath", "pythonversion", "saltpath"}


def test_no_grain_of_salt_is_missing(tmp_path):
    """The names and types that ``salt-call --local grains.items`` of Salt 3008.3 gave, on a virtual machine of Debian."""
    recorded = json.loads((Path(__file__).parents[1] / "recorded" / "grains.json").read_text())
    ours = gather({"id": "here", "conf_file": str(tmp_path / "minion")})
    assert OF_SALT_ITSELF <= recorded.keys() - ours.keys() <= OF_SALT_ITSELF | OF_SOME_MACHINES
    answers = json.loads(json.dumps(ours))
    types = {name: type(answers[name]).__name__ for name in recorded.keys() & answers.keys()}
    differing = {name for name, kind in types.items() if kind != recorded[name]}
    assert differing <= {"ip4_gw", "ip6_gw"}, "a gateway is False where there is none, as there"


@pytest.mark.salt
def test_the_grains_are_those_of_salt(checkout, tmp_path):
    salts, ours = Site(tmp_path / "site", installed_salt(checkout)).grains()
    assert salts.keys() - ours.keys() <= OF_SALT_ITSELF
    shared = salts.keys() & ours.keys() - OF_THE_PROGRAM
    assert {name: ours[name] for name in shared} == {name: salts[name] for name in shared}
