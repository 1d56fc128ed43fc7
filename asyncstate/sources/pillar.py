"""Pillar: data for this machine, rendered from the pillar roots and their top file.

Follows Salt's pillar compiler for a masterless minion, with the same messages. All mistakes are collected in one
PillarError, each with file and line; a pillar with mistakes is never returned.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from asyncstate.data.limits import DEEPEST, TOO_DEEP
from asyncstate.data.merging import merged
from asyncstate.errors import Issue, PillarError, RenderError
from asyncstate.logs import get_logger
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.sources.fileclient import SlsFile, top_path
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from asyncstate.sources.fileclient import FileClient
    from asyncstate.sources.topfile import Render, Rendered

    _Data = dict[str, Any] | None
    _Done = dict[str, _Data]
    _Steps = Generator["_Steps", _Data, _Data]

log: Final = get_logger(__name__)

FAILED = "Pillar failed to render with the following messages:"
NOT_A_DICTIONARY = "Pillar data must be formatted as a dictionary, unless pillar_enc is specified."
_TOP_FAILED = "Error encountered while rendering pillar top file."


def compile_pillar(
    opts: Mapping[str, Any],
    grains: Mapping[str, Any],
    fileclient: FileClient,
    render: Render,
    override: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the pillar of this machine with ``override`` (from the command line) merged over it.

    ``fileclient`` serves ``pillar_roots``. ``render`` sets the templates' ``pillar``, without the override; the names
    in its ``extra`` are the ``defaults`` of an include. Raises PillarError: the first issue is Salt's headline, then
    one issue per mistake follows.
    """
    if override is not None and not isinstance(override, dict):
        raise PillarError([Issue(NOT_A_DICTIONARY, code="E501")])
    compiler = _Compiler(opts, grains, fileclient, render, override or {})
    pillar = compiler.compile()
    if compiler.issues:
        raise PillarError([Issue(FAILED, code="E500"), *compiler.issues], pillar)
    return pillar


class _Target(Value):
    """One target of the merged top files: the kind of match, its SLS names, its order.

    ``wrong`` is the mistake to report if it matches this machine; targets of other machines are not checked.
    """

    kind: str
    names: list[str]
    order: int
    wrong: Issue | None = None


class _Source(Value):
    """A rendered SLS with its file, for messages about its content, and how many keys its includers nest it under."""

    file: SlsFile
    rendered: Rendered
    depth: int = 0

    def issue(self, code: str, message: str, key: Any = None, hint: str = "") -> Issue:
        line = self.rendered.line_of(key) if key is not None else 1
        return Issue(message, self.file.path, line, hint, code=code)


class _Compiler:
    def __init__(
        self,
        opts: Mapping[str, Any],
        grains: Mapping[str, Any],
        fileclient: FileClient,
        render: Render,
        override: dict[str, Any],
    ) -> None:
        self._opts = opts
        self._fileclient = fileclient
        self._render = render
        self._override = override
        self._grains = grains
        self._env = opts.get("pillarenv") or None
        self._missing_is_fine: set[tuple[str, str]] = set()
        self.issues: list[Issue] = []

    def compile(self) -> dict[str, Any]:
        targets = self._merged_tops()
        names = self._matches(targets)
        top_issues, self.issues = self.issues, []
        pillar: dict[str, Any] = {}
        for env in self._in_env_order(names):
            rendered: _Done = {}
            for sls in self._expanded(names[env], env):
                data = self._with_all_includes(sls, env, rendered)
                if data is not None:
                    pillar = self._merge(pillar, data)
        self.issues += top_issues  # Salt reports the top's mistakes last
        if self._opts.get("pillar_opts"):
            pillar["master"] = {key: value for key, value in self._opts.items() if key != "pillar"}
        return self._merge(pillar, copy.deepcopy(self._override))

    def _merge(self, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
        return merged(
            first,
            second,
            self._opts.get("pillar_source_merging_strategy") or "smart",
            self._opts.get("renderer") or "yaml",
            bool(self._opts.get("pillar_merge_lists")),
        )

    # -- tops ------------------------------------------------------------------------------------------------------

    def _environments(self) -> list[str]:
        """Return the pillar environments, with the selected one in place of ``__env__``."""
        selected = self._env or self._opts.get("saltenv") or "base"
        envs = (selected if env == "__env__" else env for env in self._fileclient.envs())
        return list(dict.fromkeys(["base", *envs]))

    def _top_environments(self) -> list[str]:
        known = self._environments()
        if self._env:
            return [self._env] if self._fileclient.roots(self._env) else []
        if self._opts.get("pillar_source_merging_strategy") == "none":
            only = self._opts.get("saltenv") or "base"
            return [only] if only in known else []
        return known

    def _merged_tops(self) -> dict[str, dict[Any, _Target]]:
        """Read every top file and its includes; a later file replaces an earlier one's entry for the same target."""
        targets: dict[str, dict[Any, _Target]] = {}
        for env in self._top_environments():
            path = self._fileclient.find(top_path(self._opts), env)
            if path is None:
                continue
            top = self._top(SlsFile("", env, path, top_path(self._opts)), "Primary Top file")
            if top is None:
                continue
            self._add_targets(top, targets)
            for sls in self._top_includes(top):
                file = self._fileclient.sls_file(sls, env)
                if file is None:
                    log.warning("%s: there is no SLS %r to include in environment %r", path, sls, env)
                elif included := self._top(file, f"Top file {sls}"):
                    self._add_targets(included, targets)
        return targets

    def _top(self, file: SlsFile, what: str) -> _Source | None:
        try:
            rendered = self._render(file, {})
        except RenderError as error:
            message = f"Rendering {what} failed, render error:\n{error.message}"
            self.issues.append(Issue(message, error.file or file.path, error.line, code="E503"))
            return None
        source = _Source(file, rendered)
        if not rendered.data:
            return None
        if not isinstance(rendered.data, dict):
            self.issues.append(source.issue("E504", _TOP_FAILED, hint="A top file is a mapping of environments."))
            return None
        return source

    def _top_includes(self, top: _Source) -> list[str]:
        include = top.rendered.data.get("include") or []
        if isinstance(include, list):
            return list(dict.fromkeys(str(sls) for sls in include))
        self.issues.append(top.issue("E504", _TOP_FAILED, "include", "The include of a top file is a list."))
        return []

    def _add_targets(self, top: _Source, targets: dict[str, dict[Any, _Target]]) -> None:
        for env, body in top.rendered.data.items():
            if env == "include":
                continue
            if not isinstance(body, dict):
                if body != []:
                    self.issues.append(
                        top.issue("E504", _TOP_FAILED, env, f"Environment {env!r} is a mapping of targets.")
                    )
                continue
            for target, items in body.items():
                if isinstance(items, (list, dict)):  # Salt takes the keys of a mapping for names
                    targets.setdefault(env, {})[target] = self._target(env, list(items))
                else:
                    hint = f"Target {target!r} in environment {env!r} is a list of SLS names."
                    wrong = top.issue("E504", _TOP_FAILED, env, hint)
                    targets.setdefault(env, {})[target] = _Target("compound", [], 0, wrong)

    def _target(self, env: str, items: list[Any]) -> _Target:
        kind, order = "compound", 0
        names = list(dict.fromkeys(item for item in items if isinstance(item, str)))
        for item in items:
            if isinstance(item, dict):
                kind = item.get("match", kind)
                order = _order(item.get("order", order))
                if item.get("ignore_missing"):
                    self._missing_is_fine.update((env, name) for name in names)
        return _Target(kind, names, order)

    def _matches(self, targets: dict[str, dict[Any, _Target]]) -> dict[str, list[str]]:
        """Return the SLS names that match this machine, by environment, each once."""
        if not targets:
            return {}
        from asyncstate.sources.matchers import Matcher  # noqa: PLC0415 - without a top file there are no targets

        matcher = Matcher(self._opts, self._grains, {})  # there is no pillar yet for pillar targets
        found: dict[str, dict[str, None]] = {}
        for env, body in targets.items():
            if self._env and env != self._env:
                continue
            for expr, target in sorted(body.items(), key=lambda entry: entry[1].order):
                if not isinstance(target.kind, str) or target.kind not in matcher.kinds:
                    hint = f"Unknown match type {target.kind!r} for target {expr!r} in environment {env!r}"
                    self.issues.append(Issue(_TOP_FAILED, hint=hint, code="E505"))
                elif matcher.match(target.kind, expr):
                    self.issues += [target.wrong] if target.wrong is not None else []
                    found.setdefault(env, {}).update(dict.fromkeys(target.names))
        return {env: list(names) for env, names in found.items()}

    def _in_env_order(self, names: Mapping[str, Any]) -> list[str]:
        ordered = [env for env in self._opts.get("env_order") or () if env in names]
        return list(dict.fromkeys([*ordered, *names]))

    def _expanded(self, names: list[str], env: str) -> list[str]:
        if env not in self._environments():
            self.issues += [
                Issue(f"No matching pillar environment for environment '{env}' found", code="E506") for _ in names
            ]
            return []
        return self._fileclient.expand(names, env)

    # -- SLS -------------------------------------------------------------------------------------------------------

    def _with_all_includes(self, sls: str, env: str, done: _Done) -> _Data:
        """Return the data of one SLS with its includes, however deep; None if there is none.

        Mistakes are added to ``issues``. ``done`` has the files of this environment that are already rendered, for
        includes; that also ends include cycles.
        """
        under_way = [self._sls(sls, env, done)]
        found: _Data = None
        while under_way:
            try:
                include = under_way[-1].send(found)
            except StopIteration as end:
                under_way.pop()
                found = end.value
            else:
                under_way.append(include)
                found = None
        return found

    def _sls(
        self,
        sls: str,
        env: str,
        done: _Done,
        defaults: dict[str, Any] | None = None,
        included_by: _Source | None = None,
        *,
        depth: int = 0,
    ) -> _Steps:
        """Return the data of one SLS; yield each include that is to be done first, and be sent its data."""
        file = self._fileclient.sls_file(sls, env)
        if file is None:
            self._report_missing(sls, env, included_by)
            return None
        if included_by and file.path in done:
            return done[file.path]
        done[file.path] = None
        try:
            rendered = self._render(file, dict(defaults or {}))
        except RenderError as error:
            self.issues.append(self._render_issue(sls, file, error))
            return None
        source = _Source(file, rendered, depth)
        data = rendered.data
        if not data:
            return None
        if not isinstance(data, dict):
            self.issues.append(source.issue("E509", f"SLS '{sls}' does not render to a dictionary"))
            return None
        done[file.path] = data = {key: value for key, value in data.items() if key != "include"}
        if "include" not in rendered.data:
            return data
        return (yield from self._with_includes(sls, data, source, done))

    def _report_missing(self, sls: str, env: str, included_by: _Source | None) -> None:
        if (env, sls) in self._missing_is_fine or not self._fileclient.roots(env):
            log.debug("Pillar SLS %r in environment %r is missing and not needed", sls, env)
            return
        message = f"Specified SLS '{sls}' in environment '{env}' is not available on the salt master"
        near = nearest(sls, self._fileclient.list_states(env))
        searched = f"pillar files are searched in {', '.join(self._fileclient.roots(env))}; write the file there"
        hint = did_you_mean(near) or f"{searched}, or correct the name"
        if included_by:
            self.issues.append(included_by.issue("E507", message, "include", hint))
        else:
            from asyncstate.sources.topfile import assigned_at  # noqa: PLC0415 - an error

            place = assigned_at(self._fileclient, self._opts, [env, *self._top_environments()], sls)
            self.issues.append(Issue(message, *place, hint, code="E507"))

    def _render_issue(self, sls: str, file: SlsFile, error: RenderError) -> Issue:
        where = (error.file or file.path, error.line)
        if self._opts.get("pillar_safe_render_error", True):
            message = f"Rendering SLS '{sls}' failed. Please see master log for details."
            said = error.message.partition("\n")[0]  # further lines may quote secrets
            whole = (
                "there is no master: pillar_safe_render_error: False in the configuration shows the whole error here"
            )
            return Issue(message, *where, "\n".join(filter(None, (said, error.hint, whole))), code="E508")
        message = f"Rendering SLS '{sls}' failed, render error:\n{error.message}"
        return Issue(message, *where, error.hint, code="E508")

    def _with_includes(self, sls: str, data: dict[str, Any], source: _Source, done: _Done) -> _Steps:
        """Merge the includes of ``source`` below its own data (above it with ``pillar_includes_override_sls``)."""
        items = source.rendered.data["include"]
        if not isinstance(items, list):
            message = f"Include Declaration in SLS '{sls}' is not formed as a list"
            self.issues.append(source.issue("E510", message, "include"))
            return data
        included: list[dict[str, Any]] = []
        for item in items:
            include = self._include(item, source)
            if include is None:
                continue
            key = include.key.split(":") if include.key else []
            depth = source.depth + len(key)
            if depth > DEEPEST:
                self.issues.append(source.issue("E510", f"Include Declaration in SLS '{sls}' is {TOO_DEEP}", "include"))
                continue
            for name in self._included_names(include.name, sls, source):
                found = yield self._sls(name, source.file.saltenv, done, include.defaults, source, depth=depth)
                if found:
                    included.append(_nested(key, found))
        parts = [data, *included] if self._opts.get("pillar_includes_override_sls") else [*included, data]
        whole = parts[0]
        for part in parts[1:]:
            whole = self._merge(whole, part)
        return whole

    def _include(self, item: Any, source: _Source) -> _Include | None:
        if isinstance(item, str):
            return _Include(item, {}, "")
        if isinstance(item, dict) and item:
            name, *ignored = item
            if ignored:
                log.warning("%s: only the first name counts in the include %r", source.file.path, item)
            options = item[name]
            options = options or {}
            defaults = options.get("defaults") or {} if isinstance(options, dict) else None
            if isinstance(name, str) and isinstance(defaults, dict):
                return _Include(name, defaults, str(options.get("key") or ""))
        message = f"Include Declaration in SLS '{source.file.sls}' contains something that is not an include: {item!r}"
        hint = "An include is a name, or {name: {defaults: {…}, key: …}}."
        self.issues.append(source.issue("E510", message, "include", hint))
        return None

    def _included_names(self, name: str, sls: str, source: _Source) -> list[str]:
        env = source.file.saltenv
        dotted = name.lstrip(".").replace("/", ".")
        if not name.startswith("."):
            return self._fileclient.expand([dotted], env)
        package = sls.split(".")
        if not source.file.relpath.endswith("init.sls"):
            package.pop()
        absolute = ".".join([*package, name[1:]])
        # Salt also resolves a relative name from the root, and merges both.
        candidates = self._fileclient.expand([dotted, absolute], env)
        found = [candidate for candidate in candidates if self._fileclient.sls_file(candidate, env)]
        return list(dict.fromkeys(found)) or [absolute]


class _Include(Value):
    name: str
    defaults: dict[str, Any]
    key: str


def _nested(key: list[str], data: dict[str, Any]) -> dict[str, Any]:
    """Put ``data`` under a nested key: ``["x", "y"]`` gives ``{"x": {"y": data}}``."""
    for part in reversed(key):
        data = {part: data}
    return data


def _order(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0
