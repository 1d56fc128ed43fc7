"""Limits on the size of a template's values: a few characters must not fill the memory.

The size of a result is estimated before an operator, a method of a string or list, or a filter runs. There is a limit
for one value, and one for the sum of all large values of a rendering.
"""

from __future__ import annotations

import re
from functools import update_wrapper
from itertools import islice
from types import BuiltinMethodType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from jinja2 import pass_context
from jinja2.compiler import CodeGenerator, optimizeconst
from jinja2.exceptions import SecurityError
from jinja2.nodes import Call, EnvironmentAttribute

from asyncstate.data.limits import CONTAINERS, TooMuch, check_written
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jinja2 import nodes
    from jinja2.compiler import Frame
    from jinja2.runtime import Context

_LONGEST: Final = 10_000_000
"""Limit of the characters of a string, or the members of a list, from one step."""
_MOST: Final = 500_000_000
"""The same limit for the sum of all steps of a rendering with results above `_LARGE`."""
_LARGE: Final = 10_000
_MOST_LISTED: Final = 1_000_000
"""Limit of the members of a list made from a generator."""
_LONGEST_OUTPUT: Final = 100_000_000
"""Limit of the characters that a template, or a block of one, prints."""
_MOST_BITS: Final = 1_000_000
_SIZED: Final = (str, bytes, bytearray, list, tuple)
METHODS: Final = frozenset({BuiltinMethodType, MethodType, FunctionType})
"""The types of methods of strings, lists and numbers; the sandbox wraps ``str.format`` in a function."""
_OF_JINJA: Final = frozenset({"_block_vars", "_loop_vars"})
"""Arguments that Jinja adds to calls in loops and blocks, and removes later."""
_WIDTH: Final = lazy_pattern(r"\d{7,}")
_WIDTH_GIVEN: Final = lazy_pattern(r":[^{}]*\{")
_TOGETHER: Final = 4096


class Budget:
    """The sizes of the values that one rendering has made so far."""

    def __init__(self) -> None:
        self._made = 0

    def spend(self, size: int, what: str) -> None:
        """Count the result ``what`` of ``size`` characters or members. Raises SecurityError beyond a limit."""
        if size > _LONGEST:
            raise SecurityError(f"{what} is larger than {_LONGEST:,}")
        if size > _LARGE:
            self._made += size
            if self._made > _MOST:
                raise SecurityError(f"the sum of all that the template makes is larger than {_MOST:,}")

    def check_operator(self, operator: str, left: Any, right: Any) -> None:
        """Count the result of ``left operator right``. Raises SecurityError if it is too large."""
        if operator == "+":
            if isinstance(left, _SIZED) and isinstance(right, _SIZED):
                self.spend(len(left) + len(right), f"{type(left).__name__} + {type(right).__name__}")
        elif operator == "%":
            if isinstance(left, (str, bytes)):
                layout = left if isinstance(left, str) else left.decode("latin-1")
                self.spend(_percent_size(layout, right), f"the result of {layout[:40]!r} % its values")
        elif operator == "**":
            if isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(right, 0) > _MOST_BITS:
                raise SecurityError(f"the number {_short(left)} ** {_short(right)} is too large")
        elif isinstance(left, int) and isinstance(right, int):
            if left.bit_length() + right.bit_length() > _MOST_BITS:
                raise SecurityError("the product of two numbers is too large")
        else:
            for times, value in ((left, right), (right, left)):
                if isinstance(times, int) and isinstance(value, _SIZED):
                    self.spend(len(value) * times, f"{type(value).__name__} * {_short(times)}")

    def check_call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Count the result of a method in `METHOD_SIZES` and return its arguments. Raises SecurityError."""
        if type(function) is FunctionType:
            function = getattr(function, "__wrapped__", None)
        if type(function) not in (BuiltinMethodType, MethodType):
            return args
        owner, name = function.__self__, function.__name__
        size = METHOD_SIZES[name]
        if not isinstance(owner, (*_SIZED, int)):
            return args
        if kwargs:
            kwargs = {key: value for key, value in kwargs.items() if key not in _OF_JINJA}
        if name == "join" and args:
            args = (self.listed(args[0]), *args[1:])
        self.spend(_estimate(size, owner, args, kwargs), f"the result of {type(owner).__name__}.{name}")
        return args

    def listed(self, values: Any) -> Any:
        """Return the values, an iterator as a list. Raises SecurityError if the list is too long."""
        if isinstance(values, (*_SIZED, *CONTAINERS)):
            return values
        found = list(islice(values, _MOST_LISTED + 1))
        if len(found) > _MOST_LISTED:
            raise SecurityError(f"a list of generated members is larger than {_MOST_LISTED:,}")
        return found

    def measured(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Count the result of joining ``parts`` with ``~``, and return them. Raises SecurityError."""
        size = 0
        for part in parts:
            if isinstance(part, str):
                size += len(part)
            elif isinstance(part, CONTAINERS):
                check_written(part)
        if size > _LARGE:
            self.spend(size, "a text joined by ~")
        return parts


class BoundedCodeGenerator(CodeGenerator):
    """Generates code that measures the operands of ``~`` before joining, and counts the rounds of loops."""

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        """Write the code of a loop through ``environment.rounds(values)``."""
        line = node.lineno
        node.iter = Call(EnvironmentAttribute("rounds", lineno=line), [node.iter], [], None, None, lineno=line)
        super().visit_For(node, frame)

    @optimizeconst
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        """Write the code of ``a ~ b``."""
        if frame.eval_ctx.volatile:
            join = "(markup_join if context.eval_ctx.volatile else str_join)"
        else:
            join = "markup_join" if frame.eval_ctx.autoescape else "str_join"
        self.write(f"{join}(environment.budget.measured((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")))")


def joined(parts: Iterable[str]) -> str:
    """Return the output of a template as one string. Raises SecurityError as soon as it is too long."""
    texts, size = [], 0
    rest = iter(parts)
    while some := list(islice(rest, _TOGETHER)):
        size += sum(map(len, some))
        if size > _LONGEST_OUTPUT:
            raise SecurityError(f"the output of the template is larger than {_LONGEST_OUTPUT:,}")
        texts.append("".join(some))
    return "".join(texts)


def bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter ``name`` with an estimate of its result before each call."""
    size = FILTER_SIZES[name]
    listed = name in _LISTED
    passed = _PASSED[getattr(getattr(function, "jinja_pass_arg", None), "name", "")]

    def call(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget: Budget = context.environment.budget  # type: ignore[attr-defined]  # ours has one
        if listed and type(value) is not list:
            value = budget.listed(value)
        made = _estimate(size, value, args, kwargs)
        if made > _LARGE:
            budget.spend(made, f"the result of the filter {name}")
        return function(*passed(context), value, *args, **kwargs)

    return pass_context(update_wrapper(call, function))


_PASSED: Final[dict[str, Callable[[Context], tuple[Any, ...]]]] = {
    "": lambda _context: (),
    "context": lambda context: (context,),
    "eval_context": lambda context: (context.eval_ctx,),
    "environment": lambda context: (context.environment,),
}
"""Number of leading arguments that each of Jinja's pass decorators adds to a filter."""


def lipsum(n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:
    """Return placeholder text (the global ``lipsum``)."""
    from jinja2.utils import generate_lorem_ipsum  # noqa: PLC0415 - rarely needed

    if n * max > _LONGEST // 10:
        raise SecurityError(f"the result of lipsum for {_short(n)} paragraphs is larger than {_LONGEST:,}")
    return generate_lorem_ipsum(n, html, min, max)


def _estimate(size: Callable[..., int], owner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    try:
        return size(owner, *args, **kwargs)
    except TooMuch:
        raise
    except (TypeError, ValueError, AttributeError):
        return 0  # the call itself raises for wrong arguments


def _short(number: int) -> str:
    return str(number) if number.bit_length() < 200 else "a huge number"


def _len(value: Any) -> int:
    """Return an estimate of the length of a value as text."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, CONTAINERS):
        check_written(value)
        return 8 * len(value)
    return 8


def _written(value: Any, *args: Any, **options: Any) -> int:
    size = _len(value)
    if args or options:
        size += max((number for number in (*args, *options.values()) if isinstance(number, int)), default=0)
    return size


def _width(text: Any, width: Any = 80, *_rest: Any, **_options: Any) -> int:
    return _len(text) + int(width)


def _replaced(text: Any, old: Any, new: Any, *_rest: Any, **_options: Any) -> int:
    subject = text if isinstance(text, (str, bytes)) else str(text)
    return len(subject) + subject.count(old) * len(new)


def _replaced_by_pattern(txt: str, rgx: str, val: str, ignorecase: bool = False, multiline: bool = False) -> int:
    if (len(txt) + 1) * (len(val) + 1) <= _LARGE:
        return len(txt)
    flags = (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)
    spans = [match.end() - match.start() for match in re.finditer(rgx, txt, flags)]
    return len(txt) + len(spans) * len(val) + sum(spans) * val.count("\\")


def _joined(separator: Any, values: Any) -> int:
    size = len(separator) * len(values)
    for value in values:
        size += len(value) if type(value) is str else _len(value)
    return size


def _joined_by_filter(values: Any, d: Any = "", *_rest: Any, **_options: Any) -> int:
    return _joined(str(d), values)


def _indented(text: Any, width: Any = 4, *_rest: Any, **_options: Any) -> int:
    return _len(text) + (str(text).count("\n") + 1) * (len(width) if isinstance(width, str) else int(width))


def _wrapped(text: str, width: int = 79, _words: Any = True, wrapstring: str | None = None, *_rest: Any) -> int:
    lines = len(text) // max(width, 1) + text.count("\n") + text.count(" ") + 1
    return len(text) + lines * len(wrapstring or "\n")


def _filled(_values: Any, count: int, *_rest: Any, **_options: Any) -> int:
    return int(count)


def _summed(values: Any, attribute: Any = None, start: Any = 0) -> int:
    return sum(map(len, values)) if isinstance(start, (list, tuple)) and attribute is None else 0


def _formatted(layout: Any, *args: Any, **kwargs: Any) -> int:
    text = layout if isinstance(layout, str) else str(layout)
    return _percent_size(text, kwargs or args)


def _percent_size(layout: str, values: Any) -> int:
    given = (
        list(values.values()) if isinstance(values, dict) else list(values) if isinstance(values, tuple) else [values]
    )
    sizes = list(map(_len, given))
    written = layout.count("%") * max(sizes, default=0) if isinstance(values, dict) else sum(sizes)
    return len(layout) + written + _widest(layout) + (_largest(given) if "*" in layout else 0)


def _format_size(layout: str, *args: Any, **kwargs: Any) -> int:
    given = [*args, *kwargs.values()]
    if len(args) == 1 and isinstance(args[0], dict):
        given += args[0].values()
    longest = max(map(_len, given), default=0)
    width = _widest(layout) + (_largest(given) if _WIDTH_GIVEN.search(layout) else 0)
    return len(layout) + width + layout.count("{") * longest


def _widest(layout: str) -> int:
    return max((int(digits) if len(digits) <= 12 else 10**12 for digits in _WIDTH.findall(layout)), default=0)


def _largest(values: Iterable[Any]) -> int:
    numbers = [abs(value) for value in values if isinstance(value, int)]
    return max(numbers, default=0) + max((_widest(value) for value in values if isinstance(value, str)), default=0)


METHOD_SIZES: Final[dict[str, Callable[..., int]]] = {
    "center": _width,
    "expandtabs": lambda text, tabsize=8: len(text) + text.count("\t" if isinstance(text, str) else b"\t") * tabsize,
    "extend": lambda values, more: len(values) + len(more),
    "format": _format_size,
    "format_map": _format_size,
    "join": _joined,
    "ljust": _width,
    "replace": _replaced,
    "rjust": _width,
    "to_bytes": lambda _number, length=1, *_rest, **_options: length,
    "translate": lambda text, table: len(text) * max(map(_len, table.values()), default=1),
    "zfill": _width,
}
FILTER_SIZES: Final[dict[str, Callable[..., int]]] = {
    "batch": _filled,
    "center": _width,
    "format": _formatted,
    "indent": _indented,
    "join": _joined_by_filter,
    "json": _written,
    "list": len,
    "pprint": _written,
    "python": _written,
    "random_str": int,
    "regex_replace": _replaced_by_pattern,
    "replace": _replaced,
    "slice": _filled,
    "string": _written,
    "sum": _summed,
    "tojson": _written,
    "wordwrap": _wrapped,
    "xml": _written,
    "yaml": _written,
}
"""Filters whose result may be much larger than their arguments, with estimators of its size."""
_LISTED: Final = frozenset({"join", "list", "sum"})
