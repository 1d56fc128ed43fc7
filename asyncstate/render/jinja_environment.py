"""Salt's Jinja environment: sandboxed, strict about undefined names, with Salt's filters, tests and globals.

There is one base environment per set of options; each rendering uses an overlay of it with its own globals. Compiled
templates are cached for the life of the process, by text, path and options, and those of the tree beyond it.

``{{ value }}`` prints containers in flow style that YAML reads back.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import jinja2
import jinja2.compiler
from jinja2 import BaseLoader, StrictUndefined, Undefined, pass_context
from jinja2.sandbox import SandboxedEnvironment

from asyncstate.data.collection import simple_types_filter
from asyncstate.data.limits import CONTAINERS, check_written
from asyncstate.errors import AsyncStateError
from asyncstate.render import filters, jinja_limits, serializer
from asyncstate.render.filters import CHANGING, FILTERS, TESTS
from asyncstate.render.jinja_limits import (
    FILTER_SIZES,
    METHOD_SIZES,
    METHODS,
    BoundedCodeGenerator,
    Budget,
    bounded,
    joined,
    lipsum,
)
from asyncstate.render.jinja_time import Rounds, Watch, stepwise
from asyncstate.render.kept import made_by
from asyncstate.render.serializer import FILTERS as SERIALIZER_FILTERS
from asyncstate.render.serializer import SerializerExtension
from asyncstate.sources.patterns import require_fast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import CodeType

    from jinja2 import Template
    from jinja2.compiler import CodeGenerator
    from jinja2.runtime import Context

    from asyncstate.render.jinja_options import Options
    from asyncstate.render.kept import Kept

_SCALARS: Final = frozenset({str, int, bool, float, type(None)})
_PATTERNS = ("regex_match", "regex_replace", "regex_search")
_GENERATING = ("combinations", "combinations_with_replacement", "permutations", "product")


class RaisedInTemplate(AsyncStateError):
    """A template called ``raise(message)``."""


class TemplateEnvironment(SandboxedEnvironment):
    """The environment of one rendering. ``watch`` enforces the limits on time and memory."""

    asyncstate_options: Options
    budget: Budget
    watch: Watch
    intercepted_binops: frozenset[str] = frozenset({"*", "**", "%", "+"})
    code_generator_class: type[CodeGenerator] = BoundedCodeGenerator
    concat: staticmethod[[Iterable[str]], str] = staticmethod(joined)

    def call_binop(self, _context: Context, operator: str, left: Any, right: Any) -> Any:
        """Evaluate an operator. Raises SecurityError if the result would be too large."""
        if type(left) is not int or operator != "+":
            self.budget.check_operator(operator, left, right)
        return self.binop_table[operator](left, right)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function. Raises SecurityError if a method of a string or list would return too large a value."""
        self.watch.step()
        if type(function) in METHODS and function.__name__ in METHOD_SIZES:
            args = self.budget.check_call(function, args, kwargs)
        return super().call(context, function, *args, **kwargs)

    def call_filter(self, *args: Any, **kwargs: Any) -> Any:
        """Call a filter for a member of a list, as ``map`` does."""
        self.watch.step()
        return super().call_filter(*args, **kwargs)

    def call_test(self, *args: Any, **kwargs: Any) -> Any:
        """Call a test for a member of a list, as ``select`` does."""
        self.watch.step()
        return super().call_test(*args, **kwargs)

    def _load_template(self, *args: Any, **kwargs: Any) -> Template:
        self.watch.step()  # an include or an import, also of a cached template
        return super()._load_template(*args, **kwargs)

    def rounds(self, values: Iterable[Any]) -> Rounds:
        """Return the values of a loop, counting each round as a step."""
        return Rounds(values, self.watch.step)

    def join_path(self, template: str, parent: str) -> str:
        """Make ``./x`` and ``../x`` relative to the template that names them."""
        resolve: Callable[[str, str, str], str] | None = getattr(self.loader, "resolve_relative", None)
        if resolve is None or not template.startswith(("./", "../")):
            return template
        return resolve(template, parent, str(self.globals.get("tpldir", ".")))


class _WithReason:
    """An undefined value whose message is the reason given by its object, such as a module without the function."""

    _undefined_obj: Any
    _undefined_name: Any

    @property
    def _undefined_message(self) -> str:
        reason = getattr(type(self._undefined_obj), "__missing_reason__", None)
        message = reason(self._undefined_obj, self._undefined_name) if reason is not None else ""
        return message or str(super()._undefined_message)  # type: ignore[misc]  # Jinja's classes have it


class _StrictUndefined(_WithReason, StrictUndefined):
    __slots__ = ()


class _LenientUndefined(_WithReason, Undefined):
    __slots__ = ()


@lru_cache(maxsize=32)
def base_environment(options: Options) -> TemplateEnvironment:
    """Return the environment for these options, without any variables of a rendering."""
    environment = TemplateEnvironment(
        undefined=_LenientUndefined if options.allow_undefined else _StrictUndefined,
        finalize=printable,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", SerializerExtension],
        **dict(options.syntax),
    )
    environment.asyncstate_options = options
    environment.budget = Budget()
    environment.watch = Watch(0)
    environment.filters.update(FILTERS)
    environment.filters.update({name: _at_run_time(function) for name, function in CHANGING.items()})
    environment.filters["tojson"] = SERIALIZER_FILTERS["tojson"]
    environment.filters.update({name: bounded(name, environment.filters[name]) for name in FILTER_SIZES})
    environment.filters.update({name: stepwise(environment.filters[name]) for name in _GENERATING})
    environment.filters.update({name: _fast(environment.filters[name]) for name in _PATTERNS})
    environment.tests.update({**TESTS, "match": _fast(TESTS["match"])})
    environment.globals.update(
        {"lipsum": lipsum, "odict": OrderedDict, "raise": _raise, "show_full_context": show_full_context}
    )
    return environment


def environment_for(
    options: Options, loader: BaseLoader, variables: Mapping[str, Any], watch: Watch
) -> TemplateEnvironment:
    """Return an environment whose globals are ``variables``: imported templates see them without ``with context``."""
    base = base_environment(options)
    environment = base.overlay(loader=loader)
    environment.globals = {**base.globals, **variables}
    environment.budget = Budget()
    environment.watch = watch
    return environment


def compiled(options: Options, text: str, name: str | None, path: str, kept: Kept | None) -> CodeType:
    """Return a template's code, which ``kept`` may have. ``name`` is its path from the root, ``path`` its real path."""

    def code() -> CodeType:
        return base_environment(options).compile(text, name, path)

    place = code_place(options, text, name, path)
    if not place:
        key = ("jinja", _program(), options.syntax, options.allow_undefined, text, name, path)
        place.append(code() if kept is None else kept.of(key, code))
    return place[0]


@lru_cache(maxsize=512)
def code_place(options: Options, text: str, name: str | None, path: str) -> list[CodeType]:  # noqa: ARG001 - the cache's key
    """Return the list that holds a template's code for the life of the process; at first it is empty."""
    return []


@cache
def _program() -> tuple[Any, ...]:
    return made_by(jinja2, jinja2.compiler, filters, jinja_limits, serializer, sys.modules[__name__])


def _at_run_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep Jinja from calling a filter with constant arguments when it compiles the template."""

    @pass_context
    def call(_context: Context, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def _fast(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return one of Salt's filters or tests so that it refuses a regular expression that takes too long."""

    @pass_context
    def call(context: Context, txt: Any, rgx: Any = None, *args: Any, **kwargs: Any) -> Any:
        require_fast(rgx, txt)
        passed = (context,) if hasattr(function, "jinja_pass_arg") else ()
        return function(*passed, txt, rgx, *args, **kwargs)

    return call


def _raise(msg: Any) -> None:
    raise RaisedInTemplate(str(msg))


@pass_context
def show_full_context(context: Context) -> dict[Any, Any]:
    """Return every variable that the template sees; values that are not plain data as their ``repr``."""
    return dict(simple_types_filter(context.get_all()))


class PrintableDict(dict[Any, Any]):
    """A dict that prints like Python's, but quotes text with line breaks or tabs as YAML does."""

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def _text(self, write: type[str] | Any) -> str:
        return "{" + ", ".join(f"{key!r}: {_quoted(value, write)}" for key, value in self.items()) + "}"


def _quoted(value: Any, write: type[str] | Any) -> str:
    if not isinstance(value, str):
        return str(write(value))
    if "\n" in value or "\r" in value or "\t" in value:
        from asyncstate.data.yaml.write import double_quoted  # noqa: PLC0415 - rarely needed, and the dumper is slow to import

        return double_quoted(value)
    return repr(value)


def printable(value: Any) -> Any:
    """Return the value that Jinja prints for ``value``: in containers, every dict becomes a PrintableDict.

    Raises TooMuch for a container that contains itself.
    """
    if value.__class__ in _SCALARS:
        return value
    if isinstance(value, CONTAINERS):
        check_written(value)
    return _printable(value)


def _printable(value: Any) -> Any:
    if value.__class__ in _SCALARS:
        return value
    if isinstance(value, dict):
        return PrintableDict({key: _printable(item) for key, item in value.items()})
    if value.__class__ in (list, tuple, set):
        return value.__class__([_printable(item) for item in value])
    return value
