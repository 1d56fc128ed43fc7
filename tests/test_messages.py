"""The cases of messages.yaml; and that no other test has a sentence of the engine."""

import ast
import re

import pytest
import yaml
from messages import PATH, catalogue, compiled, compiled_pillar, ran

TESTS = PATH.parent
ROOT = TESTS.parent
OF_OTHERS = ("recorded", "states/rows", "extras")
"""Folders with words of others: recorded rows, and the extras."""
WORDS = 5
"""Words in a row that two texts share by no accident."""

TREES = {str(number): case for number, case in enumerate(catalogue()["trees"])}
COMMANDS = {f"{number} {case['command']}": case for number, case in enumerate(catalogue()["commands"])}


@pytest.mark.parametrize("case", TREES)
def test_trees(case):
    case = TREES[case]
    options = case.get("options", {})
    found = compiled_pillar(case["pillar"], **options) if "pillar" in case else compiled(case["tree"], **options)
    assert found == case["says"]


@pytest.mark.parametrize("case", COMMANDS)
def test_commands(case, tmp_path, monkeypatch, capfd):
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("ASYNCSTATE_ID", "mine")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR", "ASYNCSTATE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    roots = {"file_roots": str(tmp_path / "salt"), "pillar_roots": str(tmp_path / "pillar")}
    monkeypatch.setattr("asyncstate.config.values.DEFAULT_ROOTS", roots)
    monkeypatch.setattr("asyncstate.config.settings.JOURNALED", True)
    monkeypatch.chdir(tmp_path)
    case = COMMANDS[case]
    expected = {"code": 0, "stdout": "", "stderr": ""} | {key: case[key] for key in SAID if key in case}
    assert ran(case, tmp_path, capfd.readouterr) == expected


SAID = ("code", "stdout", "stderr")
"""What a case says of a command."""


IMPORT = r"(?m)^(from|import) messages\b"


def test_every_sentence_is_used():
    tests = [path for path in TESTS.rglob("*.py") if re.search(IMPORT, path.read_text())]
    assert catalogue()["sentences"].keys() - set().union(*map(named, tests)) == set()


def named(path):
    """Return the names of sentences that a module asks for; those it passes on stand in its texts or its table."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "messages"]
    known = {each.asname or each.name for node in imports for each in node.names if each.name in {"said", "match"}}
    known |= {"messages.said", "messages.match"}
    asked = [node.args[0] for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) in known]
    if all(isinstance(name, ast.Constant) for name in asked):
        return texts(asked)
    table = path.with_suffix(".yaml")
    return texts(nodes) | ({event.value for event in scalars(table)} if table.exists() else set())


def texts(nodes):
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def scalars(path):
    return [event for event in yaml.parse(path.read_text()) if isinstance(event, yaml.ScalarEvent)]


def test_no_key_stands_twice():
    """YAML takes the last of two, and the first would prove nothing."""
    assert twice(yaml.compose("a: {b: 1, b: 2}")) == ["b"]
    assert twice(yaml.compose(PATH.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))) == []


def twice(node):
    """Return the keys that a mapping below a node has a second time."""
    if isinstance(node, yaml.SequenceNode):
        return [key for each in node.value for key in twice(each)]
    if not isinstance(node, yaml.MappingNode):
        return []
    keys = [key.value for key, _ in node.value]
    return [key for at, key in enumerate(keys) if key in keys[:at]] + [
        key for _, each in node.value for key in twice(each)
    ]


def literals(path):
    """The texts of a module that are no docstrings, and the lines of any other file, each with its line."""
    if path.suffix != ".py":
        return list(enumerate(path.read_text().splitlines(), 1))
    nodes = list(ast.walk(ast.parse(path.read_text())))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    ]


def runs(text):
    """Every WORDS words in a row of a text."""
    words = text.replace("\\", "").split()
    return {" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}


def of_the_engine():
    """Every WORDS words in a row of the engine's texts, but for those that modules and states say, too."""
    package = [path for path in (ROOT / "asyncstate").rglob("*.py") if "extras" not in path.parts]
    others = [path for name in ("modules", "states") for path in (ROOT / name).rglob("*.py")]
    ours, theirs = (
        set().union(*(runs(text) for path in paths for _, text in literals(path))) for paths in (package, others)
    )
    return ours - theirs


def test_no_other_test_has_a_sentence_of_the_engine():
    ours = of_the_engine()
    tests = [path for kind in ("*.py", "*.yaml") for path in TESTS.rglob(kind) if path != PATH]
    names = {path: path.relative_to(TESTS).as_posix() for path in tests}
    assert [
        f"{names[path]}:{line}: {min(found)}"
        for path in tests
        if not names[path].startswith(OF_OTHERS)
        for line, text in literals(path)
        if (found := runs(text) & ours)
    ] == []
