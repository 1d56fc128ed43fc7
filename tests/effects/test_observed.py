"""Observed footprints replace guesses."""

from types import SimpleNamespace

from trees import FakeStates, compiler

from asyncstate.model.dag import FOOTPRINT

STATES = FakeStates(
    "cmd.run",
    "own.do",
    "file.managed",
    footprints={
        "cmd": lambda low: {"reads": ["environ:process"], "writes": [f"path:{low['guess']}"] if "guess" in low else []},
        "file": lambda low: {"writes": [f"path:{low['name']}"]},
    },
)


def edges(tree, records, *, mode="learned", bundled=True, unknown=False):
    """Compile, and return the footprint edges by ID, and the IDs of states with unknown effects."""
    states = FakeStates(*STATES.functions, footprints=dict(STATES.footprints), bundled=bundled)
    made = compiler(tree, states=states, learned=lambda chunk: records.get(chunk.id), implicit_order=mode)
    compiled = made.plan(["s"])
    ids = [chunk.id for chunk in compiled.chunks]
    found = {
        (ids[edge.before], ids[edge.after])
        for edge in compiled.dag.edges()
        if edge.source == FOOTPRINT and edge.before < len(ids) and edge.after < len(ids)
    }
    return found, {ids[index] for index in compiled.unknown}


def record(reads=(), writes=(), programs=()):
    reads, writes = ([f"path:{path}" for path in paths] for paths in (reads, writes))
    return SimpleNamespace(reads=tuple(reads), writes=tuple(writes), makes=(), programs=programs)


COMMANDS = """
a: {cmd.run: [{guess: /srv/x}]}
b: {cmd.run: [{guess: /srv/x}]}
"""


def test_a_guess_is_replaced():
    assert edges(COMMANDS, {})[0] == {("a", "b")}
    assert edges(COMMANDS, {"a": record(writes=["/one"]), "b": record(writes=["/two"])})[0] == set()
    assert edges(COMMANDS, {"a": record(writes=["/one"]), "b": record(reads=["/one"])})[0] == {("a", "b")}


def test_other_modes_do_not_ask():
    seen = {"a": record(writes=["/one"]), "b": record(writes=["/two"])}
    assert edges(COMMANDS, seen, mode="footprint")[0] == {("a", "b")}


def test_what_a_bundled_state_declares_is_kept():
    tree = "a: {file.managed: [{name: /f}]}\nb: {file.managed: [{name: /f}]}\n"
    assert edges(tree, {"a": record(), "b": record()})[0] == {("a", "b")}


def test_a_custom_state_touches_what_it_declares_and_what_it_was_seen_to():
    tree = "a: {file.managed: [{name: /f}]}\nb: {file.managed: [{name: /f}]}\nc: {file.managed: [{name: /g}]}\n"
    seen = {"b": record(), "c": record(reads=["/f"])}
    assert edges(tree, seen, bundled=False)[0] == {("a", "b"), ("b", "c")}


def test_unknown_effects_are_known_once_seen():
    tree = "a: {own.do: []}\nb: {own.do: []}\n"
    assert edges(tree, {"a": record(writes=["/f"]), "b": record(reads=["/f"])}, bundled=False) == ({("a", "b")}, set())
    assert edges(tree, {"a": record(writes=["/f"])}, bundled=False) == (set(), {"b"})


def test_a_program_that_the_tree_writes_may_be_another_one():
    tree = "s: {file.managed: [{name: /opt/run}]}\na: {cmd.run: [{guess: /srv/x}]}\nb: {cmd.run: [{guess: /srv/x}]}\n"
    seen = {"a": record(programs=("/opt/run",)), "b": record(programs=("/opt/other",))}
    assert edges(tree, seen)[0] == set()
    assert edges(tree, {"b": record(reads=["/srv/x"], programs=("/opt/run",))})[0] == {("a", "b")}
    both = {"a": record(writes=["/1"], programs=("/opt/run",)), "b": record(reads=["/srv/x"])}
    assert edges(tree, both)[0] == {("a", "b")}


def test_a_program_that_a_state_writes_itself_is_the_one_that_was_seen():
    tree = "a: {cmd.run: [{guess: /opt/run}]}\nb: {cmd.run: [{guess: /srv/x}]}\n"
    seen = {"a": record(writes=["/1"], programs=("/opt/run",)), "b": record(reads=["/1"])}
    assert edges(tree, seen)[0] == {("a", "b")}


def test_a_state_that_may_run_beside_any_other_still_may():
    tree = COMMANDS.replace("/srv/x}]", "/srv/x}, {parallel: True}]", 1)
    assert edges(tree, {"a": record(writes=["/1"]), "b": record(reads=["/1"])})[0] == set()


def test_the_tree_itself_has_the_last_word():
    tree = """
a: {cmd.run: [{guess: /srv/x}, {footprint: {writes: ['path:/f']}}]}
b: {cmd.run: [{guess: /srv/x}]}
"""
    assert edges(tree, {"a": record(writes=["/n"]), "b": record(reads=["/f"])})[0] == {("a", "b")}
