"""The docker states and module, through the library docker, on a fake daemon behind a real socket.

tests/servers runs the first part of this file on a real daemon, too.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from fake_docker import FakeDocker
from plugin_harness import PluginHarness
from tables import beside

TABLES = beside(__file__)

pytestmark = pytest.mark.feature("F213")

# The first process of a container has no default for signals; this one ends at SIGTERM and lives on at SIGHUP.
SCRIPT = "trap exit TERM; trap : HUP; while :; do /bin/busybox sleep 1000 & wait; done"
COMMAND = ["/bin/busybox", "sh", "-c", SCRIPT]


@pytest.fixture
def daemon(tmp_path):
    fake = FakeDocker(str(tmp_path))
    for tag in ("1", "2"):
        fake.add_image(f"busy:{tag}", Cmd=COMMAND, Env=["PATH=/bin"], Labels={"tag": tag})
    yield fake
    fake.close()


@pytest.fixture
def plugins(tmp_path, daemon):
    harness = PluginHarness(tmp_path / "harness", **{"docker.url": daemon.url})
    harness.load("modules", "config")
    harness.load("modules", "docker")
    for name in ("container", "image", "network"):
        harness.load("states", f"docker_{name}")
    return harness


def short(row):
    return row["result"], row["comment"], row["changes"]


def identity(plugins, name="web"):
    return plugins.call("docker.inspect_container", name)["Id"]


def in_three_runs(plugins, function, **arguments):
    """Three rows; the dry run must leave the daemon as it was."""

    def seen():
        return sorted(plugins.call("docker.ps", all=True)), sorted(plugins.call("docker.images"))

    before = seen()
    dry = plugins.state(function, test=True, **arguments)
    assert seen() == before, "the dry run changed something"
    return dry, plugins.state(function, **arguments), plugins.state(function, **arguments)


# --- on both daemons


def test_a_container_is_made_and_started_once(plugins):
    image = plugins.call("docker.resolve_image_id", "busy:1")
    dry, real, again = in_three_runs(plugins, "docker_container.running", name="web", image="busy:1", detach=True)
    foretold = {"image": {"old": None, "new": image}}
    assert short(dry) == (None, "Container 'web' would be created", foretold)
    number = identity(plugins)
    changes = {"container_id": {"added": number}, "state": {"old": None, "new": "running"}}
    assert short(real) == (True, "Created container 'web'", changes)
    assert short(again) == (True, "Container 'web' is already configured as specified", {})
    assert identity(plugins) == number
    assert plugins.call("docker.list_containers", all=True) == ["web"]
    dry = plugins.state("docker_container.running", name="web", image="busy:1", detach=True, test=True)
    assert short(dry) == (True, "Container 'web' is already configured as specified", {})


@pytest.mark.parametrize(("arguments", "section", "items"), TABLES["a container that must change is replaced once"])
def test_a_container_that_must_change_is_replaced_once(plugins, arguments, section, items):
    common = {"name": "web", "image": "busy:1"}
    plugins.state("docker_container.running", **common, environment=["MODE=a"])
    old = identity(plugins)
    given = {**common, "environment": ["MODE=a"], **arguments}
    dry, real, again = in_three_runs(plugins, "docker_container.running", **given)
    new = identity(plugins)
    assert new != old
    assert (dry["result"], dry["comment"].split(".")[0]) == (None, "Container 'web' would be replaced")
    for row in (dry, real):
        found = row["changes"]["container"][section]
        for item, (after, before) in items.items():
            expected = sorted(after) if item == "Env" else after
            assert (sorted(found[item]["new"]) if item == "Env" else found[item]["new"]) == expected
            if before != "DEFAULT":
                assert (sorted(found[item]["old"]) if item == "Env" else found[item]["old"]) in (before, before or None)
    assert real["result"] is True
    assert real["changes"]["container_id"] == {"removed": [old], "added": new}
    assert real["comment"].startswith("Replaced container 'web'")
    assert short(again) == (True, "Container 'web' is already configured as specified", {})
    assert plugins.call("docker.state", "web") == "running"
    assert plugins.call("docker.list_containers", all=True) == ["web"]


def test_a_new_image_replaces_the_container(plugins):
    plugins.state("docker_container.running", name="web", image="busy:1")
    old, images = identity(plugins), [plugins.call("docker.resolve_image_id", f"busy:{tag}") for tag in (1, 2)]
    dry, real, again = in_three_runs(plugins, "docker_container.running", name="web", image="busy:2")
    changes = {"image": {"old": images[0], "new": images[1]}}
    assert short(dry) == (None, "Container 'web' would be replaced", changes)
    changes["container_id"] = {"removed": [old], "added": identity(plugins)}
    assert short(real) == (True, "Replaced container 'web'. Container has a new image.", changes)
    assert again["changes"] == {}


def test_force_and_watch_replace_it_in_any_case(plugins):
    plugins.state("docker_container.running", name="web", image="busy:1")
    old = identity(plugins)
    dry = plugins.state("docker_container.running", name="web", image="busy:1", force=True, test=True)
    assert short(dry) == (None, "Container 'web' would be replaced", {"forced_update": True})
    row = plugins.state("docker_container.mod_watch", name="web", image="busy:1", sfun="running")
    new = identity(plugins)
    assert row["changes"] == {"container_id": {"removed": [old], "added": new}}
    row = plugins.state("docker_container.mod_watch", name="web", image="busy:1", sfun="running", watch_action="SIGHUP")
    assert row["changes"] == {"signal": "SIGHUP"}
    assert row["comment"] == "Sent signal SIGHUP to container"
    assert identity(plugins) == new
    row = plugins.state("docker_container.mod_watch", name="web", sfun="absent")
    assert short(row) == (False, "watch requisite is not implemented for absent", {})


def test_a_stopped_container_is_started_again(plugins):
    arguments = {"name": "web", "image": "busy:1", "shutdown_timeout": 1}
    plugins.state("docker_container.running", **arguments)
    dry, real, again = in_three_runs(plugins, "docker_container.stopped", name="web", shutdown_timeout=1)
    assert short(dry) == (None, "The following container(s) will be stopped: web", {})
    changes = {"web": {"result": True, "state": {"old": "running", "new": "stopped"}}}
    assert short(real) == (True, "The following container(s) were stopped: web", changes)
    assert short(again) == (True, "Container 'web' is not running", {})
    row = plugins.state("docker_container.running", start=False, **arguments)
    assert short(row) == (True, "Container 'web' is already configured as specified", {})
    dry = plugins.state("docker_container.running", test=True, **arguments)
    assert dry["result"] is None
    assert dry["comment"] == "Container 'web' is already configured as specified. Container would be started."
    row = plugins.state("docker_container.running", **arguments)
    assert row["changes"] == {"state": {"old": "stopped", "new": "running"}}
    assert "State changed from 'stopped' to 'running'" in row["comment"]


def test_a_container_is_removed_once(plugins):
    plugins.state("docker_container.running", name="web", image="busy:1")
    number = identity(plugins)
    row = plugins.state("docker_container.absent", name="web")
    assert short(row) == (False, "Container is running, set force to True to forcibly remove it", {})
    dry, real, again = in_three_runs(plugins, "docker_container.absent", name="web", force=True)
    assert short(dry) == (None, "Container 'web' will be removed", {})
    assert short(real) == (True, "Forcibly removed container 'web'", {"removed": [number]})
    assert short(again) == (True, "Container 'web' does not exist", {})


def test_networks_of_a_container(plugins):
    plugins.state("docker_network.present", name="inner", subnet="10.213.8.0/24", gateway="10.213.8.1")
    plugins.state("docker_network.present", name="outer", subnet="10.213.9.0/24")
    common = {"name": "web", "image": "busy:1"}
    given = {"networks": [{"inner": [{"ipv4_address": "10.213.8.7"}, {"aliases": "www,w3"}]}]}
    _, real, again = in_three_runs(plugins, "docker_container.running", **common, **given)
    changes = real["changes"]["container"]["Networks"]["inner"]
    assert changes["IPAMConfig"] == {"old": None, "new": {"IPv4Address": "10.213.8.7"}}
    assert changes["Aliases"] == {"old": None, "new": ["w3", "www"]}
    assert again["changes"] == {}
    number = identity(plugins)
    dry, real, again = in_three_runs(plugins, "docker_container.running", **common, networks="inner, outer")
    assert dry["result"] is None
    assert "Network configuration would be updated" in dry["comment"]
    assert "Reconnected to network 'inner' with updated configuration" in real["comment"]
    assert "Connected to network 'outer'" in real["comment"]
    assert set(real["changes"]["container"]["Networks"]) == {"inner", "outer"}
    assert again["changes"] == {}
    assert identity(plugins) == number
    assert list(plugins.call("docker.inspect_container", "web")["NetworkSettings"]["Networks"]) == ["inner", "outer"]
    row = plugins.state("docker_container.running", **common, networks=["inner", "nowhere"])
    assert short(row) == (False, "The following networks are not present: nowhere", {})
    real = plugins.state("docker_container.running", **common, networks=["outer"])
    assert "Disconnected from network 'inner'" in real["comment"]


def test_a_network(plugins):
    given = {"name": "inner", "subnet": "10.213.8.0/24", "labels": ["a=b"]}
    dry, real, again = in_three_runs(plugins, "docker_network.present", **given)
    assert short(dry) == (None, "Network will be created", {})
    assert short(real) == (True, "Network 'inner' created", {"created": True})
    assert short(again) == (True, "Network 'inner' already exists, and is configured as specified", {})
    plugins.state("docker_container.running", name="web", image="busy:1", networks="inner")
    given["internal"] = True
    dry, real, again = in_three_runs(plugins, "docker_network.present", **given)
    differences = {"Internal": {"old": False, "new": True}}
    assert short(dry) == (None, "Network would be recreated with new config", {"inner": differences})
    assert short(real) == (True, "Network 'inner' was replaced with updated config", {
        "inner": differences, "disconnected": ["web"], "recreated": True, "reconnected": ["web"],
    })  # fmt: skip
    assert again["changes"] == {}
    dry, real, again = in_three_runs(plugins, "docker_network.absent", name="inner")
    assert short(dry) == (None, "Network 'inner' will be removed", {})
    assert short(real) == (True, "Removed network 'inner'", {"disconnected": ["web"], "removed": True})
    assert short(again) == (True, "Network 'inner' already absent", {})


def test_containers_are_connected_to_a_network(plugins):
    plugins.state("docker_container.running", name="web", image="busy:1")
    given = {"name": "inner", "subnet": "10.213.8.0/24", "containers": ["web"]}
    _, real, again = in_three_runs(plugins, "docker_network.present", **given)
    assert real["changes"] == {"created": True, "connected": ["web"]}
    assert again["changes"] == {}
    plugins.call("docker.disconnect_container_from_network", "web", "inner")
    dry, real, again = in_three_runs(plugins, "docker_network.present", **given)
    assert (dry["result"], real["changes"], again["changes"]) == (None, {"connected": ["web"]}, {})
    row = plugins.state("docker_network.present", **{**given, "containers": "web, other"})
    assert row["result"] is False
    assert "No such container: other" in row["comment"]


def test_an_image_is_removed_once(plugins):
    number = plugins.call("docker.resolve_image_id", "busy:2")
    dry, real, again = in_three_runs(plugins, "docker_image.absent", name="busy:2")
    assert short(dry) == (None, "Image busy:2 will be removed", {})
    assert short(real) == (True, "Image busy:2 was removed", {"Layers": [number], "Tags": ["busy:2"], "retcode": 0})
    assert short(again) == (True, "Image busy:2 is not present", {})


def test_an_image_in_use_stays(plugins):
    plugins.state("docker_container.running", name="web", image="busy:2")
    row = plugins.state("docker_image.absent", images=["busy:2", "busy:9"])
    assert row["result"] is False
    assert row["comment"].startswith("None of the specified images were removed. The following errors were encountered")
    assert "Error 409: conflict" in row["comment"]


def test_an_image_that_is_there(plugins):
    for test in (True, False):
        row = plugins.state("docker_image.present", name="busy", tag=1, test=test)
        assert short(row) == (True, "Image busy:1 already present", {})


@pytest.mark.parametrize("command", ["/bin/nothing-of-the-kind"])
def test_a_container_that_cannot_be_started(plugins, command, daemon):
    if isinstance(daemon, FakeDocker):
        daemon.refuse["/start"] = "no such file or directory"
    row = plugins.state("docker_container.running", name="web", image="busy:1", command=command)
    assert row["result"] is False
    assert "Failed to start container 'web'" in row["comment"]
    assert "no such file or directory" in row["comment"]
    assert plugins.call("docker.list_containers", all=True) == ["web"]


@pytest.mark.parametrize(("arguments", "comment"), TABLES["a container that makes no sense"])
def test_a_container_that_makes_no_sense(plugins, arguments, comment):
    row = plugins.state("docker_container.running", **{"name": "web", "image": "busy:1", **arguments})
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith(comment)
    assert plugins.call("docker.list_containers", all=True) == []


# --- on the fake alone


def test_an_image_is_pulled_once(plugins, daemon):
    daemon.registry = {"host:5000/team/app:3": {}, "plain:latest": {}}
    for name, tag, image in (("host:5000/team/app", "3", "host:5000/team/app:3"), ("plain", None, "plain")):
        dry, real, again = in_three_runs(plugins, "docker_image.present", name=name, tag=tag)
        assert short(dry) == (None, f"Image {image} will be pulled", {})
        assert (real["result"], real["comment"]) == (True, f"Image '{image}' was pulled")
        assert real["changes"]["Layers"] == {"Already_Pulled": ["0a1b"], "Pulled": ["2c3d"]}
        assert real["changes"]["Status"].startswith("Downloaded newer image")
        assert short(again) == (True, f"Image {image} already present", {})
    row = plugins.state("docker_image.present", name="plain", force=True)
    assert (row["result"], row["comment"]) == (True, "Image 'plain' was pulled")
    row = plugins.state("docker_image.present", name="nope")
    comment = "Encountered error pulling nope: Error 404: pull access denied for nope:latest"
    assert short(row) == (False, comment, {})


def test_a_container_brings_its_image(plugins, daemon):
    daemon.registry = {"app:1": {"Cmd": COMMAND}}
    row = plugins.state("docker_container.running", name="web", image="app:1")
    assert row["result"] is True
    assert row["changes"]["image"]["Layers"]["Pulled"] == ["2c3d"]
    row = plugins.state("docker_container.running", name="other", image="nope:1")
    assert short(row) == (False, "Failed to pull nope:1: Error 404: pull access denied for nope:1", {})


def test_an_image_is_loaded_or_built(plugins, daemon, tmp_path):
    archive = tmp_path / "app.tar"
    archive.write_text("saved:1\n")
    dry, real, again = in_three_runs(plugins, "docker_image.present", name="app", tag="7", load=str(archive))
    assert short(dry) == (None, "Image app:7 will be loaded", {})
    assert (real["result"], real["changes"]["Image"], again["changes"]) == (True, "app:7", {})
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "Dockerfile").write_text("FROM scratch\n")
    row = plugins.state("docker_image.present", name="made", tag="1", build=str(tmp_path / "src"))
    assert (row["result"], row["comment"], row["changes"]["Image"]) == (True, "Image 'made:1' was built", "made:1")
    row = plugins.state("docker_image.present", name="gone", tag="1", load=str(tmp_path / "no.tar"))
    comment = f"Encountered error loading {tmp_path}/no.tar as gone:1: Source file {tmp_path}/no.tar does not exist"
    assert short(row) == (False, comment, {})


@pytest.mark.parametrize(("function", "arguments", "comment"), TABLES["what makes no sense"])
@pytest.mark.parametrize("test", [True, False])
def test_what_makes_no_sense(plugins, function, arguments, comment, test):
    row = plugins.state(function, test=test, **arguments)
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith(comment)


def test_several_containers_are_stopped(plugins, daemon):
    for name in ("a", "b"):
        plugins.state("docker_container.running", name=name, image="busy:1")
    daemon._container("b")["State"]["Paused"] = True
    given = {"name": "all", "containers": ["a", "b", "none"], "error_on_absent": False}
    row = plugins.state("docker_container.stopped", **given)
    assert short(row) == (False, "The following container(s) are paused: b", {})
    row = plugins.state("docker_container.stopped", unpause=True, **given)
    assert row["comment"] == "The following container(s) were stopped: a, b"
    assert row["changes"]["b"]["state"] == {"old": "paused", "new": "stopped"}
    row = plugins.state("docker_container.stopped", **given)
    assert short(row) == (True, "All specified containers are absent or not running", {})


@pytest.mark.parametrize(("call", "comment", "left"), TABLES["a failure half way leaves no second container"])
def test_a_failure_half_way_leaves_no_second_container(plugins, daemon, call, comment, left):
    plugins.state("docker_network.present", name="inner")
    plugins.state("docker_container.running", name="web", image="busy:1")
    daemon.refuse[call] = "no!"
    row = plugins.state("docker_container.running", name="web", image="busy:1", tty=True, networks=["inner"])
    assert row["result"] is False
    assert row["comment"].replace("no!.", "no!") == comment
    daemon.refuse.clear()
    assert plugins.call("docker.list_containers", all=True) == left


@pytest.mark.parametrize(("function", "arguments"), TABLES["without a daemon there is one failed row"])
def test_without_a_daemon_there_is_one_failed_row(plugins, function, arguments, tmp_path):
    plugins.opts["docker.url"] = f"unix://{tmp_path}/none.sock"
    row = plugins.state(function, test=True, **arguments)
    assert (row["result"], row["changes"]) == (False, {})
    assert "the Docker daemon cannot be reached. Is it running?" in row["comment"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("80", {80: None}),
        ("8080:80", {80: 8080}),
        ("8080:80/udp", {"80/udp": 8080}),
        ("1.2.3.4:8080:80", {80: ("1.2.3.4", 8080)}),
        ("1.2.3.4::80", {80: ("1.2.3.4",)}),
        ("[::1]:8080:80", {80: ("::1", 8080)}),
        ("8080-8081:80-81", {80: 8080, 81: 8081}),
        (["8080:80", "8081:80", 80], {80: [8080, 8081, 80]}),
        ({"80/tcp": 1}, {"80/tcp": 1}),
    ],
)
def test_port_bindings(given, expected):
    from asyncstate.modules.docker import _arguments

    container, host = _arguments.translated({"publish": given})
    assert host["port_bindings"] == expected
    assert len(container["ports"]) == len(expected)


def test_without_the_library_the_reason_names_the_extra(tmp_path):
    program = (
        "import sys; sys.modules['docker'] = None\n"
        "import importlib.util\n"
        "importlib.util.find_spec = lambda name: None\n"
        "from asyncstate.modules import docker\n"
        "print(docker.__virtual__())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "pip install 'docker>=7.1'" in done.stdout
