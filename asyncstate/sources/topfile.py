"""The top file: the SLS of each environment that are assigned to this machine.

A top file that does not render, or has the wrong structure, raises a CompileError with file and line (for the former,
Salt reports "no match"). If nothing matches, the result is not an error but one failed row, `no_states_row`.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from asyncstate.errors import CompileError, Issue, RenderError
from asyncstate.logs import get_logger
from asyncstate.model.result import NO_STATES_TAG, RUN_NUM
from asyncstate.nearest import nearest
from asyncstate.sources.fileclient import SlsFile, top_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.sources.fileclient import FileClient
    from asyncstate.sources.matchers import Matcher

log: Final = get_logger(__name__)

NO_MATCH = "No Top file or master_tops data matches found. Please see master log for details."
NO_STATES = "No states found for this minion"
_SHOWN = 5
_NO_TARGETS = "Unable to render top file: Unable to render top file. No targets found."


class Rendered(Protocol):
    """The result of a renderer: the data, and the line of each entry in the source."""

    data: Any

    def line_of(self, id: Any, state: str | None = None, argument: str | None = None) -> int:
        """Return the 1-based line of a top-level key, 0 if unknown."""


class Render(Protocol):
    """Renders one file; ``extra`` is added to the variables of its template. Raises RenderError."""

    def __call__(self, file: SlsFile, extra: dict[str, Any], /) -> Rendered:
        """Render ``file``."""


class Section(msgspec.Struct):
    """The section of one top file for one environment: items by target. ``body`` is not yet verified."""

    env: Any
    body: Any
    file: str
    rendered: Rendered

    def issue(self, code: str, message: str, target: Any = None, hint: str = "") -> Issue:
        """Return an Issue at the line of a target, or of the whole section."""
        line = self.rendered.line_of(self.env, target) if target is not None else 0
        return Issue(message, self.file, line or self.rendered.line_of(self.env), hint, code=code)


class Top(msgspec.Struct):
    """All top files merged: ``sections[env][target]`` is the list of items.

    ``failure`` is Salt's comment if a section has no targets at all: then `no_states_row(failure)` is the whole result.
    ``envs`` are the existing environments; ``origins[env][target]`` is the section that a target comes from.
    """

    sections: dict[Any, dict[Any, Any]]
    origins: dict[Any, dict[Any, Section]] = {}
    envs: tuple[str, ...] = ()
    failure: str = ""
    warnings: list[Issue] = []
    errors: list[Issue] = []


def no_states_row(comment: str = NO_MATCH) -> dict[str, dict[str, Any]]:
    """Return the rows of a highstate without states, in Salt's form: one failed row without an ID."""
    row = {"result": False, "comment": comment, "name": "No States", "changes": {}, RUN_NUM: 0}
    return {NO_STATES_TAG: row}


def why_nothing(top: Top, fileclient: FileClient, opts: Mapping[str, Any], id_: str) -> str:
    """Return a message with the top files found or searched for, their targets, and the next step."""
    relpath = top_path(opts)
    files = [path for env in top.envs if (path := fileclient.find(relpath, env))]
    if files:
        targets = ", ".join(repr(str(target)) for section in top.sections.values() for target in section)
        found = f"its targets are {targets}" if targets else "it has no targets"
        return f"{', '.join(files)}: {found}; this machine is {id_!r}. See: asyncstate show top"
    roots = ", ".join(f"{root} ({env})" for env in top.envs for root in fileclient.roots(env))
    names = [sls for env in top.envs for sls in fileclient.list_states(env)]
    there = f"name one of these: {', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}" if names else ""
    return "; ".join(
        filter(None, (f"there is no {relpath} in {roots}", f"write one{', or ' + there if there else ''}"))
    )


def environments(fileclient: FileClient, opts: Mapping[str, Any]) -> list[str]:
    """Return the environments in the order of their top files: ``env_order`` if given, else base first."""
    known = fileclient.envs()
    order = list(dict.fromkeys(opts.get("env_order") or ()))
    if order:
        return [env for env in order if env in known] if known else order
    return list(dict.fromkeys(["base", *known]))


def assigned_at(fileclient: FileClient, opts: Mapping[str, Any], envs: Iterable[str], sls: str) -> tuple[str, int]:
    """Return the top file and the line that names an SLS, as far as a search of the texts finds them."""
    named = re.compile(rf"(?<![\w.]){re.escape(sls)}(?![\w.])")
    for env in dict.fromkeys(envs):
        path = fileclient.find(top_path(opts), env)
        for number, line in enumerate(fileclient.read(path).splitlines() if path else (), 1):
            if named.search(line.decode(errors="replace")):
                return str(path), number
    return "", 0


def read_tops(fileclient: FileClient, opts: Mapping[str, Any], render: Render) -> Top:
    """Read and merge the top files of all environments (only of ``saltenv`` or ``state_top_saltenv`` if set).

    Raises CompileError if a top file does not render, is not a mapping, or has an environment of the wrong structure.
    """
    reader = _Reader(fileclient, opts, render)
    sections = reader.read()
    top = _merge(sections, opts)
    top.envs = tuple(dict.fromkeys(["base", *environments(fileclient, opts)]))
    top.warnings = reader.warnings
    if not top.failure:
        issues = _verify(top)
        if issues:
            raise CompileError(issues)
    return top


class _Reader:
    """Renders top files and their includes."""

    def __init__(self, fileclient: FileClient, opts: Mapping[str, Any], render: Render) -> None:
        self._fileclient = fileclient
        self._opts = opts
        self._render = render
        self.warnings: list[Issue] = []

    def read(self) -> dict[str, list[dict[Any, Section]]]:
        """Return the sections of every top file by the environment it was found in; ``[{}]`` if there is none."""
        only = self._opts.get("saltenv") or self._opts.get("state_top_saltenv")
        envs = [str(only)] if only else environments(self._fileclient, self._opts)
        return {env: self._tops_of(env) for env in envs}

    def _tops_of(self, env: str) -> list[dict[Any, Section]]:
        relpath = top_path(self._opts)
        path = self._fileclient.find(relpath, env)
        if path is None:
            log.debug("No top file %s in environment %s", relpath, env)
            return [{}]
        top = self._sections(SlsFile("", env, path, relpath))
        tops = [top]
        include = top.pop("include", None)
        for sls in self._included(include, env):
            file = self._fileclient.sls_file(sls, env)
            if file is not None:
                included = self._sections(file)
                if nested := included.pop("include", None):
                    self.warnings.append(nested.issue("W112", "The include of an included top file is ignored"))
                tops.append(included)
        return tops

    def _sections(self, file: SlsFile) -> dict[Any, Section]:
        try:
            rendered = self._render(file, {})
        except RenderError as error:
            raise CompileError([_render_issue(file, error)]) from error
        data = rendered.data
        if data is None or data == {}:
            return {}
        if not isinstance(data, dict):
            raise CompileError([Issue("Top data was not formed as a dict", file.path, 1, code="E113")])
        return {env: Section(env, body, file.path, rendered) for env, body in data.items()}

    def _included(self, include: Section | None, env: str) -> list[str]:
        if include is None:
            return []
        if not isinstance(include.body, list):
            self.warnings.append(
                include.issue("W112", "The include of a top file is not formed as a list and is ignored")
            )
            return []
        names: list[str] = []
        for pattern in include.body:
            found = fnmatch.filter(self._fileclient.list_states(env), str(pattern))
            if not found:
                message = f"The top file includes {str(pattern)!r}, which matches no SLS in environment {env!r}"
                self.warnings.append(include.issue("W112", message))
            names.extend(found)
        return list(dict.fromkeys(names))


def _render_issue(file: SlsFile, error: RenderError) -> Issue:
    return Issue(
        f"Unable to render top file: {error.message}", error.file or file.path, error.line, error.hint, code="E112"
    )


class _NoTargets(Exception):
    """A section is neither a mapping nor an empty list: then Salt returns one failed row."""


def _merge(tops: dict[str, list[dict[Any, Section]]], opts: Mapping[str, Any]) -> Top:
    strategies = {"merge": _merge_base_first, "same": _merge_same, "merge_all": _merge_all}
    name = opts.get("top_file_merging_strategy") or "merge"
    if name not in strategies:
        log.warning("Invalid top_file_merging_strategy %r, falling back to 'merge'", name)
    top = Top({})
    try:
        strategies.get(name, _merge_base_first)(tops, top, opts)
    except _NoTargets:
        return Top({}, failure=_NO_TARGETS)
    return top


def _add(top: Top, env: Any, section: Section) -> None:
    """Add the targets of a section; they replace existing ones."""
    if not isinstance(section.body, dict):
        if section.body == []:
            return
        raise _NoTargets
    if section.body:
        top.sections.setdefault(env, {}).update(section.body)
        top.origins.setdefault(env, {}).update(dict.fromkeys(section.body, section))


def _merge_base_first(tops: dict[str, list[dict[Any, Section]]], top: Top, opts: Mapping[str, Any]) -> None:
    """``merge``: base's top file wins; another one adds its own environment only if base's does not contain it."""
    del opts
    for base_top in tops.get("base", ()):
        for env, section in base_top.items():
            _add(top, env, section)
    for own, own_tops in tops.items():
        if own == "base" or own in top.sections:
            continue
        for own_top in own_tops:
            if own in own_top:
                _add(top, own, own_top[own])
                if own in top.sections:
                    break


def _merge_same(tops: dict[str, list[dict[Any, Section]]], top: Top, opts: Mapping[str, Any]) -> None:
    """``same``: each environment is read only from its own top file, or from the one of ``default_top``."""
    default = opts.get("default_top") or ""
    if not default and not opts.get("saltenv"):
        message = "top_file_merging_strategy set to 'same', but no default_top configuration option was set"
        raise CompileError([Issue(message, hint="Set default_top, for example to base.", code="E116")])
    for own, own_tops in tops.items():
        source = own_tops if any(own_tops) else tops.get(default, [])
        if not any(source):
            log.warning("Environment %r has no top file, nor has default_top %r", own, default)
        for own_top in source:
            if own in own_top:
                _add(top, own, own_top[own])


def _merge_all(tops: dict[str, list[dict[Any, Section]]], top: Top, opts: Mapping[str, Any]) -> None:
    """``merge_all``: every section of every top file counts; the items of one target are joined."""
    del opts
    for own_tops in tops.values():
        for own_top in own_tops:
            for env, section in own_top.items():
                before = top.sections.get(env, {})
                joined = section
                if before and isinstance(section.body, dict):
                    body = {target: _join(before.get(target), items) for target, items in section.body.items()}
                    joined = Section(env, body, section.file, section.rendered)
                _add(top, env, joined)


def _join(first: Any, second: Any) -> Any:
    """Join two item lists of one target: the last options (``match: …``), then the SLS names of both, each once."""
    if not isinstance(first, list) or not isinstance(second, list):
        return second if first is None else first
    options = [item for item in (*first, *second) if isinstance(item, dict)][-1:]
    earlier = [item for item in first if isinstance(item, str)]
    joined = options + earlier
    return joined + [item for item in second if isinstance(item, str) and item not in joined]


def _verify(top: Top) -> list[Issue]:
    """Return every mistake in the structure of the merged top files, in Salt's words."""
    issues: list[Issue] = []
    for env, body in top.sections.items():
        origins = top.origins[env]
        if not isinstance(env, str):
            section = next(iter(origins.values()))
            issues.append(section.issue("E114", f"Environment {env} in top file is not formed as a string"))
        if env == "":
            issues.append(next(iter(origins.values())).issue("E114", "Empty saltenv statement in top file"))
        for target, items in body.items():
            issues += [origins[target].issue("E114", message, target) for message in _verify_items(env, target, items)]
    return issues


def _verify_items(env: Any, target: Any, items: Any) -> list[str]:
    if not isinstance(items, list):
        kind = "OrderedDict" if isinstance(items, dict) else type(items).__name__  # as in Salt's message
        where = f"matcher {target!r} in saltenv {env!r}"
        return [f"Malformed topfile: state declarations for {where} are not formed as a list (got {kind})"]
    messages = []
    for item in items:
        if isinstance(item, dict):
            empty = [value for value in item.values() if not value]
            messages += [f"Improperly formatted top file matcher in saltenv {item}: {value} file" for value in empty]
        elif item == "":
            messages.append(f"Environment {env} contains an empty sls index")
        elif not isinstance(item, str):
            messages.append(f"Environment {env} contains an sls index that is not a string: {item!r}")
    return messages


def matches(top: Top, matcher: Matcher, opts: Mapping[str, Any]) -> dict[Any, list[str]]:
    """Return the SLS names (globs unexpanded) that match this machine, by environment, in the order of the top file.

    Names may occur twice. An environment whose only matching target has no names is included with ``[]``. A target with
    an unknown match type counts as matched; the error is added to ``top.errors``.
    """
    found: dict[Any, list[str]] = {}
    only = opts.get("saltenv")
    for env, body in top.sections.items():
        if not only or env == only:
            choice = _Choice(top, matcher, env, found)
            for target, items in body.items():
                choice.target(target, items, top.origins[env][target])
    return found


class _Choice:
    """Adds to ``found`` the SLS names that one environment's section assigns to this machine."""

    def __init__(self, top: Top, matcher: Matcher, env: Any, found: dict[Any, list[str]]) -> None:
        self._envs = top.envs
        self._warnings = top.warnings
        self._errors = top.errors
        self._matcher = matcher
        self._env = env
        self._found = found

    def target(self, target: Any, items: list[Any], origin: Section) -> None:
        if not self._is_match(target, items, origin):
            return
        names = self._found.setdefault(self._env, [])
        for item in items:
            if isinstance(item, str):
                names.append(item)
                continue
            for key, value in item.items():
                if key == "subfilter" and isinstance(value, dict):
                    for inner, inner_items in value.items():
                        self.target(inner, [inner_items] if isinstance(inner_items, str) else inner_items, origin)
                elif key in self._envs:
                    self._found.setdefault(key, []).extend([value] if isinstance(value, str) else value)

    def _is_match(self, target: Any, items: list[Any], origin: Section) -> bool:
        kinds = [item["match"] for item in items if isinstance(item, dict) and "match" in item]
        kind = kinds[-1] if kinds else "compound"
        if isinstance(kind, str) and kind in self._matcher.kinds:
            wrong = self._matcher.mistake(target, kind)
            if odd := wrong or self._matcher.surprise(target, kind):
                self._warnings.append(origin.issue("W114", f"The target {target!r} {odd}", target))
            return not wrong and self._matcher.match(kind, target)
        near = nearest(str(kind), self._matcher.kinds)
        hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(sorted(self._matcher.kinds))}."
        message = f"Unknown match type {kind!r} for target {target!r} in saltenv {self._env!r}"
        self._errors.append(origin.issue("E115", message, target, hint))
        return True
