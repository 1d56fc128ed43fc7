"""docs/api.md is the list of public names: the package exports these, and docs, examples and README use no others."""

import ast
import importlib
import re
import subprocess
import sys

import pytest

import asyncstate
from asyncstate import errors, events
from asyncstate.interfaces import Interface

CLASSES = ("StateRuntime", "Run", "Plan", "LowChunk", "RunReport")
WHOLE = (
    "asyncstate",
    *(f"asyncstate.{name}" for name in ("events", "errors", "dunders", "interfaces", "prefetch", "testing", "logs")),
)
OWN_OF_THE_COMMAND_LINE = {"host", "file_client", "planner", "record", "hold", "used"}
OWN_OF_EXTRAS = {"past_run", "recorded", "redacted", "unfit"}
NOT_MODULES = {"asyncstate.loader", "asyncstate.states", "asyncstate.modules", "asyncstate.yaml"}
"""Dotted names in the documentation that look like modules: the entry point of installed plugins, loggers, a file."""


@pytest.fixture(scope="module")
def listed(request):
    """The list: names by module or class."""
    text = (request.config.rootpath / "docs" / "api.md").read_text()
    sections = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        rows = re.findall(r"^- (`.*?`):", body, re.MULTILINE)
        names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
        assert len(names) == len(set(names)), title
        sections[title.strip("`")] = set(names)
    for module, name in re.findall(r"^- `(asyncstate\.interfaces\.\w+)`: `(\w+)`$", text, re.MULTILINE):
        sections[module] = {name}
    del sections["Bundled interfaces"]
    return sections


# --- what is exported


@pytest.mark.parametrize("module", WHOLE)
def test_a_module_exports_the_names_listed_and_no_others(listed, module):
    exported = importlib.import_module(module).__all__
    assert set(exported) == listed[module]
    assert sorted(exported) == list(exported) or module == "asyncstate.testing"
    assert len(exported) == len(set(exported))


def test_every_name_listed_is_there(listed):
    missing = []
    for section, names in listed.items():
        module, _, last = section.rpartition(".")
        if last in CLASSES:
            found = getattr(importlib.import_module(module), last)
            missing += [(section, name) for name in names if not hasattr(found, name) and name not in _fields(found)]
        else:
            missing += [(section, name) for name in names if not hasattr(importlib.import_module(section), name)]
    assert missing == []


def _fields(kind):
    if kind is asyncstate.StateRuntime:
        return {"settings", "secrets", *OWN_OF_THE_COMMAND_LINE}
    return set(getattr(kind, "__struct_fields__", ()))


@pytest.mark.parametrize("name", ["StateRuntime", "Run", "RunReport"])
def test_what_a_class_has_without_an_underscore_is_listed(listed, name):
    kind = getattr(asyncstate, name)
    has = {each for each in dir(kind) if not each.startswith("_")} | _fields(kind)
    beyond = OWN_OF_THE_COMMAND_LINE | OWN_OF_EXTRAS if name == "StateRuntime" else set()
    assert has - beyond == listed[f"asyncstate.{name}"]


def test_all_events_and_all_errors_are_public():
    kinds = {name for name, value in vars(events).items() if isinstance(value, type)}
    assert kinds == {kind.__name__ for kind in (events.Event, *events.Event.__subclasses__())}
    assert kinds <= set(events.__all__)
    raised = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert raised <= set(errors.__all__)


def test_every_bundled_interface_is_listed(listed, checkout):
    for path in (checkout / "asyncstate" / "interfaces").glob("*.py"):
        module = importlib.import_module(f"asyncstate.interfaces.{path.stem}")
        own = {
            name for name, value in vars(module).items() if _is_interface(value) and value.__module__ == module.__name__
        }
        assert own == listed.get(module.__name__, set())


def _is_interface(value):
    return isinstance(value, type) and issubclass(value, Interface) and value is not Interface


def test_the_package_imports_its_names_when_they_are_used(listed):
    code = "import sys, asyncstate; print(*(name for name in sys.modules if name.startswith('asyncstate')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    mounted = {"asyncstate.states", "asyncstate.modules"}  # folders beside the package, in a checkout
    assert set(done.stdout.split()) - mounted <= {"asyncstate", "asyncstate._version"}
    homes = {name for names in asyncstate._HOMES.values() for name in names}
    assert homes | {"__version__"} == listed["asyncstate"]
    with pytest.raises(AttributeError, match="no attribute 'Runtime'"):
        _ = asyncstate.Runtime


def test_every_public_name_has_its_type_stated(listed, checkout):
    """`make check` holds tests/typing/api.py, where a name that is not listed is no harm."""
    tree = ast.parse((checkout / "tests" / "typing" / "api.py").read_text())
    stated = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    stated |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert {(section, name) for section, names in listed.items() for name in names if name not in stated} == set()


# --- what is used


def pages(checkout):
    yield checkout / "README.md"
    yield from (checkout / "docs").glob("*.md")
    yield from (checkout / "examples").rglob("*.md")


def programs(checkout):
    """Every Python text that shows how to use the package, with where it stands."""
    for path in pages(checkout):
        for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)):
            yield f"{path.name}, program {number + 1}", code
        for line in re.findall(r"from asyncstate[\w.]* import [\w, ]+", path.read_text()):
            yield path.name, line
    for path in (checkout / "examples").rglob("*.py"):
        yield str(path.relative_to(checkout)), path.read_text()


def test_what_documentation_and_examples_import_is_listed(listed, checkout):
    private, seen = [], 0
    for place, code in programs(checkout):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "asyncstate":
                names = [alias.name for alias in node.names]
                private += [(place, node.module, name) for name in names if name not in listed.get(node.module, ())]
                seen += len(names)
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.partition(".")[0] == "asyncstate"]
                private += [(place, name) for name in names if name not in listed]
    assert private == []
    assert seen > 20


def test_the_dotted_names_in_the_documentation_are_listed(listed, checkout):
    private = []
    for path in pages(checkout):
        text = path.read_text()
        for name in re.findall(r"(?:^::: |`)(asyncstate(?:\.\w+)+)", text, re.MULTILINE):
            module, _, last = name.rpartition(".")
            if name not in listed and name not in NOT_MODULES and last not in listed.get(module, ()):
                private.append((path.name, name))
    assert private == []


def test_the_page_says_that_the_rest_may_change(checkout):
    text = (checkout / "docs" / "api.md").read_text()
    assert "**Everything\nelse is private and may change in any release**" in text
