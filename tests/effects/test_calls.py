import pytest
from msgspec import structs
from tables import beside, rows
from trees import FakeStates, edges, plan

from asyncstate.effects.calls import Templates, slots_read
from asyncstate.model.chunk import LowChunk

TABLES = beside(__file__)
ASKED = {"environ:process", "grains"}


@pytest.mark.parametrize("case", TABLES["slots"].values(), ids=TABLES["slots"])
def test_what_slots_read(case):
    read = slots_read(case["args"])
    if "reads" not in case:
        assert read is None
    else:
        assert (set(read.reads), read.unknown) == ({*case["reads"], *ASKED}, case.get("unknown", ""))


def test_a_state_with_a_slot_that_nobody_knows_has_unknown_effects():
    states = FakeStates(footprints={"file": lambda low: {"writes": ["path:/x"]}})
    tree = "a: {file.managed: [{contents: '__slot__:salt:own.act(a)'}]}\nb: {file.managed: [{contents: a}]}\n"
    compiled = plan(tree, states=states, implicit_order="footprint")
    assert compiled.unknown == {0: "a slot calls own.act, whose reads are unknown"}


@pytest.mark.parametrize("case", TABLES["templates"].values(), ids=TABLES["templates"])
@pytest.mark.parametrize("where", ["contents", "source"])
def test_what_templates_call_functions_for(case, where):
    chunk = LowChunk(0, "file", "managed", "i", "/x", "s", "base", 0, {"template": "jinja", where: case["text"]})
    templates = Templates(lambda chunk: (chunk.args[where], True))
    for _ in range(2):
        read = templates.read(chunk)
        assert (set(read.reads), read.unknown) == ({*case["reads"]}, case.get("unknown", ""))


@pytest.mark.parametrize(("text", "looks"), TABLES["looks"].values(), ids=TABLES["looks"])
def test_a_template_that_only_prints_a_path_does_not_read_it(text, looks):
    args = {"template": "jinja", "contents": text, "context": {"path": "/k"}, "defaults": {"/X": ["/l/m/", "/"]}}
    chunk = LowChunk(0, "file", "managed", "i", "/x", "s", "base", 0, args)
    paths = {"path:/k/**", "path:/X/**", "path:/l/m/**"}
    assert set(Templates(lambda _: (text, bool(text))).read(chunk).reads) == (paths if looks else set())
    assert set(Templates(lambda _: (text, False)).read(chunk).reads) == paths
    assert set(Templates(lambda _: (text, True), usual_syntax=False).read(chunk).reads) == paths
    other = LowChunk(0, "file", "managed", "i", "/x", "s", "base", 0, {**args, "template": "py"})
    assert set(Templates(lambda _: (text, True)).read(other).reads) == paths


def test_a_template_is_read_once():
    asked = []
    templates = Templates(lambda chunk: asked.append(chunk) or ("", True))
    for name in ("/x", "/y"):
        for args in ({"template": "jinja", "source": "salt://a"}, {"source": "salt://a"}):
            templates.read(LowChunk(0, "file", "managed", "i", name, "s", "base", 0, args))
    assert len(asked) == 1


@rows(
    "change",
    [{"contents": "b"}, {"source": "salt://b"}, {"saltenv": "dev"}, {"template": "py"}, {"env": "dev"}],
)
def test_another_template_is_read_too(change):
    args = {"template": "jinja", "source": "salt://a", "saltenv": "base", "contents": "a"}
    chunk = LowChunk(0, "file", "managed", "i", "/x", "s", "base", 0, args)
    other = structs.replace(chunk, **change) if "env" in change else structs.replace(chunk, args=args | change)
    templates = Templates(lambda asked: ("{{ salt['file.read']('/k') }}" if asked == other else "", True))
    assert [templates.read(each).reads for each in (chunk, other)] == [(), ("path:/k/**",)]


def test_the_template_of_a_tree():
    tree = {
        "s": "a: {file.managed: [{name: /k}]}\nb: {file.managed: [{name: /x}, {source: 'salt://t.sls'}, {template: jinja}]}\n",
        "t": "{{ salt['file.read']('/k') }}",
    }
    states = FakeStates(footprints={"file": lambda low: {"writes": [f"path:{low['name']}"]}})
    compiled = plan(tree, states=states, implicit_order="footprint")
    assert edges(compiled) == {("a", "b")}
    assert compiled.unknown == {}
