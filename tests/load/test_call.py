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


def test_parameters_without_default_go_by_position_in_signature_order():
    def f(name, b, a, opt=1): ...

    assert bound(f, a=1, b=2) == (["n", 2, 1], {})


def test_defaults_are_passed_only_if_given():
    def f(name, opt=1, other=2): ...

    assert bound(f, other=None) == (["n"], {"other": None})


def test_kwargs_receive_what_the_runtime_does_not_consume():
    def f(name, **kwargs): ...

    args, kwargs = bound(f, extra=1, require=[], watch=[], onlyif="true", failhard=False, aggregate=False, timeout=3)
    assert args == ["n"]
    assert kwargs == {"extra": 1, "aggregate": False, "timeout": 3}


@pytest.mark.parametrize("key", ["__agg__", "__reqs__", "sfun", "__unknown__", "use_vt"])
def test_kwargs_receive_additions_of_the_runtime(key):
    def f(name, **kwargs): ...

    assert bound(f, **{key: 1})[1] == {key: 1}


@pytest.mark.parametrize("key", ["__pub_user", "__sls_included_from__", "__prereq__", "__umask__", "retry", "use_in"])
def test_internal_keys_reach_nobody_who_has_no_parameter_for_them(key):
    def f(name, **kwargs): ...

    assert bound(f, **{key: 1})[1] == {}


def test_reserved_keywords_reach_a_parameter_of_that_name():
    def run(name, creates, runas=None, umask=None, onlyif=None, **kwargs): ...

    args, kwargs = bound(run, creates="/x", runas="joe", onlyif="false", unless="true")
    assert args == ["n", "/x"]
    assert kwargs == {"runas": "joe", "onlyif": "false"}


RECORDED = {
    sls[len("a: {") : -1]: re.sub(r"(?:file|test)\.\w+", "x.f", text.strip().removeprefix("!"))
    for sls, text in recorded("row").items()
}
"""What Salt says of calls, as if each were one of x.f."""


def test_missing_parameter_has_salts_text():
    def needs(name, target): ...

    with pytest.raises(MissingParameters) as caught:
        bound(needs)
    assert str(caught.value) == RECORDED["file.symlink: []"]
    assert caught.value.missing == ("target",)


def test_every_missing_parameter_has_its_line():
    def needs(name, foo, bar, *, baz): ...

    with pytest.raises(ArgumentError) as caught:
        bound(needs)
    assert str(caught.value).splitlines() == [
        "Missing parameter foo for state x.f",
        "Missing parameter bar for state x.f",
        "Missing parameter baz for state x.f",
    ]


def test_unknown_keyword_has_salts_text_and_the_nearest_name():
    def kws(name, contents=None): ...

    with pytest.raises(UnknownKeywords) as caught:
        bound(kws, content=1)
    assert str(caught.value) == RECORDED["test.configurable_test_state: [{bogus: 2}]"].replace("bogus", "content")
    assert caught.value.hint == "did you mean 'contents'?"
    assert caught.value.unknown == ("content",)


def test_several_unknown_keywords_have_salts_text():
    def kws(name, contents=None, mode=None): ...

    with pytest.raises(UnknownKeywords) as caught:
        bound(kws, bogus=1, modes=2, zzz=3)
    assert str(caught.value) == RECORDED["test.configurable_test_state: [{bogus: 2}, {modes: 2}, {zzz: 3}]"]
    assert caught.value.hint == "did you mean 'mode' for 'modes'?"


def test_a_function_without_name_is_told_so():
    def odd(target=None): ...

    with pytest.raises(UnknownKeywords) as caught:
        bound(odd)
    assert caught.value.unknown == ("name",)


@pytest.mark.parametrize("key", ["aggregate", "provider", "timeout", "sfun", "__agg__", "__reqs__"])
def test_runtime_additions_do_not_trip_a_strict_function(key):
    def strict(name): ...

    assert bound(strict, **{key: 1}) == (["n"], {})


def test_keyword_only_parameters():
    def f(name, *, must, may=1): ...

    assert bound(f, must=2) == (["n"], {"must": 2})
    with pytest.raises(MissingParameters):
        bound(f)


def test_positional_only_parameters():
    def f(name, must, may=1, /, other=2, **kwargs): ...

    assert bound(f, must=5) == (["n", 5, 1], {})
    assert bound(f, must=5, may=6, other=7) == (["n", 5, 6], {"other": 7})

    def strict(name, may=1, /): ...

    assert bound(strict, may=2) == (["n", 2], {})


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


def test_functions_of_other_authors_get_what_is_written():
    def f(name, text: str, number: int = 1): ...

    assert bound(f, text=5, number="x") == (["n", 5], {"number": "x"})
