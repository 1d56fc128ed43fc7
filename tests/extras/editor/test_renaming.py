"""Renaming IDs: the tree compiles to the same states afterwards, or the reason for a refusal is given."""

from textwrap import dedent

import pytest
from editor import editor
from editor_knowledge import ROOT, at, knowledge_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from asyncstate import Settings, StateRuntime
from asyncstate.errors import CompileError
from asyncstate.extras.editor.index import REQUISITES
from asyncstate.extras.editor.messages import Rendered
from asyncstate.extras.editor.renaming import RenameRefused, prepare, rename


def edited(text, edits):
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: edit.place, reverse=True):
        line = lines[edit.place.line]
        lines[edit.place.line] = line[: edit.place.start] + edit.text + line[edit.place.end :]
    return "\n".join(lines)


def renamed(files, marked, new, states=(), **more):
    """Return the files as they are after a renaming."""
    knowledge = knowledge_of(files, states, **more)
    found = rename(knowledge, *at(knowledge, marked), new)
    after = {}
    for name, file in zip(files, list(knowledge.tree.files.values()), strict=True):
        after[name] = edited(file.text, [edit for edit in found.edits if edit.path == file.path])
    return after


def table(text):
    return dedent(text).lstrip("\n")


SAME_FORM = {
    "block": (
        """
        old:
          test.nop:
            - require_in:
              - other
        other:
          test.nop:
            - name: other
            - require:
              - test: old
              - id: old
              - old  # why
        """,
        """
        new:
          test.nop:
            - name: old
            - require_in:
              - other
        other:
          test.nop:
            - name: other
            - require:
              - test: new
              - id: new
              - new  # why
        """,
    ),
    "flow": (
        """
        old: {test.nop: [{require_in: {test: "other"}}], cmd: [run]}
        other: {test.nop: [{name: a}, {require: [old, test: 'old', {id: "old"}]}], listen: [old]}
        """,
        """
        new: {test.nop: [{name: old}, {require_in: {test: "other"}}], cmd: [run, {name: old}]}
        other: {test.nop: [{name: a}, {require: [new, test: 'new', {id: "new"}]}], listen: [new]}
        """,
    ),
    "one word": (
        """
        old: test.nop  # why
        other: {test.nop: [{name: a}, {watch: [{test: old}]}]}
        """,
        """
        new:
          test.nop:
            - name: old  # why
        other: {test.nop: [{name: a}, {watch: [{test: new}]}]}
        """,
    ),
    "the function in the list": (
        """
        old:
          test:
            - nop  # why
            - order: 1
          cmd.run: []
        """,
        """
        new:
          test:
            - nop  # why
            - name: old
            - order: 1
          cmd.run: [{name: old}]
        """,
    ),
    "names of its own": (
        """
        old:
          test.nop:
            - name: a
          cmd.run:
            - names: [b, c]
        other:
          test.nop: [{name: d}, {require: [{test: a}, {cmd: b}]}]
        """,
        """
        new:
          test.nop:
            - name: a
          cmd.run:
            - names: [b, c]
        other:
          test.nop: [{name: d}, {require: [{test: a}, {cmd: b}]}]
        """,
    ),
    "extend, exclude, requisites of an ID and of a name": (
        """
        include: [more]
        exclude:
          - id: old
          - sls: old
        extend:
          old:
            test:
              - onfail: [old-one]
            cmd.run: []
        other:
          test.nop:
            - names:
              - old:
                - prereq:
                  - cmd: old
          use:
            - test: old
        old:
          test.nop: []
        """,
        """
        include: [more]
        exclude:
          - id: new
          - sls: old
        extend:
          new:
            test:
              - onfail: [old-one]
            cmd.run: [{name: old}]
        other:
          test.nop:
            - names:
              - old:
                - prereq:
                  - cmd: new
          use:
            - test: new
        new:
          test.nop: [{name: old}]
        """,
    ),
    "another module": (
        """
        old:
          test.nop: []
        other:
          cmd.run: [{name: a}, {require: [{cmd: old}, {sls: old}, {host: db, test: old}]}, {old: old}]
        """,
        """
        new:
          test.nop: [{name: old}]
        other:
          cmd.run: [{name: a}, {require: [{cmd: old}, {sls: old}, {host: db, test: new}]}, {old: old}]
        """,
    ),
    "templates around it": (
        """
        {% if grains['os'] == 'Debian' %}
        old:
          test.nop:   # why
            {% if pillar.get('a') %}
            - name: a
            {% endif %}
        {% else %}
        old: {cmd.run: [{name: {{ pillar['b'] }} }]}
        {% endif %}
        other:
          test.nop:
            - name: {{ pillar['old'] }}
            {%- for each in ['old'] %}
            - require:
              - old
            {%- endfor %}
            {{ more | yaml }}
        """,
        """
        {% if grains['os'] == 'Debian' %}
        new:
          test.nop:   # why
            - name: old
            {% if pillar.get('a') %}
            - name: a
            {% endif %}
        {% else %}
        new: {cmd.run: [{name: {{ pillar['b'] }} }]}
        {% endif %}
        other:
          test.nop:
            - name: {{ pillar['old'] }}
            {%- for each in ['old'] %}
            - require:
              - new
            {%- endfor %}
            {{ more | yaml }}
        """,
    ),
}


@pytest.mark.parametrize("form", SAME_FORM)
def test_every_place_changes_and_keeps_its_form(form):
    before, after = map(table, SAME_FORM[form])
    marked = "o^ld:" if form != "extend, exclude, requisites of an ID and of a name" else "- id: old^"
    assert renamed({"web/init.sls": before}, marked, "new") == {"web/init.sls": after}


@pytest.mark.parametrize(
    ("new", "key", "value"),
    [
        ("a: b", "'a: b'", "'a: b'"),
        ("it's", "it's", "it's"),
        ("'it", "'''it'", "'''it'"),
        ("yes", "'yes'", "'yes'"),
        ("80", "'80'", "'80'"),
        ("a, b", "'a, b'", "'a, b'"),
        ("a #b", "'a #b'", "'a #b'"),
        ("- a", "'- a'", "'- a'"),
        (" a", "' a'", "' a'"),
        ("*a", "'*a'", "'*a'"),
        ("/etc/é.conf", "/etc/é.conf", "/etc/é.conf"),
    ],
)
def test_a_name_that_needs_quotation_marks_has_them(new, key, value):
    files = {"a.sls": 'a:\n  test.nop: [{name: a}]\nb:\n  test.nop: [{require: [{test: a}, "a"]}]\n'}
    doubled = new.replace("\\", "\\\\").replace('"', '\\"')
    assert renamed(files, "^a:", new)["a.sls"] == (
        f'{key}:\n  test.nop: [{{name: a}}]\nb:\n  test.nop: [{{require: [{{test: {value}}}, "{doubled}"]}}]\n'
    )


REFUSED = {
    "empty": ("a: test.nop\n", "^a", " ", "an ID is not empty"),
    "of another line": ("a: test.nop\n", "^a", "b\nc", "U+000A"),
    "a template": ("a: test.nop\n", "^a", "b{{ c }}", "begins a template"),
    "a word of the language": ("a: test.nop\n", "^a", "extend", "word of the language"),
    "of ours": ("a: test.nop\n", "^a", "__a", "underscores"),
    "long": ("a: test.nop\n", "^a", "b" * 2000, "2000 characters"),
    "declared": ("a: test.nop\nb: test.nop\n", "^a", "b", "'b' is already declared in s.sls:2"),
    "likely declared": ("a: test.nop\nb-{{ c }}: test.nop\n", "^a", "b-1", "already declared in s.sls:2"),
    "computed": ("a-{{ b }}: test.nop\n", "^a-", "b", "a template computes the ID 'a-{{ b }}' in s.sls:1"),
    "of a template elsewhere": (
        "a-{{ b }}: test.nop\nc: {test.nop: [{require: [a-1]}]}\n", "[^a-1", "b", "computes it: 'a-{{ b }}' in s.sls:1",
    ),
    "nothing": ("b: {test.nop: [{require: [a]}]}\n", "[^a", "c", "no SLS file declares it"),
    "a glob": ("b: {test.nop: [{require: ['a*']}]}\n", "'^a", "c", "a pattern"),
    "a name": (
        "b: {test.nop: [{name: a}]}\nc: {test.nop: [{require: [a]}]}\n", "[^a", "d", "the name of the state 'b' in s.sls:1",
    ),
    "a state that the ID has not": (
        "a: test.nop\nb: {cmd.run: [{name: a}]}\nc: {test.nop: [{require: [cmd: a]}]}\n",
        "cmd: ^a", "d", "'cmd: a' does not mean it, for it has no state of 'cmd'",
    ),
    "a name too": (
        "a: {test.nop: []}\nb: {test.nop: [{name: a}]}\nc: {test.nop: [{require: [test: a]}]}\n",
        "^a", "d", "the requisite in s.sls:3 means 'b' too, a state with the name 'a' in s.sls:2",
    ),
    "a name then": (
        "a: {test.nop: []}\nb: {test.nop: [{name: d}]}\nc: {test.nop: [{require: [test: a]}]}\n",
        "^a", "d", "the requisite in s.sls:3 would mean 'b' too",
    ),
    "of others": (
        "a: {test.nop: []}\nb: {test.nop: [{name: d}]}\nc: {test.nop: [{require: [test: d]}]}\n",
        "^a", "d", "'d' in s.sls:3 would no longer mean the same",
    ),
    "of a pattern": (
        "a1: {test.nop: [{name: b}]}\nc: {test.nop: [{require: ['a*']}]}\n", "^a1", "d", "'a*' in s.sls:2",
    ),
    "of an argument": (
        "a: {test.nop: []}\nb: {test.nop: [{note: d}]}\nc: {test.nop: [{require_in: [test: d]}]}\n",
        "^a", "d", "'d' in s.sls:3 means 'b', by an argument",
    ),
    "excluded": ("a: test.nop\nexclude: [{id: b}]\n", "^a", "b", "s.sls:2 excludes that ID"),
    "shared arguments": ("a: {test.nop: &x [order: 1]}\nb: {test.nop: *x}\n", "^a", "c", "an anchor"),
    "computed arguments": ("a:\n  test.nop: {{ b | yaml }}\n", "^a", "c", "no list that can be read"),
    "an anchored word": ("a: {test.nop: [{name: &x b}]}\nc: {test.nop: [{require: [&y a]}]}\n", "^a", "d", "an anchor"),
    "a name that is no text": ("a: {test.nop: [{name: 5}]}\n", "^a", "b", "the name in s.sls:1 is no text"),
    "an ID that is no text": ("5: {test.nop: [{name: a}]}\n", "^5", "b", "without quotation marks it is no text"),
    "no YAML": ("a: {test.nop: [}\n", "^a", "b", "s.sls:1 cannot be read"),
    "Python": ("#!py\ndef run(): return {'a': 'test.nop'}\n", "^a'", "b", "another language than YAML: #!py"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_done_truly_is_refused_in_words(what):
    text, marked, new, reason = REFUSED[what]
    with pytest.raises(RenameRefused) as refused:
        renamed({"s.sls": text}, marked, new)
    assert reason in str(refused.value)


def test_other_files_count():
    text = "a:\n  test.nop: [{name: b}]\n"
    named = "c:\n  test.nop: [{require: [a]}]\n"
    after = "c:\n  test.nop: [{require: [d]}]\n"
    assert renamed({"a.sls": text, "c.sls": named}, "[^a]", "d")["c.sls"] == after
    # a top file, and what is no state, are no IDs
    tree = {"a.sls": text, "top.sls": "base:\n  a: [a]\n", "data.sls": "a:\n  lookup: {a: b}\n"}
    assert renamed(tree, "^a:\n  test", "d") == {**tree, "a.sls": text.replace("a:", "d:")}
    for name, other in {
        "broken.sls": "c:\n  test.nop: [{require: [a]}\n",
        "other.sls": "#!py\n'a'\n",
        "part.jinja": "c:\n  test.nop: [{require: [a]}]\n",
        "likely.sls": "c:\n  test.nop: [{require: ['{{ x }}a']}]\n",
    }.items():
        with pytest.raises(RenameRefused, match=name):
            renamed({"a.sls": text, name: other}, "^a:\n  test.nop: [{name", "d")
        assert renamed({"a.sls": text, name: other.replace("a", "z")}, "^a:\n  test.nop: [{name", "d")["a.sls"] != text


def test_environments_are_apart_if_both_declare_it():
    a, c = "a: {test.nop: [{name: b}]}\n", "c: {test.nop: [{require: [a]}]}\n"
    both = {"a.sls": a, "dev:a.sls": "x: test.nop\n" + a, "dev:c.sls": c}
    after = renamed(both, "x: test.nop\n^a", "d", envs=("base", "dev"))
    assert after == {
        "a.sls": a,
        "dev:a.sls": both["dev:a.sls"].replace("a: {", "d: {"),
        "dev:c.sls": c.replace("[a]", "[d]"),
    }
    one = {"a.sls": a, "dev:c.sls": c}
    assert renamed(one, "[^a]", "d", envs=("base", "dev")) == {
        "a.sls": a.replace("a:", "d:"),
        "dev:c.sls": c.replace("[a]", "[d]"),
    }


def test_files_outside_of_the_tree_are_left_alone(tmp_path):
    text = "a: {test.nop: [{name: b}]}\n"
    knowledge = knowledge_of({"a.sls": text}, root=str(tmp_path / "salt"))
    knowledge.tree.edited(str(tmp_path / "elsewhere.sls"), text)
    file = knowledge.tree.files[str(tmp_path / "salt/a.sls")]
    assert {edit.path for edit in rename(knowledge, file, 0, 0, "c").edits} == {file.path}
    with pytest.raises(RenameRefused, match=r"elsewhere.sls is no SLS file of the tree"):
        rename(knowledge, knowledge.tree.files[str(tmp_path / "elsewhere.sls")], 0, 0, "c")
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt/a.sls").symlink_to("../elsewhere.sls")
    with pytest.raises(RenameRefused, match=r"is a link to .*elsewhere.sls"):
        rename(knowledge, file, 0, 0, "c")


def state(id_, file="a.sls", name=None, refers=(), line=1):
    return Rendered(id_, "test", name or id_, file.removesuffix(".sls"), f"{ROOT}/{file}", line, refers)


def test_what_only_rendering_shows_counts():
    text = "a: {test.nop: [{name: b}]}\n"
    files = {"a.sls": text, "c.sls": "c:\n  test.nop:\n    - require: {{ x }}\n"}
    refers = state("c", "c.sls", refers=(("test", "a"),), line=3)
    with pytest.raises(RenameRefused, match=r"the state 'c' in c.sls:3 refers to it"):
        renamed(files, "^a:", "d", [state("a", name="b"), refers])
    assert renamed(files, "^a:", "d", [state("a", name="b"), state("c", "c.sls")])["a.sls"] == text.replace("a:", "d:")
    # what a text without templates no longer says is out of date
    plain = {**files, "c.sls": "c:\n  test.nop: []\n"}
    assert renamed(plain, "^a:", "d", [state("a", name="b"), refers])["a.sls"] == text.replace("a:", "d:")
    made = {**files, "c.sls": "#!py\n"}
    with pytest.raises(RenameRefused, match=r"'d' is already declared in c.sls:1"):
        renamed(made, "^a:", "d", [state("a"), state("d", "c.sls")])
    with pytest.raises(RenameRefused, match=r"c.sls:1 declares it too"):
        renamed(made, "^a:", "d", [state("a"), state("a", "c.sls")])
    with pytest.raises(RenameRefused, match=r"it comes from c.sls:1, which is written in another language"):
        renamed({**made, "e.sls": "e: {test.nop: [{require: [z]}]}\n"}, "[^z]", "d", [state("z", "c.sls")])
    with pytest.raises(RenameRefused, match=r"a template computes it in c.sls:1"):
        renamed({**files, "e.sls": "e: {test.nop: [{require: [z]}]}\n"}, "[^z]", "d", [state("z", "c.sls")])
    # two states that are never compiled together
    apart = {
        "a.sls": "a: {test.nop: []}\nc: {test.nop: [{require: [test: a]}]}\n",
        "b.sls": "b: {test.nop: [{name: a}]}\n",
    }
    assert "[test: d]" in renamed(apart, "^a: {", "d", [state("a"), state("c")])["a.sls"]
    # a state whose arguments cannot be read, and that has a name
    named = {"a.sls": "a:\n  test.nop: {{ b | yaml }}\n"}
    assert renamed(named, "^a", "d", [state("a", name="b")])["a.sls"] == named["a.sls"].replace("a:", "d:", 1)


def test_what_nobody_can_know_is_named():
    knowledge = knowledge_of(
        {"a.sls": "a: {test.nop: [{name: b}]}\n", "c.sls": "c: {test.nop: [{require: ['{{ x }}']}]}\n"}
    )
    assert rename(knowledge, *at(knowledge, "^a:"), "d").unseen == ["c.sls:1"]


def test_the_word_at_the_cursor():
    knowledge = knowledge_of({"a.sls": "include: [b]\n'it''s': {test.nop: [{name: b}, {require: [{sls: a}]}]}\n"})
    word = prepare(knowledge, *at(knowledge, "'i^t''s'"))
    assert (word.text, word.place) == ("it's", (1, 1, 6))
    for nowhere in ("[^b]", "test.^nop", "sls: ^a", "name: ^b"):
        assert prepare(knowledge, *at(knowledge, nowhere)) is None
        with pytest.raises(RenameRefused, match="no ID here"):
            rename(knowledge, *at(knowledge, nowhere), "c")
    assert rename(knowledge, *at(knowledge, "'i^t''s'"), "it's").edits == []


WEB = """\
include: [base]
# \U0001f600
conf: {file.managed: [{name: /etc/x}, {require: ["\U0001f600", user: \U0001f600]}]}
"""
BASE = """\
\U0001f600: user.present
{% for name in ['one', 'two'] %}
group-{{ name }}: group.present
{% endfor %}
"""


@pytest.fixture
def project(tmp_path):
    for name, text in {"top.sls": "base:\n  '*': [web]\n", "web.sls": WEB, "base.sls": BASE}.items():
        (tmp_path / "project/salt").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"project/salt/{name}").write_text(text)
    return tmp_path / "project"


def as_shown(edits):
    places = [(each.range.start.line, each.range.start.character, each.range.end.character) for each in edits]
    return list(zip(places, (each.new_text for each in edits), strict=True))


DECLARED = [((0, 0, 2), "deploy"), ((0, 3, 16), "\n  user.present:\n    - name: \U0001f600")]
NAMED = [((2, 49, 53), '"deploy"'), ((2, 61, 63), "deploy")]


async def test_an_editor_that_compares_versions_gets_them(project, tmp_path):
    edit = types.WorkspaceEditClientCapabilities(document_changes=True)
    prepares = types.RenameClientCapabilities(prepare_support=True)
    can = types.ClientCapabilities(
        types.WorkspaceClientCapabilities(workspace_edit=edit), types.TextDocumentClientCapabilities(rename=prepares)
    )
    async with editor(project, state=tmp_path, can=can) as it:
        it.open("salt/web.sls")
        word = await it.prepare_rename("salt/web.sls", '"\U0001f600^"')
        assert (word.placeholder, word.range.start.character, word.range.end.character) == ("\U0001f600", 50, 52)
        assert await it.prepare_rename("salt/web.sls", "/etc^/x") is None
        # a text that nobody has saved
        it.change("salt/web.sls", WEB + "more: {cmd.run: [{name: a}, {require: [user: \U0001f600]}]}\n")
        found = await it.rename("salt/web.sls", "user: \U0001f600^]", "deploy")
        assert found.changes is None
        documents = {each.text_document.uri: each for each in found.document_changes}
        web, base = documents[it.uri("salt/web.sls")], documents[it.uri("salt/base.sls")]
        assert (web.text_document.version, base.text_document.version) == (2, None)
        assert sorted(as_shown(web.edits)) == [*NAMED, ((3, 45, 47), "deploy")]
        assert sorted(as_shown(base.edits)) == DECLARED


async def test_an_editor_is_told_why_not(project, tmp_path):
    async with editor(project, state=tmp_path) as it:
        it.open("salt/base.sls")
        it.open("salt/web.sls")
        found = await it.rename("salt/base.sls", "^\U0001f600", "deploy")
        assert found.document_changes is None
        assert sorted(as_shown(found.changes[it.uri("salt/web.sls")])) == NAMED
        with pytest.raises(JsonRpcException, match=r"a template computes the ID 'group-\{\{ name \}\}'") as refused:
            await it.prepare_rename("salt/base.sls", "gro^up-")
        assert refused.value.code == types.LSPErrorCodes.RequestFailed.value
        with pytest.raises(JsonRpcException, match=r"the ID 'conf' is already declared in web.sls:3"):
            await it.rename("salt/base.sls", "^\U0001f600", "conf")
        (project / "salt/top.sls").write_text("base:\n  '*': [web, base]\n")
        with pytest.raises(JsonRpcException, match=r"top.sls has changed on the disk"):
            await it.rename("salt/base.sls", "^\U0001f600", "deploy")


# what is drawn is made of what means something
PIECES = st.sampled_from(
    ["{{", "}}", "{%", "%}", "{#", "#}", "\n", "\n  ", "\n    - ", " ", ": ", ":", "'", '"', "#", "[", "{", "}", "]", "|", ">",
     "&a ", "*a", "!x ", "? ", "<<: ", "a", "a:\n  test.nop:\n", "require: [", "extend:\n  ", "exclude:\n- id: ", "test.nop",
     "\U0001f600", "\t", "\0", "\r", "\x85", "\u2028", "\ud800", "if x", "endif", "names:\n", "- name: ", "---\n"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS, TEXTS, st.sampled_from(["c", "a*", "'", ": "]))
def test_whatever_the_texts_are_there_are_edits_or_words(text, other, new):
    files = {"a.sls": "a:\n  test.nop: [{require_in: [a]}]\n" + text, "b.sls": other}
    try:
        after = renamed(files, "^a:\n  test", new)
    except RenameRefused:
        return
    assert not after["a.sls"].startswith("a:")


# trees that are drawn: what compiles, compiles to the same afterwards

WORDS = st.sampled_from(["a", "b", "c", "n"])
TARGETS = st.one_of(WORDS, WORDS, st.sampled_from(["'a'", '"b"', "a*", "[ab]"]))
MODULES = st.sampled_from(["test", "cmd", "id", ""])
KEYWORDS = st.sampled_from(
    ["require", "require", "watch", "onchanges", "listen", "require_in", "listen_in", "use", "prereq_in"]
)


@st.composite
def requisites(draw):
    items = [
        f"{module}: {target}" if module else target
        for module, target in draw(st.lists(st.tuples(MODULES, TARGETS), min_size=1, max_size=2))
    ]
    keyword = draw(KEYWORDS)
    if draw(st.booleans()):
        return [f"- {keyword}: [{', '.join(items)}]"]
    return [f"- {keyword}:", *(f"  - {item}" for item in items)]


@st.composite
def states(draw, module, *, extends):
    arguments = []
    naming = draw(st.sampled_from(["", "", "", "name", "names", "maybe", "either"]))
    if naming == "name":
        arguments.append(f"- name: {draw(WORDS)}")
    elif naming == "names":
        arguments.append(f"- names: [{draw(WORDS)}, m]")
    elif naming:
        arguments += [f"{{% if {naming == 'either'} %}}", f"- name: {draw(WORDS)}", "{% endif %}"]
    for _ in range(draw(st.integers(0, 1))):
        arguments += draw(requisites())
    function = "" if extends else {"test": "nop", "cmd": "run"}[module]
    form = draw(st.sampled_from(["dotted", "split", "wide"]))
    if not arguments:
        if extends:
            return [f"{module}: [order: 5]"]
        return [f"{module}.{function}: []"] if form == "dotted" else [f"{module}: [{function}]"]
    indent = "    " if form == "wide" else ""
    if form == "dotted" and function:
        return [f"{module}.{function}:", *(f"  {line}" for line in arguments)]
    return [f"{module}:", *(f"{indent}{line}" for line in ([f"- {function}"] if function else []) + arguments)]


@st.composite
def bodies(draw, *, extends=False):
    modules = draw(st.lists(st.sampled_from(["test", "cmd"]), min_size=1, max_size=2, unique=True))
    lines = []
    for module in modules:
        lines += draw(states(module, extends=extends))
    return lines


@st.composite
def trees(draw):
    files = {"s.sls": ["include: [t]"], "t.sls": []}
    for id_ in draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=3, unique=True)):
        file = files[draw(st.sampled_from(sorted(files)))]
        if draw(st.integers(0, 4)) == 0:
            file.append(f"{id_}: test.nop")
        else:
            file += [f"{id_}:", *(f"  {line}" for line in draw(bodies()))]
    if draw(st.integers(0, 2)) == 0:
        files["s.sls"] += ["extend:", f"  {draw(WORDS)}:", *(f"    {line}" for line in draw(bodies(extends=True)))]
    if draw(st.integers(0, 5)) == 0:
        files["s.sls"] += ["exclude:", f"  - id: {draw(WORDS)}"]
    return {name: "\n".join([*lines, ""]) for name, lines in files.items()}


def compiled(root, files):
    """Return what a tree compiles to, None if it does not."""
    for name, text in files.items():
        (root / name).write_text(text)
    with StateRuntime(Settings(file_roots={"base": [str(root)]}, root_dir=str(root / ".state"))).open_sync() as runtime:
        try:
            return runtime.compile_sync(["s"])
        except CompileError:
            return None


def shape(plan, called):
    """Return all of a plan that does not depend on how an ID is written; ``called`` gives the IDs their new names."""
    chunks = [
        (chunk.state, chunk.fun, called.get(chunk.id, chunk.id), chunk.name, chunk.sls, chunk.order,
         {key: value for key, value in chunk.args.items() if key not in REQUISITES})
        for chunk in plan.chunks
    ]  # fmt: skip
    nodes = [(node.kind, node.chunk, node.members) for node in plan.nodes]
    repeated = "W109"  # the old ID becomes a name in front of one that a block of Jinja hides, which still counts
    return chunks, nodes, sorted(plan.dag.edges()), sum(each.code != repeated for each in plan.warnings)


def declares(text, id_):
    return f"\n{id_}:" in f"\n{text}"


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(), st.sampled_from(["a", "b", "c"]), st.sampled_from(["n", "m", "z", "yes", "a: b", "a*"]))
def test_what_compiles_gives_the_same_states_but_for_the_id(tmp_path, files, old, new):
    root = tmp_path / "salt"
    root.mkdir(exist_ok=True)
    # nothing stands before the first line that a marked text could begin with
    files = {name: f"# {name}\n{text}" for name, text in files.items()}
    before = compiled(root, files)
    if before is None or not any(declares(text, old) for text in files.values()):
        return
    try:
        after = renamed(files, f"\n^{old}:", new)
    except RenameRefused:
        return
    plan = compiled(root, after)
    assert plan is not None
    assert shape(plan, {}) == shape(before, {old: new})
