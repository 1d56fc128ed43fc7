import pytest
from msgspec import structs
from tables import rows
from trees import FakeStates, edges, plan

from asyncstate.effects.calls import Templates, slots_read
from asyncstate.model.chunk import LowChunk

ASKED = {"environ:process", "grains"}
SLOTS = {
    "no slot": ({"name": "/x", "contents": ["a", {"b": 1}], "n": 5}, None, ""),
    "a file": ({"contents": "__slot__:salt:file.read(/a/b)"}, {"path:/a/b/**"}, ""),
    "a file in quotes": ({"contents": "__slot__:salt:file.read('/a/b', binary=False)"}, {"path:/a/b/**"}, ""),
    "a keyword": ({"contents": "__slot__:salt:file.read(path=/a/)"}, {"path:/a/**"}, ""),
    "a command": ({"contents": '__slot__:salt:cmd.run("cat /a /b")'}, {"path:/a/**", "path:/b/**"}, ""),
    "in a list": ({"text": ["a", "__slot__:salt:file.read(/a)"]}, {"path:/a/**"}, ""),
    "in a mapping": ({"context": {"a": "__slot__:salt:file.read(/a)"}}, {"path:/a/**"}, ""),
    "in a list of mappings": ({"env": [{"A": "__slot__:salt:file.read(/a)"}]}, {"path:/a/**"}, ""),
    "a path that ends with X": ({"contents": "__slot__:salt:file.read(/aX/)"}, {"path:/aX/**"}, ""),
    "a grain": ({"contents": "__slot__:salt:grains.get(a)"}, set(), ""),
    "no function": ({"contents": "__slot__:salt:grains"}, set(), ""),
    "unknown reads": ({"contents": "__slot__:salt:own.act(a)"}, set(), "a slot calls own.act, whose reads are unknown"),
}  # fmt: skip


@pytest.mark.parametrize("case", SLOTS)
def test_what_slots_read(case):
    args, paths, unknown = SLOTS[case]
    read = slots_read(args)
    if paths is None:
        assert read is None
    else:
        assert (set(read.reads), read.unknown) == (paths | ASKED, unknown)


def test_a_state_with_a_slot_that_nobody_knows_has_unknown_effects():
    states = FakeStates(footprints={"file": lambda low: {"writes": ["path:/x"]}})
    tree = "a: {file.managed: [{contents: '__slot__:salt:own.act(a)'}]}\nb: {file.managed: [{contents: a}]}\n"
    compiled = plan(tree, states=states, implicit_order="footprint")
    assert compiled.unknown == {0: "a slot calls own.act, whose reads are unknown"}


TEMPLATES = {
    "nothing": ("plain {{ pillar['a'] }}", set(), ""),
    "a file": ("{{ salt['file.read']('/a/b') }}", {"path:/a/b/**"}, ""),
    "a command": ("{% set x = salt.cmd.run('cat /a /b') %}", {"path:/a/**", "path:/b/**"}, ""),
    "in double quotes": ('{{ salt["file.read"]("/a") }}', {"path:/a/**"}, ""),
    "Python": ("def run():\n    return __salt__['file.read']('/a')\n", {"path:/a/**"}, ""),
    "a value by default": ("{{ salt['pillar.get']('a', '/etc/x') }}", set(), ""),
    "in a call": ("{{ salt['pillar.get'](salt['file.read']('/a')) }}", {"path:/a/**"}, ""),
    "unknown reads": ("{{ salt['cmd.run']('hostname') }}", set(), "its template calls cmd.run, whose reads are unknown"),
}  # fmt: skip


@pytest.mark.parametrize("case", TEMPLATES)
@pytest.mark.parametrize("where", ["contents", "source"])
def test_what_templates_call_functions_for(case, where):
    text, paths, unknown = TEMPLATES[case]
    chunk = LowChunk(0, "file", "managed", "i", "/x", "s", "base", 0, {"template": "jinja", where: text})
    templates = Templates(lambda chunk: (chunk.args[where], True))
    for _ in range(2):
        read = templates.read(chunk)
        assert (set(read.reads), read.unknown) == (paths, unknown)


LOOKS = {
    "prints": ("include {{ path }}; # managed by salt\n{% for each in paths %}{{ each|upper }}{% endfor %}", False),
    "no template": ("include /a; import salt", False),
    "calls": ("{{ salt['file.read'](path) }}", True),
    "calls data": ("{% set x = salt['pillar.get']('x') %}{{ salt.config.get(path, [1]) }}", False),
    "calls data of a call": ("{{ salt['pillar.get'](salt['file.read'](path)) }}", True),
    "calls data of a call by a variable": ("{{ salt['pillar.get'](salt[name](path)) }}", True),
    "calls both": ("{{ salt['pillar.get']('x') }}{{ salt['file.read'](path) }}", True),
    "calls by another name": ("{% set s = salt %}{{ s['file.read'](path) }}", True),
    "over lines": ("{%\n  set s = salt\n%}", True),
    "imports": ("{% from 'm.jinja' import read with context %}{{ read(path) }}", True),
    "includes": ("{%- include path %}", True),
    "imports data": ("{% import_yaml path as x %}", True),
    "hashes": ("{{ path | file_hashsum }}", True),
    "its own marks": ("#jinja2: line_statement_prefix: '%'\n% set s = salt", True),
    "not read": ("", True),
}


@pytest.mark.parametrize("case", LOOKS)
def test_a_template_that_only_prints_a_path_does_not_read_it(case):
    text, looks = LOOKS[case]
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
