from __future__ import annotations

import functools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from record_answers import recorded
from tables import beside

from asyncstate.errors import ArgumentError
from asyncstate.load.call import MisshapenArguments, MissingParameters, UnknownKeywords, bind
from asyncstate.load.plugin import LoadedFunction, LoadedModule

TABLES = beside(__file__)

LOW = {"state": "x", "fun": "f", "name": "n", "__id__": "i", "__sls__": "s", "__env__": "base", "order": 10000}


def bound(func, **low):
    function = LoadedFunction("x.f", func, LoadedModule("x", "x.py", None))
    return bind(function, {**LOW, **low})


@pytest.mark.parametrize(("parameters", "given", "args", "kwargs"), TABLES["what a function is called with"])
def test_what_a_function_is_called_with(parameters, given, args, kwargs):
    assert bound(taking(parameters), **given) == (args, kwargs)


def taking(parameters):
    """A function with these parameters."""
    names = {}
    exec(f"def f({parameters}): ...", names)
    return names["f"]


KEPT = ["__agg__", "__reqs__", "sfun", "__unknown__", "use_vt"]
KEPT_BACK = ["__pub_user", "__sls_included_from__", "__prereq__", "__umask__", "retry", "use_in"]


@pytest.mark.parametrize("key", [*KEPT, *KEPT_BACK])
def test_of_what_the_runtime_adds_some_reaches_kwargs(key):
    assert bound(taking("name, **kwargs"), **{key: 1})[1] == ({key: 1} if key in KEPT else {})


RECORDED = {
    sls[len("a: {") : -1]: re.sub(r"(?:file|test)\.\w+", "x.f", text.strip().removeprefix("!"))
    for sls, text in recorded("row").items()
}
"""What Salt says of calls, as if each were one of x.f."""


def test_missing_parameter_has_salts_text():
    with pytest.raises(MissingParameters) as caught:
        bound(taking("name, target"))
    assert str(caught.value) == RECORDED["file.symlink: []"]
    assert caught.value.missing == ("target",)


def test_every_missing_parameter_has_its_line():
    with pytest.raises(ArgumentError) as caught:
        bound(taking("name, foo, bar, *, baz"))
    lines = str(caught.value).splitlines()
    assert lines == [RECORDED["file.symlink: []"].replace("target", name) for name in ("foo", "bar", "baz")]


def test_unknown_keyword_has_salts_text_and_the_nearest_name():
    with pytest.raises(UnknownKeywords) as caught:
        bound(taking("name, contents=None"), content=1)
    assert str(caught.value) == RECORDED["test.configurable_test_state: [{bogus: 2}]"].replace("bogus", "content")
    assert caught.value.hint == "did you mean 'contents'?"
    assert caught.value.unknown == ("content",)


def test_several_unknown_keywords_have_salts_text():
    with pytest.raises(UnknownKeywords) as caught:
        bound(taking("name, contents=None, mode=None"), bogus=1, modes=2, zzz=3)
    assert str(caught.value) == RECORDED["test.configurable_test_state: [{bogus: 2}, {modes: 2}, {zzz: 3}]"]
    assert caught.value.hint == "did you mean 'mode' for 'modes'?"


def test_a_function_without_name_is_told_so():
    with pytest.raises(UnknownKeywords) as caught:
        bound(taking("target=None"))
    assert caught.value.unknown == ("name",)


@pytest.mark.parametrize("key", ["aggregate", "provider", "timeout", "sfun", "__agg__", "__reqs__"])
def test_runtime_additions_do_not_trip_a_strict_function(key):
    assert bound(taking("name"), **{key: 1}) == (["n"], {})


def test_a_decorated_function_is_bound_by_the_signature_it_wraps():
    def original(name, deep=None): ...

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        return original(*args, **kwargs)

    assert bound(wrapper, deep=1) == (["n"], {"deep": 1})
    with pytest.raises(UnknownKeywords):
        bound(wrapper, shallow=1)


def test_a_partial_is_bound_by_what_is_left():
    def f(kind, name, opt=None): ...

    assert bound(functools.partial(f, "k"), opt=1) == (["n"], {"opt": 1})


def test_a_callable_without_signature_takes_everything():
    assert bound(dict, extra=1) == ([], {"name": "n", "extra": 1})


def test_low_data_is_left_alone():
    def f(name, a, **kwargs): ...

    low = {**LOW, "a": [1], "b": {}}
    before = dict(low)
    bind(LoadedFunction("x.f", f, LoadedModule("x", "x.py", None)), low)
    assert low == before


@given(given_names=st.sets(st.sampled_from(["a", "b", "c", "d", "e"])), has_kwargs=st.booleans())
def test_every_key_arrives_exactly_once(given_names, has_kwargs):
    if has_kwargs:

        def f(name, a, b=None, *, c=None, **kwargs):
            return {"name": name, "a": a, "b": b, "c": c, **kwargs}
    else:

        def f(name, a, b=None, *, c=None):
            return {"name": name, "a": a, "b": b, "c": c}

    low = {name: f"value of {name}" for name in given_names}
    fits = "a" in given_names and (has_kwargs or not given_names & {"d", "e"})
    if not fits:
        with pytest.raises(ArgumentError):
            bound(f, **low)
        return
    args, kwargs = bound(f, **low)
    received = f(*args, **kwargs)
    assert {key: value for key, value in received.items() if key != "name" and value is not None} == low


@pytest.mark.parametrize("key", [1, None, b"\xff", ("a", 1), 1.5])
def test_what_is_no_string_names_no_argument(key):
    for function in (lambda name, **kwargs: None, lambda name: None):
        with pytest.raises(
            ArgumentError, match=re.escape(said("unnamed", function="x.f", shown=f"{type(key).__name__} "))
        ):
            bind(LoadedFunction("x.f", function, LoadedModule("x", "x.py", None)), {**LOW, "name": "x", key: 5})


def takes(  # noqa: PLR0917
    name: str,
    text: str,
    maybe: str | None = "x",
    number: int = 1,
    names: str | list[str] | None = None,
    listed: list[Any] | None = None,
    table: dict[str, Any] | None = None,
    switch: bool = True,
    anything: Any = None,
    **kwargs: Any,
): ...


def bound_bundled(**low):
    function = LoadedFunction("x.f", takes, LoadedModule("x", "x.py", None, bundled=True))
    (_, text), kwargs = bind(function, {**LOW, "text": "x", **low})
    return {"text": text} | kwargs


@pytest.mark.parametrize(("given", "taken"), TABLES["a bundled function gets values of the types that it takes"])
def test_a_bundled_function_gets_values_of_the_types_that_it_takes(given, taken):
    assert bound_bundled(**given) == {"text": given.get("text", "x"), **taken}


@pytest.mark.parametrize(
    ("given", "told"), TABLES["a bundled function is not called with a shape that it does not take"]
)
def test_a_bundled_function_is_not_called_with_a_shape_that_it_does_not_take(given, told):
    with pytest.raises(MisshapenArguments) as caught:
        bound_bundled(**given)
    assert str(caught.value) == said("misshapen", argument=next(reversed(given)), wanted=told[0], value=told[1])
