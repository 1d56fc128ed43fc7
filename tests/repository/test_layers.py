"""Imports only go down; plugins see no more of the package than they may."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN_MAY_IMPORT = (
    "asyncstate.__version__",
    "asyncstate.data",
    "asyncstate.dunders",
    "asyncstate.errors",
    "asyncstate.filesystem",
    "asyncstate.interfaces",
    "asyncstate.process",
    "asyncstate.data.urls",
    "asyncstate.remains",
)


def test_imports_only_go_down(checkout):
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "imports only go down KEPT" in done.stdout


def test_every_package_has_a_layer(checkout):
    contract = (checkout / "pyproject.toml").read_text().partition("[[tool.importlinter.contracts]]")[2]
    parts = {
        path.stem
        for path in (checkout / "asyncstate").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    outside = {"__init__", "__main__", "_checkout", "_version"}
    assert {part for part in parts - outside if f"asyncstate.{part}" not in contract} == set()


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "asyncstate":
            yield from (f"asyncstate.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


@pytest.mark.parametrize("tree", ["states", "modules"])
def test_plugins_import_nothing_else_of_ours(checkout, tree):
    allowed = (*PLUGIN_MAY_IMPORT, "asyncstate.states", "asyncstate.modules")
    found = {
        f"{path.relative_to(checkout)}: {name}"
        for path in (checkout / tree).rglob("*.py")
        for name in imports_of(path)
        if name.partition(".")[0] in {"asyncstate", "states", "modules"}
        and not any(name == each or name.startswith(f"{each}.") for each in allowed)
    }
    assert found == set()


def test_one_place_starts_programs(checkout):
    """Whatever starts a program by other means leaves it behind when its call is cut off."""
    starts = {"Popen", "check_call", "check_output", "getoutput", "getstatusoutput", "fork", "forkpty", "system"}
    found = {
        f"{path.relative_to(checkout)}:{node.lineno}"
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if path.parent != checkout / "asyncstate" / "process"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"subprocess", "os", "asyncio", "anyio", "pty"}
        and (
            node.func.attr in starts
            or node.func.attr.startswith(("create_subprocess", "spawn", "posix_spawn", "exec", "popen"))
            or f"{node.func.value.id}.{node.func.attr}"
            in {"subprocess.run", "subprocess.call", "anyio.run_process", "anyio.open_process"}
        )
    }
    assert found == set()


def test_the_scheduler_has_no_input_or_output(checkout):
    machine = checkout / "asyncstate" / "run" / "machine.py"
    tree = ast.parse(machine.read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Await, ast.AsyncFunctionDef))]
    assert not {"time", "asyncio", "anyio", "logging", "structlog", "os"} & set(imports_of(machine))


def test_no_file_is_too_long(checkout):
    lengths = {
        str(path.relative_to(checkout)): len(path.read_text().splitlines())
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
    }
    assert {path: length for path, length in lengths.items() if length > 800} == {}


def test_what_is_temporary_is_noted(checkout):
    """A temporary file that `asyncstate.remains` does not know of stays for ever when the run that made it is killed."""
    found = {
        str(path.relative_to(checkout))
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if "salt_compat" not in str(path) and path.name != "remains.py"
        if re.search(r"\btempfile\.(?!gettempdir\b)", path.read_text())
    }
    assert found == set()


PAST_THE_DOOR = {
    "asyncstate/process/": "/proc",
    "asyncstate/remains.py": "private folders of ours, by names of ours",
    "asyncstate/run/lock.py": "the cache directory",
    "asyncstate/run/leftovers.py": "/proc",
    "asyncstate/run/durability.py": "opened to be synced, never read",
    "asyncstate/testing.py": "folders that a test made",
    "asyncstate/cli/": "what the operator names on the command line, and /dev/null",
    "asyncstate/config.py": "the folder of the configuration, looked at by its trust",
    "asyncstate/load/": "plugin folders, looked at by their trust",
    "asyncstate/salt_compat/": "Salt's own functions for plugins of trees",
    "asyncstate/services.py": "a template that was fetched into the cache directory",
    "asyncstate/data/host.py": "Salt's filters list what a template names",
    "asyncstate/reference/function.py": "plugins that were loaded",
    "asyncstate/sources/fileclient.py": "the file roots, which the operator names and whose rim it keeps itself",
    "asyncstate/sources/grains_hardware.py": "/sys",
    "asyncstate/sources/system_files.py": "/proc, /sys and /etc",
    "modules/_account_files.py": "the lock of the account files in /etc",
    "modules/_init_system.py": "/etc",
    "modules/_netlink.py": "/sys",
    "modules/_routes.py": "/proc",
    "modules/_zoneinfo.py": "/etc/localtime and /etc/timezone",
    "modules/alternatives.py": "/etc/alternatives",
    "modules/aptpkg/": "/etc/apt, and private folders of ours",
    "modules/cmd/": "temporary files of ours, and /etc/shells",
    "modules/debconf.py": "a temporary file of ours",
    "modules/file/paths.py": "names only, for file.is_link with nostat",
    "modules/file/sources.py": "a temporary file of ours",
    "modules/git/": "a temporary file of ours; git itself keeps out of users' folders",
    "modules/linux_sysctl.py": "/proc",
    "modules/mount.py": "the cache directory",
    "modules/pacmanpkg.py": "folders of the package manager",
    "modules/pip/": "temporary folders of ours; pip itself keeps out of users' folders",
    "modules/ps.py": "/proc",
    "modules/runit.py": "names only, of root's service folders",
    "modules/ssh/pairs.py": "temporary files of ours",
    "modules/status.py": "/proc",
    "modules/supervisord_service.py": "names only, in /etc",
    "modules/system.py": "/etc",
    "modules/systemd_service.py": "folders of systemd",
    "modules/user.py": "/etc",
    "states/archive/source.py": "the cache directory",
    "states/mount/": "the links of /dev",
}
"""Where files are touched by other means than `asyncstate.filesystem`, and why nobody can lead that astray."""

_OF_OS = {
    *("open", "listdir", "scandir", "walk", "remove", "unlink", "rename", "replace", "renames", "rmdir", "removedirs"),
    *("mkdir", "makedirs", "symlink", "link", "chown", "lchown", "chmod", "lchmod", "mknod", "mkfifo", "truncate"),
    *("readlink", "setxattr", "removexattr", "getxattr", "listxattr"),
}
_OF_SHUTIL = {"move", "copy", "copy2", "copyfile", "copytree", "rmtree", "chown", "copymode", "copystat"}
_OF_PATHS = {"read_text", "write_text", "write_bytes", "iterdir", "rglob", "symlink_to", "hardlink_to"}


def touches_files(node):
    function = node.func
    if isinstance(function, ast.Name):
        return function.id == "open" and not (node.args and ast.unparse(node.args[0]).endswith(".fd"))
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if owner in {"os", "shutil"}:
        by_descriptor = any(word.arg and word.arg.endswith("dir_fd") for word in node.keywords)
        return function.attr in (_OF_OS if owner == "os" else _OF_SHUTIL) and not by_descriptor
    return owner != "filesystem" and function.attr in _OF_PATHS


@pytest.mark.feature("F214")
def test_whatever_takes_a_path_goes_through_the_door(checkout):
    """A path of a tree, a user or a shared folder is opened by `asyncstate.filesystem`, or it can be exchanged."""
    found = {
        f"{path.relative_to(checkout)}:{node.lineno}: {ast.unparse(node)[:80]}"
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if path.parent != checkout / "asyncstate" / "filesystem"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and touches_files(node)
    }
    assert {each for each in found if not each.startswith(tuple(PAST_THE_DOOR))} == set()
