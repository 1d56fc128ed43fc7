"""Values of arguments that a run would reject, or take for something else than they say.

The kind of an argument is that of its entry in ``arguments/`` (`entries`), or follows from the annotation of its
parameter. Only bundled functions are looked at: those of others may take what they like. What is only known during the
run, such as a slot, is left alone.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from asyncstate.data.urls import SALT_SCHEME
from asyncstate.errors import Issue
from asyncstate.load.annotations import Expected
from asyncstate.model.rules import CODES, Silenced
from asyncstate.reference.entries import entry_of
from asyncstate.run.chunk.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.runtime import StateRuntime

_DIGESTS = {
    name: 2 * hashlib.new(name, usedforsecurity=False).digest_size
    for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
}
"""The digests that a source may have, with the number of their digits."""
_REMOTE = ("http://", "https://", "ftp://")
_ONE_SLASH = re.compile(r"(?:salt|https?|ftp|s3|swift):(?!//)", re.IGNORECASE)
_MODE = re.compile(r"o?[0-7]{0,4}|keep", re.IGNORECASE)
_TRUE = frozenset({"true", "yes", "y", "on", "1", "t"})
_FALSE = frozenset({"false", "no", "n", "off", "0", "f"})
_CODE = re.compile(r"``(\w+)(?:: [^`]*)?``")
_NOTHING = "None"
"""What a template writes for a value that is missing."""


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


class _Kind(NamedTuple):
    """A kind of argument: the code of a wrong value, which texts and numbers are right, and what is expected."""

    code: str
    fits: Callable[[Any], bool]
    expected: str
    hint: str = ""


_KINDS = {
    "mode": _Kind(
        "E410",
        lambda value: _MODE.fullmatch(str(value).strip("\"'").lstrip("0")) is not None,
        "octal digits in quotes",
        "write the rights as a number: rw-r--r-- is '0644', rwxr-xr-x is '0755'",
    ),
    "path": _Kind(
        "E411",
        lambda value: not isinstance(value, str) or value.startswith(("/", "~")) or not value,
        "an absolute path",
        "write the whole path, from / on",
    ),
    "name": _Kind("E412", lambda value: value != _NOTHING, "a name"),
    "source": _Kind(
        "E413",
        lambda value: not isinstance(value, str) or not _ONE_SLASH.match(value),
        "a URL with two slashes, or a path",
        "write salt://path for a file of the tree, https://host/path for one elsewhere",
    ),
    "hash": _Kind("E414", lambda value: not isinstance(value, str) or _is_hash(value), "a digest or a file of digests"),
    "boolean": _Kind(
        "E416",
        lambda value: not isinstance(value, str) or not value or value.lower() in _TRUE | _FALSE,
        "True or False",
        "write True or False, without quotes",
    ),
    "number": _Kind("E417", _is_number, "a number", "write digits"),
    "seconds": _Kind("E418", _is_number, "a number of seconds", "write seconds, without a unit"),
}
"""Which values make sense, by kind. Only texts and numbers are judged; the shape is judged when a tree is compiled."""

_OF_ANNOTATION = {"bool": "boolean", "int": "number", "float": "number"}
_OF_ALL_STATES = {"timeout": "seconds", "umask": "mode"}
"""Arguments that any state may have."""
_OF_ANY_KEYWORD = {"umask": "mode"}
"""Those among them that are not passed on to a function that takes any keyword, as a variable of a template may be."""


def with_wrong_values(plan: Plan, runtime: StateRuntime) -> Plan:
    """Return the plan with a warning for each wrong value, unless the settings or a comment silence it."""
    client, hide = runtime.file_client, runtime.secrets.redactor.issue
    silenced = Silenced(lambda path: client.read(path).decode(errors="replace"))
    ignored = frozenset(runtime.settings.ignore_rules)
    find = runtime.host.loaders["states"].find
    with runtime.host.enter():
        found = list(dict.fromkeys(each for chunk in plan.chunks for each in wrong_values(chunk, find)))
    kept = [
        hide(each)
        for each in found
        if each.rule not in ignored and not silenced.holds(each.rule, each.file, each.line, each.code)
    ]
    return structs.replace(plan, warnings=(*plan.warnings, *kept))


def wrong_values(chunk: LowChunk, find: Callable[[str], LoadedFunction | None]) -> Iterator[Issue]:
    """Yield what is wrong with the values of one state."""
    function = find(chunk.function)
    if function is None or not function.module.bundled:
        return
    kinds = kinds_of(chunk.function, function.func)
    of_all = _OF_ANY_KEYWORD if function.signature.has_kwargs else _OF_ALL_STATES
    args = {"name": chunk.name, **chunk.args}
    for name, value in args.items():
        kind = kinds.get(name) or of_all.get(name, "")
        for each in value if kind == "source" and isinstance(value, list) else [value]:
            if kind and not (kind == "hash" and not _needs_hash(args, kinds)):
                yield from _judged(chunk, name, each, kind)
    yield from _without_hash(chunk, args, kinds)
    if "retry" in chunk.args:
        for what in RetryPolicy.parse(chunk.args["retry"])[1]:
            hint = "write for example: - retry: {attempts: 3, interval: 10}"
            yield _issue(chunk, "E418", "retry", f"has no effect as written: {what.removeprefix('retry: ')}", hint)


@cache
def kinds_of(name: str, func: Callable[..., Any]) -> dict[str, str]:
    """Return the kinds of the arguments of a function that have one, those that only its documentation names too."""
    found = {}
    parameters = inspect.signature(inspect.unwrap(func)).parameters
    for argument in (*parameters, *keywords_of(func)):
        annotated = _of_annotation(parameters[argument].annotation) if argument in parameters else ""
        kind = entry_of(name, argument).kind or annotated
        if kind in _KINDS:
            found[argument] = kind
    return found


def keywords_of(func: Callable[..., Any]) -> list[str]:
    """Return what the documentation of a function that takes any keyword names as ``x``, beyond its parameters."""
    parameters = inspect.signature(inspect.unwrap(func)).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return []
    return [word for word in dict.fromkeys(_CODE.findall(inspect.getdoc(func) or "")) if word not in parameters]


def _of_annotation(annotation: Any) -> str:
    expected = Expected.of(annotation)
    names = set(expected.alternatives) - {"None"} if expected is not None else set()
    kinds = {_OF_ANNOTATION.get(name, "") for name in names}
    return kinds.pop() if len(kinds) == 1 else ""


def _judged(chunk: LowChunk, name: str, value: Any, kind: str) -> Iterator[Issue]:
    if not isinstance(value, (str, int, float)) or str(value).startswith("__slot__:"):
        return
    rule = _KINDS[kind]
    if isinstance(value, bool):
        if kind in {"mode", "path", "source"}:
            yield _wrong(chunk, rule, name, value)
    elif value == _NOTHING:
        hint = "a template wrote a value that is missing; give it a default: pillar.get('key', '…')"
        yield _issue(chunk, "E412", name, f"must be {rule.expected}, not the text None", hint)
    elif not rule.fits(value):
        yield _wrong(chunk, rule, name, value)
    elif kind == "boolean" and isinstance(value, str) and value.lower() in _FALSE:
        what = f"is the text {value!r}, which counts as true"
        yield _issue(chunk, rule.code, name, what, rule.hint)._replace(mistake=False)


def _wrong(chunk: LowChunk, rule: _Kind, name: str, value: Any) -> Issue:
    shown = repr(value) if len(str(value)) < 80 else "a long text"
    return _issue(chunk, rule.code, name, f"must be {rule.expected}, not {shown}", rule.hint)


def _issue(chunk: LowChunk, code: str, name: str, what: str, hint: str) -> Issue:
    lines = chunk.declared
    line = lines if isinstance(lines, int) else lines.of(chunk.id, chunk.state, name) or chunk.line
    message = f"'{name}' of '{chunk.function}' {what} (ID '{chunk.id}' in SLS '{chunk.sls}')"
    return Issue(message, chunk.file, line, hint, CODES[code], mistake=True, code=code)


def _needs_hash(args: Mapping[str, Any], kinds: Mapping[str, str]) -> bool:
    """Return whether a function compares a digest, also where its file exists: it takes one, of no file of the tree."""
    source = args.get("source", args["name"] if kinds.get("name") == "source" else None)
    return (
        "source_hash" in kinds
        and "skip_verify" in kinds
        and isinstance(source, str)
        and not source.startswith(SALT_SCHEME)
        and not args.get("skip_verify")
        and args.get("replace", True)
        and args.get("create", True)
    )


def _without_hash(chunk: LowChunk, args: Mapping[str, Any], kinds: Mapping[str, str]) -> Iterator[Issue]:
    """Yield that a remote source has no digest, which a run refuses."""
    name = "name" if kinds.get("name") == "source" and "source" not in args else "source"
    source = args.get(name)
    if not _needs_hash(args, kinds) or args.get("source_hash") or args.get("use_etag"):
        return
    if str(source).lower().startswith(_REMOTE):
        hint = "give source_hash, the digest of the file (sha256=…), or skip_verify: True"
        yield _issue(chunk, "E415", name, "is fetched over the network, and there is no source_hash", hint)


def _is_hash(text: str) -> bool:
    """Return whether a text is a digest, ``type=digest``, or the path or URL of a file of digests."""
    if text.startswith("/") or "://" in text:
        return True
    kind, equals, digits = (part.strip() for part in text.partition("="))
    if not equals:
        return len(kind) in _DIGESTS.values() and re.fullmatch("[0-9a-fA-F]+", kind) is not None
    return len(digits) == _DIGESTS.get(kind)
