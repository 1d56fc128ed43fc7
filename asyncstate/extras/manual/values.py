"""Values of arguments that a run would reject, or would take for another value than the tree suggests.

The kind of an argument comes from its entry in ``arguments/`` (`entries`), or follows from the annotation of its
parameter; an entry also names the arguments that exclude it. Only bundled functions are checked: other functions may
take anything. A value that only the run knows, such as a slot, is left alone.
"""

from __future__ import annotations

import inspect
import os
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from asyncstate.compile.low.arguments import PASSING_ON, writer_of
from asyncstate.data.paths import DELIMITER, traverse
from asyncstate.data.urls import SALT_SCHEME
from asyncstate.errors import AsyncStateError, Issue
from asyncstate.extras.manual.called import malformed_conditions, misfits, unknown_functions
from asyncstate.extras.manual.codes import codes
from asyncstate.extras.manual.entries import entry_of
from asyncstate.extras.manual.kinds import FALSE, KINDS, NOTHING, kind_of
from asyncstate.load.plugin import Expected, described
from asyncstate.model.chunk import SLOT
from asyncstate.model.rules import CODES, RULES, silenced_names
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.render import built_in
from asyncstate.run.chunk.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from asyncstate.compile.low.lowstate import Draft
    from asyncstate.extras.manual.kinds import Kind
    from asyncstate.load.host import PluginHost
    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.runtime import StateRuntime

_REMOTE = ("http://", "https://", "ftp://")
_CODE = re.compile(r"``(\w+)(?:: [^`]*)?``")

_OF_ANNOTATION = {"bool": "boolean", "int": "number", "float": "number"}
_OF_ALL_STATES = {
    "timeout": "seconds",
    "umask": "mode",
    "runas": "runner",
    "creates": "place",
    "check_cmd": "commands",
    "lane": "lane",
    "aggregate": "aggregate",
    "footprint": "mapping",
    **dict.fromkeys("failhard parallel no_log exclusive onfail_stop".split(), "boolean"),
    **dict.fromkeys("reload_modules reload_grains reload_pillar".split(), "boolean"),
}
"""Arguments that any state may have."""
_SETTING_GRAINS = frozenset({"grains", "module", "saltutil"})
"""Modules whose states may bring grains that are not there yet."""
_CONDITIONS = frozenset({"unless", "onlyif", "creates", "onfail", "onfail_any", "onfail_all"})
"""Arguments that may keep a state from running where its data is missing."""
_TEMPLATES = frozenset({"source", "sources", "contents", "contents_pillar", "contents_grains"})
"""Arguments with the text that a ``template`` renders."""
_TEXTS = frozenset({"content", "contents", "text"})


def judge_values(runtime: StateRuntime) -> None:
    """Let the compilations of a runtime report wrong values and broken templates, too."""
    from asyncstate.extras.manual.templates import Templates

    hide = runtime.secrets.redactor.issue
    templates = Templates(runtime.file_client, runtime.host)
    read: set[str] = set()

    def judge(drafts: Sequence[Draft]) -> Iterator[Issue]:
        brought = set()
        if writer_of(drafts, runtime.host.loaders["modules"]):
            brought.add("modules")
        if any(draft.state in _SETTING_GRAINS or draft.args.get("reload_grains") for draft in drafts):
            brought.add("grains")
        for draft in drafts:
            yield from judge_one(draft, brought)

    def judge_one(draft: Draft, brought: set[str]) -> Iterator[Issue]:
        if draft.file not in read:
            read.add(draft.file)
            yield from _unknown_rules(draft.file, runtime)
        wrong = [templates.explained(draft, issue) for issue in wrong_values(draft, runtime.host, brought)]
        yield from map(hide, wrong)
        if _is_bundled(draft, runtime.host):
            yield from map(hide, templates.hexadecimal(draft))
        if not any(issue.code == "E412" for issue in wrong):
            yield from map(hide, templates.nothings(draft))
        yield from map(hide, templates.negations(draft))
        if _is_bundled(draft, runtime.host):
            yield from map(hide, templates.mistakes(draft, always=draft.args.keys().isdisjoint(_CONDITIONS)))

    runtime.planner.judge = judge


def _unknown_rules(path: str, runtime: StateRuntime) -> Iterator[Issue]:
    """Yield a warning for each rule or code that a comment of an SLS file silences, and that does not exist."""
    try:
        text = runtime.file_client.read(path).decode(errors="replace") if path else ""
    except (AsyncStateError, OSError):
        return
    for line, name in silenced_names(text):
        if name not in RULES and name not in codes():
            hint = did_you_mean(nearest(name, [*RULES, *codes()])) or "asyncstate lint --rules lists the rules"
            message = f"a comment silences '{name}', which is no rule and no code"
            yield Issue(message, path, line, hint, CODES["W403"], code="W403")


def _is_bundled(draft: Draft, host: PluginHost) -> bool:
    function = host.loaders["states"].find(f"{draft.state}.{draft.fun}")
    return function is not None and function.module.bundled


def wrong_values(draft: Draft, host: PluginHost, brought: Collection[str] = ()) -> Iterator[Issue]:
    """Yield the mistakes in the values of one state. ``host`` has its function, the renderers, pillar and grains.

    ``brought``: the run may find ``modules`` or ``grains`` that are not here yet.
    """
    name = f"{draft.state}.{draft.fun}"
    function = host.loaders["states"].find(name)
    if function is None:
        return
    kinds = kinds_of(name, function.func) if function.module.bundled else {}
    args = {"name": draft.name, **draft.args}
    of_all = _of_all(function, passing_on=draft.state in PASSING_ON or bool(draft.args.get("template")))
    for argument, value in args.items():
        written = kinds.get(argument) or of_all.get(argument)
        if written is None:
            continue
        word = _kind_that_holds(written, args)
        kind = kind_of(word)
        if kind is None or (word == "hash" and not _needs_hash(args, kinds)):
            continue
        judged_whole = kind.whole or kind.each
        if argument in of_all and argument not in kinds and not judged_whole and isinstance(value, (list, dict)):
            yield _wrong(draft, kind, argument, value)
        if argument == "name" and value == "" and kind in {KINDS["path"], KINDS["file"]}:
            yield _wrong(draft, kind, argument, value)
        several = kind.each and isinstance(value, (list, dict))
        for each in value if several else [value]:
            yield from _judged(draft, argument, each, kind)
        if kind.container is not None and value and not isinstance(value, (bool, kind.container)):
            yield from _misshapen(draft, argument, value, kind)
    for argument, what, hint in malformed_conditions(draft.args):
        yield _issue(draft, "E427", argument, what, hint)
    for argument, called, hint in unknown_functions(name, args, host.loaders["modules"]):
        if "modules" not in brought or host.loaders["modules"].module(called.partition(".")[0]) is not None:
            yield _issue(draft, "E426", argument, f"calls '{called}', which does not exist", hint)
    if "modules" not in brought:
        for argument, code, what, hint in misfits(name, args, host.loaders["modules"]):
            yield _issue(draft, code, argument, what, hint)
    if not function.module.bundled:
        return
    if draft.state == "pkg":
        kind = KINDS["version"]
        for version in _versions_in(args.get("pkgs")):
            if not kind.fits(version):
                what = f"has a version that must be {kind.expected}, not {version}"
                yield _issue(draft, kind.code, "pkgs", what, kind.hint)._replace(mistake=False)
    yield from _without_hash(draft, args, kinds)
    yield from _excluded(draft, name, args)
    yield from _lacking(draft, name, args)
    for argument in args.keys() & kinds.keys():
        if kinds[argument] == "renderer" and _is_rendered(function.signature.names, args):
            yield from _unknown_renderer(draft, argument, args[argument], host)
        elif kinds[argument] == "pillar key" and args.keys().isdisjoint(_CONDITIONS):
            yield from _missing_key(draft, argument, args, "pillar", host.pillar)
        elif kinds[argument] == "grain key" and "grains" not in brought and args.keys().isdisjoint(_CONDITIONS):
            yield from _missing_key(draft, argument, args, "grains", host.grains)
    if name == "file.symlink" and _leads_to(args.get("target"), args["name"]):
        yield _issue(draft, "E419", "target", "is the link itself", "write the path that the link points to")
    if "retry" in draft.args:
        for what in RetryPolicy.parse(draft.args["retry"])[1]:
            hint = "write for example: - retry: {attempts: 3, interval: 10}"
            yield _issue(draft, "E418", "retry", f"has no effect as written: {what.removeprefix('retry: ')}", hint)
        yield from _unknown_of_retry(draft)


def _leads_to(target: Any, name: Any) -> bool:
    """Return whether a link at ``name`` to ``target`` leads to itself, however the two are spelt."""
    if not (isinstance(target, str) and isinstance(name, str)) or not target:
        return False
    return os.path.normpath(os.path.join(os.path.dirname(name), target)) == os.path.normpath(name)


@lru_cache(maxsize=256)  # an editor loads plugins again and again
def _of_all(function: LoadedFunction, *, passing_on: bool) -> dict[str, str]:
    """Return the kinds of the arguments of any state that the engine reads, not the function.

    One that takes any keyword gets ``timeout``, too, and may be ``passing_on`` its keywords to another function, or to
    a template.
    """
    signature, bundled = function.signature, function.module.bundled
    own = {key for key in _OF_ALL_STATES if not bundled and signature.accepts(key)}
    if signature.has_kwargs and (not bundled or passing_on):
        own.add("timeout")
    return {key: kind for key, kind in _OF_ALL_STATES.items() if key not in own}


@cache
def kinds_of(name: str, func: Callable[..., Any]) -> dict[str, str]:
    """Return the kinds of the arguments of a function that have one, those that only its documentation names too."""
    found = {}
    parameters = inspect.signature(inspect.unwrap(func)).parameters
    for argument in (*parameters, *keywords_of(func)):
        annotated = _of_annotation(parameters[argument].annotation) if argument in parameters else ""
        kind = entry_of(name, argument).kind or annotated
        if kind and kind != "any":
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


def _judged(draft: Draft, name: str, value: Any, kind: Kind) -> Iterator[Issue]:
    if str(value).startswith(SLOT):
        return
    if isinstance(value, bool):
        if kind.strict or (kind.whole and not kind.fits(value)):
            yield _wrong(draft, kind, name, value)
    elif value == NOTHING and kind.code not in {"E405", "E420"}:
        hint = "a template wrote a value that is missing; give it a default: pillar.get('key', '…')"
        yield _issue(draft, "E412", name, f"must be {kind.expected}, not the text None", hint)
    elif isinstance(value, str) and "\0" in value and kind.code != "E420":
        yield _issue(draft, "E419", name, "must not hold a NUL character", "remove it")
    elif isinstance(value, (str, int, float)) or (kind.whole and value is not None) or kind.filled:
        if not kind.fits(value):
            yield _wrong(draft, kind, name, value)
        elif kind is KINDS["boolean"] and isinstance(value, str) and value.lower() in FALSE:
            what = f"is the text {value!r}, which counts as true"
            yield _issue(draft, kind.code, name, what, kind.hint)._replace(mistake=False)


def _versions_in(packages: Any) -> Iterator[Any]:
    """Yield the versions in a list of packages, or in a mapping of them."""
    for each in packages if isinstance(packages, list) else [packages]:
        yield from each.values() if isinstance(each, dict) else ()


def _misshapen(draft: Draft, name: str, value: Any, kind: Kind) -> Iterator[Issue]:
    if not str(value).startswith(SLOT) and value != NOTHING:
        word = kind.words[0]
        shape, example = ("a list", f"[{word}]") if kind.container is list else ("a mapping", f"{word}: …")
        yield _issue(draft, "E405", name, f"must be {shape}, not {described(value)}", f"write for example {example}")


def _wrong(draft: Draft, kind: Kind, name: str, value: Any) -> Issue:
    text = repr(value) if len(str(value)) < 80 else f"a text of {len(str(value))} characters"
    shown = described(value) if kind.whole else kind.told(value) if kind.told else text
    issue = _issue(draft, kind.code, name, f"must be {kind.expected}, not {shown}", kind.next_step(value))
    return issue._replace(mistake=not kind.doubt)


def _issue(draft: Draft, code: str, name: str, what: str, hint: str) -> Issue:
    return _mistake(draft, code, name, f"'{name}' of '{draft.state}.{draft.fun}' {what} ({_where(draft)})", hint)


def _where(draft: Draft) -> str:
    return f"ID '{draft.id}' in SLS '{draft.sls}'"


def _mistake(draft: Draft, code: str, name: str, message: str, hint: str) -> Issue:
    return Issue(message, draft.file, draft.line_of(name), hint, CODES[code], mistake=True, code=code)


def _kind_that_holds(text: str, args: Mapping[str, Any]) -> str:
    """Return the first kind whose condition holds, "" if none does."""
    for part in text.split("; "):
        word, _, condition = part.partition(" if ")
        if not condition or all(_holds(each, args) for each in condition.split(" and ")):
            return word
    return ""


def _holds(condition: str, args: Mapping[str, Any]) -> bool:
    """Return whether an argument has the value that ``argument=value`` says, in any case; ``argument=`` means none."""
    name, _, value = condition.partition("=")
    return str(args.get(name) or "").lower() == value.lower()


def _excluded(draft: Draft, function: str, args: Mapping[str, Any]) -> Iterator[Issue]:
    """Yield that two arguments are given that exclude each other. An argument without a value is not given."""
    given = {name: value for name, value in args.items() if value not in (None, False, "", [], {})}
    for name in given:
        for word in entry_of(function, name).excludes.split():
            other, _, value = word.partition("=")
            if other in given and value in {"", str(given[other])}:
                shown = f"'{other}: {value}'" if value else f"'{other}'"
                yield _issue(draft, "E421", name, f"cannot be given together with {shown}", "remove one of the two")


def _lacking(draft: Draft, function: str, args: Mapping[str, Any]) -> Iterator[Issue]:
    """Yield that an argument is given without the one that it needs, or without any of several."""
    for name in args:
        for rule in filter(None, entry_of(function, name).needs.split("; ")):
            words, _, condition = rule.partition(" if ")
            others = words.split()
            if _holds(condition, args) and all(args.get(other) in (None, "", [], {}) for other in others):
                given = condition.replace("=", ": ") or name
                what = f"'{function}'" if name == "name" else f"'{given}' of '{function}'"
                needed = " or ".join(f"'{other}'" for other in others)
                hint = f"what they mean: asyncstate doc {function}"
                yield _mistake(draft, "E403", name, f"{what} needs {needed} ({_where(draft)})", hint)


def _unknown_of_retry(draft: Draft) -> Iterator[Issue]:
    given = draft.args["retry"]
    known = RetryPolicy.__struct_fields__
    for key in [key for key in given if key not in known] if isinstance(given, dict) else ():
        hint = did_you_mean(nearest(str(key), known)) or f"known are {', '.join(known)}"
        yield _issue(draft, "E418", "retry", f"has no '{key}'", hint)


def _unknown_renderer(draft: Draft, argument: str, value: Any, host: PluginHost) -> Iterator[Issue]:
    if not isinstance(value, str) or not value or value.startswith(SLOT) or value == NOTHING:
        return
    for part in value.split("|"):
        name = (part.split() or [""])[0]
        if name not in built_in() and name not in host.renderers:
            known = sorted({*built_in(), *host.renderers})
            hint = did_you_mean(nearest(name.lower(), known)) or f"known are {', '.join(known)}"
            yield _issue(draft, "E419", argument, f"must be a renderer, not {name!r}", hint)


def _is_rendered(names: Collection[str], args: Mapping[str, Any]) -> bool:
    """Return whether the state has something to render: what takes its text from arguments may have no template."""
    return _TEXTS.isdisjoint(names) or not _TEMPLATES.isdisjoint(args)


def _missing_key(
    draft: Draft, argument: str, args: Mapping[str, Any], where: str, data: Mapping[str, Any]
) -> Iterator[Issue]:
    """Yield that the pillar or the grains (``where``) lack a key that a state reads: its run would fail."""
    verb = "does" if where == "pillar" else "do"
    keys = args[argument]
    delimiter = str(args.get("contents_delimiter") or DELIMITER)
    for key in keys if isinstance(keys, list) else [keys]:
        if not isinstance(key, str) or not key or key.startswith(SLOT):
            continue
        missing = object()
        if traverse(data, key, missing, delimiter=delimiter) is missing:
            near = nearest(key, [name for name in data if isinstance(name, str)])
            hint = did_you_mean(near) or f"asyncstate call {where}.items shows what this host has"
            yield _issue(draft, "E423", argument, f"is {key!r}, which the {where} {verb} not have", hint)


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


def _without_hash(draft: Draft, args: Mapping[str, Any], kinds: Mapping[str, str]) -> Iterator[Issue]:
    """Yield that a remote source has no digest, which a run refuses."""
    name = "name" if kinds.get("name") == "source" and "source" not in args else "source"
    source = args.get(name)
    if not _needs_hash(args, kinds) or args.get("source_hash") or args.get("use_etag"):
        return
    if str(source).lower().startswith(_REMOTE):
        hint = "give source_hash, the digest of the file (sha256=…), or skip_verify: True"
        yield _issue(draft, "E415", name, "is fetched over the network, and there is no source_hash", hint)
