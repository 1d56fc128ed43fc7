"""Imports only go down, in no circle; plugins see no more of the package than they may."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from import_graph import TREES, circles, import_graph, parsed, sources
from tables import beside

TABLES = beside(__file__)

PLUGINS_MAY_IMPORT = (
    "data",
    "dunders",
    "errors",
    "filesystem",
    "interfaces",
    "prefetch",
    "process",
    "residue",
    "_version",
)
"""The packages of ours that a plugin may import; `_version` for ``test.version``."""

BY_NAME = {
    "asyncstate/__init__.py": "the public names, when they are asked for",
    "asyncstate/extras/borrow/worker.py": "Salt, under Salt's interpreter",
    "asyncstate/cli/framework.py": "the file of a command",
    "asyncstate/extend.py": "extras, and what they add",
    "asyncstate/load/": "plugins",
    "asyncstate/extras/manual/": "every interface there is",
    "asyncstate/runtime.py": "imported early, so that it does not hold up the loop",
    "asyncstate/extras/namespace/": "the names of salt, and bundled plugins",
    "asyncstate/salt_compat.py": "real Salt",
    "modules/": "libraries that need not be installed",
}
"""Where something is imported by a name that the contracts cannot see, and what."""


@pytest.fixture(scope="module")
def files(checkout):
    return sources(checkout)


@pytest.fixture(scope="module")
def graph(files):
    return import_graph(files)


@pytest.fixture(scope="module")
def contracts(checkout):
    return tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_imports_keep_every_contract(checkout, contracts):
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Contracts: {len(contracts)} kept, 0 broken." in done.stdout


def test_no_contract_has_an_exception(contracts):
    """Every file has a layer, siblings do not import each other, and nothing is passed over."""
    for contract in contracts:
        assert contract["exhaustive"] is True
        assert [layer for layer in contract["layers"] if ":" in layer] == []
        assert [key for key in contract if key in {"ignore_imports", "unmatched_ignore_imports_alerting"}] == []
    assert set(contracts[0].get("exhaustive_ignores", ())) == {
        "__main__",
        "_code_pack",
        "_program",
        "_version",
    }


def test_nothing_goes_round_by_the_public_names(graph):
    assert {name for name, imported in graph.items() if "asyncstate" in imported} == set()


def test_what_is_imported_by_name_is_known(checkout, contracts):
    layers = {part: at for at, line in enumerate(contracts[0]["layers"]) for part in re.findall(r"\w+", line)}
    for folder in TREES:
        for path in (checkout / folder).rglob("*.py"):
            file = str(path.relative_to(checkout))
            for call in imports_by_name(path):
                assert file.startswith(tuple(BY_NAME)), f"{file}:{call.lineno}: {ast.unparse(call)}"
                own, named = file.split("/")[1].removesuffix(".py"), layer_named(call)
                if folder == "asyncstate" and own in layers and named in layers and own != "extend":
                    assert layers[named] > layers[own] or named == own, f"{file}:{call.lineno} imports upwards"


def imports_by_name(path):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"import_module", "__import__"}:
            yield node


def layer_named(call):
    """Return the package of ours that the beginning of the argument names; "" if it does not say."""
    text = ast.unparse(call.args[0])
    found = re.match(r"f?['\"]asyncstate\.(\w+)", text)
    return found[1] if found else ""


def test_imports_make_no_circle(graph):
    """No two files import each other, directly or through others, not even for their types."""
    assert circles(graph) == []


def test_circles_are_found():
    assert circles({"a": ["b", "x"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": ["d"], "f": ["a"]}) == [
        ["d", "e"],
        ["a", "b", "c"],
    ]


def test_plugins_import_nothing_else_of_ours(graph):
    allowed = tuple(f"asyncstate.{each}" for each in PLUGINS_MAY_IMPORT)
    found = {
        f"{name}: {imported}"
        for name, imports in graph.items()
        for imported in imports
        if is_plugin(name) and (imported.partition(".")[0] in TREES) and not is_plugin(imported)
        if not any(imported == each or imported.startswith(f"{each}.") for each in allowed)
    }
    assert found == set()


def test_states_and_modules_do_not_import_each_other(graph):
    """A state calls a module through ``__salt__``, so that the tree may have its own."""
    found = {
        f"{name}: {imported}"
        for name, imports in graph.items()
        for imported in imports
        if is_plugin(name) and is_plugin(imported) and name.split(".")[1] != imported.split(".")[1]
    }
    assert found == set()


EXTENDS = {("modules.busybox_cron", "modules.cron")}
"""Providers that are another one but for a few functions."""


def test_a_plugin_imports_no_part_of_another(files, graph):
    """What several plugins share stands beside them in private files, ``_name.py``; the rest they call by ``__salt__``."""
    found = {
        (plugin_of(name), imported.removeprefix("asyncstate."))
        for name, imports in graph.items()
        for imported in imports
        if is_plugin(name) and is_plugin(imported) and imported in files
        if plugin_of(name) != plugin_of(imported) and not imported.rpartition(".")[2].startswith("_")
    }
    assert found == EXTENDS


def test_private_parts_stay_within_their_plugin(graph):
    found = {
        f"{name}: {imported}"
        for name, imports in graph.items()
        for imported in imports
        if is_plugin(name) and is_plugin(imported) and plugin_of(name) != plugin_of(imported)
        if len(imported.split(".")) > 3
    }
    assert found == set()


def is_plugin(name):
    return name.startswith(("asyncstate.states.", "asyncstate.modules."))


def plugin_of(name):
    """Return ``states.file`` for ``asyncstate.states.file.tree``."""
    return ".".join(name.split(".")[1:3])


STARTS_ITSELF = (
    "asyncstate/cli/__init__.py:",
    "asyncstate/extras/editor/fork.py:",
    "asyncstate/extras/fleet/service.py:",
    "asyncstate/extras/fleet/ssh/loader.py:",
    "asyncstate/extras/proof/shake/container.py:",
)
"""No call of a state starts any of these. The first becomes another program, as the last act of a process that must
end. The second is a copy of the compiler, and is ended with it. The third is a server, which its owner stops. The fourth
runs on a host before asyncstate is there, and forks so that a parent outlives the runner and clears up for it. The last
is process 1 of a namespace, with which all its programs end."""


def test_one_place_starts_programs(checkout):
    """Whatever starts a program by other means leaves it behind when its call is cut off."""
    starts = {"Popen", "check_call", "check_output", "getoutput", "getstatusoutput", "fork", "forkpty", "system"}
    found = {
        f"{path.relative_to(checkout)}:{node.lineno}"
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if path.parent != checkout / "asyncstate" / "process"
        for node in ast.walk(parsed(path))
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
    assert {each for each in found if not each.startswith(STARTS_ITSELF)} == set()


def test_the_scheduler_has_no_input_or_output(checkout, graph):
    for name in ("machine", "outcomes", "gate"):
        tree = parsed(checkout / "asyncstate" / "run" / f"{name}.py")
        assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Await, ast.AsyncFunctionDef))]
        assert not {"time", "asyncio", "anyio", "logging", "structlog", "os"} & graph[f"asyncstate.run.{name}"]


def test_asyncio_is_used_where_a_docstring_says_why(checkout):
    """The idiom of concurrency is anyio's; whatever needs asyncio itself names it where the file says what it is for."""
    users = {
        path
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if re.search(r"^import asyncio|^from asyncio", path.read_text(), re.MULTILINE)
    }
    assert users
    silent = {path for path in users if "asyncio" not in (ast.get_docstring(ast.parse(path.read_text())) or "")}
    assert {str(path.relative_to(checkout)) for path in silent} == set()


def test_no_file_is_too_long(checkout):
    lengths = {
        str(path.relative_to(checkout)): len(path.read_text().splitlines())
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
    }
    assert {path: length for path, length in lengths.items() if length > 800} == {}


def test_what_is_temporary_is_noted(checkout):
    """A temporary file that `asyncstate.residue` does not know of stays for ever when the run that made it is killed."""
    found = {
        str(path.relative_to(checkout))
        for tree in ("asyncstate", "states", "modules")
        for path in (checkout / tree).rglob("*.py")
        if "extras/namespace" not in str(path) and path.name != "residue.py"
        if re.search(r"\btempfile\.(?!gettempdir\b)", path.read_text())
    }
    assert found == set()


PAST_THE_DOOR = TABLES["past the door"]
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
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and touches_files(node)
    }
    assert {each for each in found if not each.startswith(tuple(PAST_THE_DOOR))} == set()
