"""A few lines of a tree cannot make the compiler run out of stack, memory or digits: they are compile errors."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import match, said
from tables import beside
from trees import mistakes

from asyncstate import CompileError, Settings, StateRuntime
from asyncstate.data.limits import DEEPEST, Meter, TooMuch, plain_data
from asyncstate.data.yaml import load_yaml
from asyncstate.errors import RenderError
from asyncstate.render.jinja_time import Endless, watched

PY = "#!py\ndef run():\n"


def bomb(levels):
    letters = "abcdefghijklmnop"[:levels]
    lines = [
        f"    - {letter}: &{letter} [{', '.join([f'*{before}' if before else 'x'] * 9)}]"
        for before, letter in zip(["", *letters], letters, strict=False)
    ]
    return "\n".join(["x:", "  test.nop:", *lines, ""])


FILES = [
    ("too-deep", "", "x:\n  test.nop:\n    - a: " + "[" * 1000 + "]" * 1000, 3),
    ("too-deep", "", "x: " + "[" * 100_000 + "]" * 100_000, 1),
    ("too-deep", "", "x: " + "{a: " * 100_000 + "}" * 100_000, 1),
    ("too-deep", "", "x:\n  test.nop:\n    - a:\n        " + "- " * 1000 + "y", 4),
    ("too-deep", "", "- " * 5000 + "y", 1),
    ("many-values", "", "x: [" + "1," * 30_001 + "]", 1),
    ("repeated", "", bomb(12), 9),
    ("long-number", "", "x:\n  test.nop:\n    - a: " + "9" * 5000, 3),
    ("long-number", "", "x:\n  test.nop:\n    - a: 0x" + "f" * 4000, 3),
    ("long-number", "", "9" * 5000 + ":\n  test.nop: []", 1),
    ("long-number", "", '#!json\n{"x": {"test.nop": [{"a": ' + "9" * 5000 + "}]}}", 1),
    *((name, *row) for name, table in beside(__file__).items() for row in table),
]


@pytest.fixture
def runtime_of(tmp_path):
    """``runtime_of(a="…")`` is a runtime with these SLS."""

    def make(options=None, **texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.sls").write_text(text)
        folders = {"cachedir": str(tmp_path / "c"), "state_dir": str(tmp_path / "s")}
        return StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, **folders, **(options or {})))

    return make


@pytest.mark.parametrize(("name", "what", "text", "line"), FILES)
def test_what_is_too_much_is_a_compile_error_with_its_place(name, what, text, line, monkeypatch):
    monkeypatch.setattr("asyncstate.data.yaml.compose.MOST_VALUES", 30_000)  # less, and of the time
    began = time.process_time()
    issue, *others = mistakes(text + "\n")
    assert said(name, what=what) in issue.message
    assert (issue.file, issue.line, others) == ("/memory/base/s.sls", line, [])
    assert time.process_time() - began < 20


async def test_what_people_write_is_within_the_limits(runtime_of):
    deep = "[" * 90 + "]" * 90
    numbers = f"    - n: {10**1000}\n    - t: {{{{ 'ab' * 1000 }}}}\n    - p: {{{{ 2 ** 64 % 7 }}}}\n"
    async with runtime_of(a=f"{bomb(4)}    - deep: {deep}\n{numbers}") as runtime:
        (chunk,) = (await runtime.compile(["a"])).chunks
    assert chunk.args["t"] == "ab" * 1000
    assert chunk.args["n"] == 10**1000


_data = st.recursive(
    st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(_data)
def test_plain_trees_pass(data):
    plain_data({"x": data}, "a.sls")


@given(st.integers(1, 200))
def test_the_depth_counts_through_parts_that_are_shared(levels):
    part = ["x"]
    for _ in range(49):
        part = [part]
    value = part
    for _ in range(levels):
        value = [value]
    meter = Meter()
    if levels + 50 <= DEEPEST:
        meter.check([part, value][1])
    else:
        with pytest.raises(TooMuch):
            meter.check([part, value])


@pytest.mark.feature("F215")
def test_a_deep_document_is_no_matter_of_the_stack():
    with pytest.raises(RenderError, match=said("too-deep")):
        load_yaml("- " * 200_000)


ENDLESS = {
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a loop with its number": "{% for i in range(99999) %}{% for j in range(99999) %}{{ loop.last }}{% endfor %}{% endfor %}",
    "a loop that nothing fits": "{% for i in range(99999) %}{% for j in range(99999) if j < 0 %}{% endfor %}{% endfor %}",
    "a loop that calls itself": "{% for i in [1, 1] recursive %}{% if loop.depth < 60 %}{{ loop([1, 1]) }}{% endif %}{% endfor %}",
    "a list that grows": "{% set l = [1] %}{% for i in l %}{% do l.append(1) %}{% endfor %}",
    "a macro": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "permutations": "{{ range(99)|permutations(8)|select('equalto', 1)|first }}",
    "filters of filters": "{{ range(99999)|map('string')|map('upper')|map('replace', '1', '2')|map('int')|select('odd')|sum }}" * 30,
    "a template that includes another twice": "{% set n = n|default(0) + 1 %}{% if n < 60 %}{% include 'b.sls' %}{% include 'b.sls' %}{% endif %}",
    "a rendering in a rendering": "{% if salt['test.rand_str'] %}{% for i in range(99) %}{{ salt['slsutil.renderer'](string='{% for i in range(99999) %}{% endfor %}', default_renderer='jinja') }}{% endfor %}{% endif %}",
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_template_that_does_not_end_is_a_compile_error(name, tmp_path, runtime_of):
    async with runtime_of({"render_timeout": 0.2}, a=f"\n{ENDLESS[name]}\n", b=ENDLESS[name]) as runtime:
        with pytest.raises(CompileError) as caught:
            await runtime.compile(["a"])
    issue = caught.value.issues[0]
    assert said("endless", seconds=0.2) in issue.message
    assert issue.file in (str(tmp_path / "a.sls"), str(tmp_path / "b.sls"))


async def test_what_a_template_waits_for_is_not_its_time(runtime_of):
    waits = "{% do salt['test.sleep'](0.5) %}{% for i in range(99) %}{% endfor %}x: test.nop\n"
    async with runtime_of({"render_timeout": 0.4}, a=waits) as runtime:
        assert len((await runtime.compile(["a"])).chunks) == 1


def test_a_template_that_takes_too_much_memory_is_an_error(monkeypatch):
    taken = iter([0, 2**40])
    monkeypatch.setattr("asyncstate.render.jinja_time._memory", lambda: next(taken))

    def endless(watch):
        while True:
            watch.step()

    with watched(0) as watch, pytest.raises(Endless, match=match("much-memory")):
        endless(watch)


ODD = {
    "a set": "{1, 'a', None}",
    "an object": "object()",
    "a lone surrogate": "'a\\udcff'",
    "keys of all kinds": "{1: 1, None: 2, b'x': 3, (1,): 4}",
}


@pytest.mark.parametrize("name", ODD)
async def test_an_argument_that_is_no_plain_data_compiles_and_runs(name, runtime_of):
    texts = {"a": f"{{'x': {{'test.nop': [{{'a': {ODD[name]}}}]}}}}", "b": f"[{ODD[name]}]"}
    async with runtime_of(**{sls: f"{PY}    return {data}\n" for sls, data in texts.items()}) as runtime:
        plan = await runtime.compile(["a"])
        async with runtime.run(plan) as run:
            pass
        assert [row["result"] for row in run.report.rows.values()] == [True]
        with pytest.raises(CompileError) as caught:
            await runtime.compile(["b"])
        assert [issue.code for issue in caught.value.issues] == ["E105", "E105"]


@pytest.mark.parametrize("method", ["__eq__", "__hash__", "__bool__", "__str__", "__repr__", "__format__"])
async def test_a_value_that_cannot_be_compared_or_shown_is_a_mistake_and_a_text_is_a_text(method, runtime_of):
    odd = f"type('Odd', (KIND,), {{'{method}': lambda *_: exec('raise BaseException(1)')}})"
    text = f"{PY}    return {{'x': {{'test.nop': [{{'name': VALUE}}]}}}}\n"
    values = {"a": odd.replace("KIND", "object") + "()", "b": odd.replace("KIND", "str") + "('y')"}
    async with runtime_of(**{sls: text.replace("VALUE", value) for sls, value in values.items()}) as runtime:
        with pytest.raises(CompileError, match="data that cannot be read, in 'x': BaseException: 1"):
            await runtime.compile(["a"])
        (chunk,) = (await runtime.compile(["b"])).chunks
        assert type(chunk.name) is str
