"""Mistakes of a run that are found before anything runs."""

import pytest
from plugin_trees import PluginTree
from tables import rows
from trees import compiler

from asyncstate.dunders.context import CallContext
from asyncstate.errors import CompileError
from asyncstate.load.loader import LazyLoader


def plain(name, text=None, number=0, user=None, *, must=None):
    """Take what is named, and nothing else."""


def strict(name, text, *, must):
    """Lack a default."""


def anything(name, contents=None, mode=None, source=None, sources=None, **kwargs):
    """Take whatever there is, and document ``contexts``."""


@pytest.fixture
def functions(tmp_path):
    loader = LazyLoader("states", [], CallContext, installed=False)  # nothing is imported, so no context is made
    for name, func in (("own.plain", plain), ("own.strict", strict), ("own.anything", anything), ("other.go", plain)):
        loader.register(name, func)
    return loader


@pytest.fixture
def found(functions):
    """Compile one SLS; return the findings that have a rule: rule, line, hint, and whether it is a mistake."""

    def look(text, **options):
        tree = {"s": text, **options.pop("files", {})}
        warnings = compiler(tree, functions=functions, **options).plan(["s"]).warnings
        return [(issue.rule, issue.line, issue.hint, issue.mistake) for issue in warnings if issue.rule]

    return look


def state(function, *arguments):
    return "\n".join(["a:", f"  {function}:", *(f"    - {argument}" for argument in arguments or ["name: b"])]) + "\n"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (state("own.plian"), ("unknown-function", 2, "did you mean 'own.plain'?")),
        (state("onw.plain"), ("unknown-function", 2, "did you mean 'own.plain'?")),
        (state("onw.plian"), ("unknown-function", 2, "did you mean 'own.plain'?")),
        (state("own.plain", "text: x", "txet: y"), ("unknown-argument", 4, "did you mean 'text'?")),
        (state("own.anything", "on: y"), ("unknown-argument", 2, "")),
        (state("own.plain", "1: y"), ("unknown-argument", 3, "")),
        (state("own.plain", "usr: y"), ("unknown-argument", 3, "did you mean 'user'?")),
        (state("own.plain", "onyl_if: y"), ("unknown-argument", 3, "did you mean 'onlyif'?")),
        (state("include", "b"), ("unknown-function", 2, "")),
        (state("include.b"), ("unknown-function", 2, "")),
        (state("own.plain", "include: [b]"), ("unknown-argument", 3, "")),
        (state("own.plain", "xyzzy: y"), ("unknown-argument", 3, "")),
        (state("own.plain", "requires: [{own: b}]"), ("requisite-word", 3, "did you mean 'require'?")),
        (state("own.anything", "requires: [{own: b}]"), ("requisite-word", 3, "did you mean 'require'?")),
        (state("own.anything", "require-in: [b]"), ("requisite-word", 3, "did you mean 'require_in'?")),
        (state("own.anything", "watches: [{own: b}]"), ("requisite-word", 3, "did you mean 'watch'?")),
        (state("own.strict", "must: 1"), ("missing-argument", 2, "")),
        (state("own.strict", "text: 1"), ("missing-argument", 2, "")),
    ],
)
def test_a_mistake_has_its_line_and_the_nearest_name(found, text, finding):
    near = [(rule, line, hint if hint.startswith("did") else "", wrong) for rule, line, hint, wrong in found(text)]
    assert near == [(*finding, True)]


def test_a_module_that_nobody_has(found):
    [(rule, line, hint, mistake)] = found(state("nowhere.to_be_found"))
    assert (rule, line, mistake) == ("unknown-function", 2, True)
    assert "no state module 'nowhere'" in hint


@pytest.mark.parametrize(
    "arguments",
    [
        ["contents: x", "mode: 1"],
        ["onlyif: x", "require_in: []", "retry: {attempts: 2}", "timeout: 3", "aggregate: true", "provider: x"],
        ["contexts: x"],  # documented, if only in words
        ["port: 80", "user: x", "domain: y", "node: z", "match: [a]", "use_vt: true"],  # variables
        ["watch_any_in: []"],  # has a warning of its own
        ["__odd__: 1"],
    ],
)
def test_what_is_no_mistake(found, arguments):
    assert found(state("own.anything", *arguments)) == []


def test_a_near_miss_is_a_warning_where_any_keyword_goes_and_an_error_if_asked_for(found):
    text = state("own.anything", "contnts: x")
    assert found(text) == [("probable-argument", 3, "did you mean 'contents'?", True)]
    with pytest.raises(CompileError, match=r"'contnts' is no argument of 'own.anything'"):
        found(text, strict_arguments=True)


def spelt(name, contentz=None):
    """Take what is a near miss of an argument of another function."""


@pytest.mark.parametrize("way", ["use: [{other: b}]", ""])
def test_what_use_copies_is_no_mistake_of_the_state_that_gets_it(functions, found, way):
    functions.register("other.spelt", spelt)
    given = "" if way else "\n    - use_in: [{own: a}]"
    giver = f"b:\n  other.spelt:\n    - contentz: x{given}\n"
    assert found(state("own.anything", "name: c", *filter(None, [way])) + giver) == []
    own = found(state("own.anything", "contentz: x", *filter(None, [way])) + giver)
    assert own == [("probable-argument", 3, "did you mean 'contents'?", True)]


def test_strict_arguments_refuses_every_mistake(found):
    with pytest.raises(CompileError) as refused:
        found(state("own.plain", "txet: x") + "b: own.plian\n", strict_arguments=True)
    assert len(refused.value.issues) == 2


def test_a_variable_of_the_template_is_no_near_miss(found):
    uses, other = {"t.sls": "{{ moed }}\n"}, {"t.sls": "{{ moeds }}\n"}
    text = state("own.anything", "source: salt://t.sls", "moed: x")
    assert found(text, files=uses) == []
    assert found(text, files=other) == [("probable-argument", 4, "did you mean 'mode'?", True)]
    assert found(state("own.anything", "contents: '{{ '{{ moed }}' }}'", "moed: x")) == []


def test_what_a_loop_or_names_repeat_is_said_once(found):
    loop = "{% for n in [1, 2, 3] %}\na{{ n }}:\n  own.plain:\n    - txet: {{ n }}\n{% endfor %}\n"
    names = state("own.plain", "names: [b, c]", "txet: x")
    assert found(loop) == found(names) == [("unknown-argument", 4, "did you mean 'text'?", True)]


def test_mistakes_of_all_kinds_come_at_once(found):
    text = (
        "bad: {own.plain: [{require: x}]}\nworse: {own.plain: 5}\ntwo: {own.plain: [x y]}\n"
        "a: own.plian\nb: {own.strict: [{txet: 1}]}\nc: {own.plain: [{source: x}]}\n5: {own.plain: []}\n"
        "exclude: [{id: gone}]\ngone: own.plian\n"
    )
    with pytest.raises(CompileError) as refused:
        found(text)
    rules = [issue.rule for issue in refused.value.issues]
    calls = ["unknown-function", "missing-argument", "unknown-argument", "unknown-argument"]
    assert rules == ["", "", "", "", "", *calls]


REFUSING = "def __virtual__():\n    return False, 'no library'\ndef go(name):\n    pass\n"


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ("a: lazy.go\n", "no library"),
        ("lib: pkg.installed\na: lazy.go\n", ""),
        ("lib: pkg.installed\na: lazy.og\n", "did you mean 'lazy.go'?"),
        ("lib: pkg.installed\na: {lazy.go: [{nmae: x}]}\n", "did you mean 'name'?"),
        ("lib: pkg.installed\na: broken.go\n", ""),
        ("a: broken.go\n", "No module named 'nowhere'"),
    ],
)
def test_a_module_that_does_not_load_may_do_so_once_a_package_is_there(tmp_path, tree, told):
    plugins = PluginTree(tmp_path)
    plugins.add("_states/lazy.py", REFUSING)
    plugins.add("_states/broken.py", "import nowhere\ndef go(name):\n    pass\n")
    loader = plugins.host().loaders["states"]
    loader.register("pkg.installed", lambda name: name)
    issues = [issue for issue in compiler(tree, functions=loader).plan(["s"]).warnings if issue.rule]
    assert [issue.mistake for issue in issues] == ([True] if told else [])
    assert all(told in issue.hint for issue in issues)


def test_a_function_is_asked_for_once(functions, monkeypatch):
    asked = []
    find = functions.find
    monkeypatch.setattr(functions, "find", lambda name: asked.append(name) or find(name))
    text = "".join(f"s{n}: own.plain\n" for n in range(50))
    assert len(compiler(text, functions=functions).plan(["s"]).chunks) == 50
    assert asked == ["own.plain"]


def typed(  # noqa: PLR0917
    name: "str",
    text: "str | None" = None,
    members: "list[str] | None" = None,
    either: "str | list[str]" = "",
    number: "int" = 0,
    table: "dict[str, Any] | None" = None,  # noqa: F821 - an annotation is text
    any: "Any" = None,  # noqa: F821 - as above
):
    """Take what bundled states take."""


@rows(
    ("argument", "told"),
    [
        ("text: [a]", "'text' of 'own.typed' must be a text, not a list"),
        ("text: {a: b}", "must be a text, not a mapping"),
        ("members: a", "must be a list of texts, not a text"),
        ("members: {a: b}", "must be a list of texts, not a mapping"),
        ("number: [1]", "must be a whole number, not a list"),
        ("table: [1]", "must be a mapping, not a list"),
        ("table: x", "must be a mapping, not a text"),
        # What does no harm, or is not known yet:
        ("text: 5", ""),
        ("text: null", ""),
        ("number: '5'", ""),
        ("members: [1]", ""),
        ("either: [a]", ""),
        ("either: a", ""),
        ("any: [a]", ""),
        ("any: a", ""),
        ("members: '__slot__:salt:cmd.run(ls)'", ""),
    ],
)
@rows("bundled", [True, False])
def test_a_list_or_a_mapping_where_a_bundled_function_takes_none(functions, argument, told, bundled):
    functions.register("own.typed", typed).module.bundled = bundled
    warnings = compiler(state("own.typed", argument), functions=functions).plan(["s"]).warnings
    assert [(issue.rule, issue.line, issue.mistake) for issue in warnings] == (
        [("argument-type", 3, argument != "members: {a: b}")] if told and bundled else []
    )
    assert all(told in issue.message for issue in warnings)
