"""The structure of SLS texts, unfinished ones included."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.editor.completion import complete
from asyncstate.extras.editor.context import context
from asyncstate.extras.editor.diagnostics import diagnostics
from asyncstate.extras.editor.hover import hover
from asyncstate.extras.editor.index import index
from asyncstate.extras.editor.knowledge import Knowledge
from asyncstate.extras.editor.messages import Finding
from asyncstate.extras.editor.outline import HOLE, entries, masked
from asyncstate.extras.editor.tree import Roots, Tree

WHOLE = """\
#!jinja|yaml
{% from "map.jinja" import web with context %}
include:
  - common
{% for user in pillar['users'] %}
{{ user }}-home:
  file.directory:
    - name: "/home/{{ user }}"  # theirs
    - require:
      - user: {{ user }}
    - watch_in: [{service: 'sshd'}, {sls: other.part}]
{% endfor %}
'web server':
  pkg.installed:
    - pkgs: [nginx, 'a: b']
    - contents: |
        not: read
        - nor: this
  service:
    - running
    - names:
      - nginx:
        - enable: True
extend:
  sshd:
    service:
      - listen:
        - file: salt://x/ü.conf
short: pkg.installed
"""

# What is drawn is made of what means something, so that few examples reach much.
PIECES = st.sampled_from(
    ["{{", "}}", "{%", "%}", "{#", "#}", "\n", "  ", "- ", ": ", ":", "'", '"', "#", "[", "{", "}", "]", "|", "salt://",
     "pillar.get('", "pillar['a']", "require", "extend", "include", "a", "pkg.installed", "ü", "\U0001f600", "\t", "\0"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)


@given(TEXTS, st.integers(-1, 50), st.integers(-1, 50))
def test_no_text_raises(text, line, column):
    here = context(text, line, column)
    row = text.split("\n")[here.place.line]
    assert 0 <= here.place.start <= here.place.end <= len(row)
    assert row[here.place.start :].startswith(here.prefix)
    found = index(text)
    for word in [*(each.id for each in found.declarations), *(each.target for each in found.references), *found.pillar]:
        assert 0 <= word.place.start <= word.place.end <= len(text.split("\n")[word.place.line])


def test_no_prefix_of_a_whole_text_raises():
    for end in range(len(WHOLE)):
        text = WHOLE[:end]
        index(text)
        context(text, text.count("\n"), len(text))


@given(TEXTS)
def test_a_mask_keeps_every_place(text):
    hidden = masked(text)
    assert len(hidden) == len(text)
    assert [at for at, letter in enumerate(hidden) if letter == "\n"] == [
        at for at, letter in enumerate(text) if letter == "\n"
    ]


TREES = st.recursive(
    st.sampled_from(["x", 1, "y z"]),
    lambda below: st.one_of(
        st.lists(below, min_size=1, max_size=3), st.dictionaries(st.sampled_from(["a", "b c", "/d"]), below, min_size=1)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c d"]), TREES, min_size=1), st.booleans() | st.none(), st.booleans())
def test_yaml_has_the_paths_that_a_parser_sees(data, flow, narrow):
    def paths(value, above=()):
        if isinstance(value, dict):
            for key, below in value.items():
                yield (*above, key)
                yield from paths(below, (*above, key))
        elif isinstance(value, list):
            for below in value:
                if not isinstance(below, list):
                    yield from paths(below, above)

    def flat(value):  # a list within a list has no key of its own: not what an SLS file has
        if isinstance(value, dict):
            return {key: flat(below) for key, below in value.items()}
        return [flat(below) for below in value if not isinstance(below, list)] if isinstance(value, list) else value

    data = flat(data)
    text = yaml.dump(data, default_flow_style=flow, sort_keys=False, width=9 if narrow else 9999)
    if flow:
        text = f"top: {text}"
        data = {"top": data}
    seen = [(*entry.names, entry.key.text) for entry in entries(text) if entry.key is not None]
    assert seen == list(paths(data))


@pytest.mark.parametrize(
    "text",
    [
        "a: {test.nop: [{require: [b, {test: c}, test: d, 'e']}]}\n",
        "a:\n  test.nop: [\n    {name: x},\n    {require: [b, {test: c},\n      test: d, 'e' ]}\n]\n",
        "a:\n  test.nop:\n    - require: [b,\n        {test: c, }, test: d, # ]\n        'e'\n    ]\n",
        'a:\n  test.nop:\n    - {"require":["b",{"test":"c"},{"test":"d"},"e"]}\n',
        "a:\n  test.nop: {% if x %}\n   [{% endif %}{require: [b, {test: c}, test: d, e]}]\n",
        "a:\n  require: [b, {test: c}, test: d, &x e\n  test.nop:\n    []\n",  # nothing closes it
        "a: {test.nop: [], require: [b, {test: c}, test: d, e",
    ],
)
def test_flow_style_says_the_same(text):
    found = index(text + "\nnext:\n  test.nop: []\n")
    assert [(each.keyword, each.module, each.target.text) for each in found.references] == [
        ("require", "", "b"),
        ("require", "test", "c"),
        ("require", "test", "d"),
        ("require", "", "e"),
    ]
    assert [(each.id.text, [state.function for state in each.states]) for each in found.declarations] == [
        ("a", ["test.nop"]),
        ("next", ["test.nop"]),
    ]
    lines = text.split("\n")
    for reference in found.references:
        assert lines[reference.target.place.line][slice(*reference.target.place[1:])] == reference.target.text


def test_includes_excludes_and_names_in_flow_style_count():
    found = index("include: [one, two]\nexclude: [{sls: three}, {id: four}]\nextend: {a: {test: [{names: [x, y]}]}}\n")
    assert [link.target.text for link in found.links] == ["one", "two", "three"]
    assert [word.text for word in found.excluded] == ["four"]
    [declared] = found.declarations
    assert (declared.names, declared.extends) == (("x", "y"), True)


def test_templates_are_holes_and_blanks():
    assert masked("a{{ b }}c {% if x %}d") == "a" + HOLE * 7 + "c" + " " * 11 + "d"
    assert masked("a: {{ pillar.get(\nb: c")[-5:] == "\nb: c"  # what nothing ends is only its line


def test_what_is_declared_and_referred_to():
    found = index(WHOLE)
    ids = {each.id.text: [state.function for state in each.states] for each in found.declarations}
    assert ids == {
        "{{ user }}-home": ["file.directory"],
        "web server": ["pkg.installed", "service.running"],
        "sshd": ["service"],
        "short": ["pkg.installed"],
    }
    assert [(each.keyword, each.module, each.target.text, each.target.templated) for each in found.references] == [
        ("require", "user", "{{ user }}", True),
        ("watch_in", "service", "sshd", False),
        ("watch_in", "sls", "other.part", False),
        ("listen", "file", "salt://x/ü.conf", False),
    ]
    assert [(link.kind, link.target.text) for link in found.links] == [
        ("sls", "common"),
        ("sls", "other.part"),
        ("salt", "x/ü.conf"),
        ("template", "map.jinja"),
    ]
    assert [word.text for word in found.pillar] == ["users"]
    lines = WHOLE.split("\n")
    for reference in found.references:
        place = reference.target.place
        assert lines[place.line][place.start : place.end] == reference.target.text


def test_other_languages_have_no_structure():
    assert index("#!py\ndef run():\n  return {}\na:\n  pkg.installed: []\n").declarations == ()
    assert index("#!jinja|yaml|gpg\na:\n  pkg.installed: []\n").declarations != ()


MANY = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "a:" + " " * MANY + "x: y",
        "a: " + "\t" * MANY + "x",
        "a:\n  test.nop: " + "[" * MANY,
        "a:\n  test.nop: " + "{a: " * MANY,
        "a:\n  test.nop: [" + "'" * MANY,
        "{{ pillar['a'] }}" * (MANY // 10),
        "a:\n  test.nop:\n    - name: " + "x" * MANY,
        "{% if x %}" * (MANY // 10),
        "a: '" + "''" * MANY,
    ],
    ids=lambda text: text[:24].replace("\n", " "),
)
def test_no_text_takes_long(text):
    """Whatever takes time that grows with the square of a line would take minutes here."""
    tree = Tree(Roots({"base": ("/s",)}, {}), {}, {}, {}, {})
    tree.edited("/s/a.sls", text)
    knowledge, last = Knowledge(tree), text.count("\n")
    for column in (3, len(text) // 2, len(text)):
        complete(knowledge, tree.files["/s/a.sls"], last, column)
        hover(knowledge, tree.files["/s/a.sls"], last, column)
    diagnostics(tree, [Finding("", "it is 'odd'", "/s/a.sls", last + 1, "", mistake=True)])
