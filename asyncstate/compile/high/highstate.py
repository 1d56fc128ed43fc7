"""Turn SLS names into high data: render each SLS and its includes once, number the states, merge the SLS.

High data is Salt's own structure, ``{id: {module: [function, {argument: value}, …], "__sls__": …, "__env__": …}}``,
with ``__extend__`` and ``__exclude__`` beside the IDs until those are applied.

Numbers and merging follow two orders. If a includes b, and b includes c:

    render             a ──▶ b ──▶ c      depth first
    number the states  c ──▶ b ──▶ a      an SLS after all it includes
    merge              a ──▶ b ──▶ c      an SLS before all it includes
"""

from __future__ import annotations

import fnmatch
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from asyncstate.compile.high.declarations import EXCLUDE, EXTEND, fits_nothing, normalise, take_excludes, take_extends
from asyncstate.errors import AsyncStateError, RenderError
from asyncstate.logs import get_logger
from asyncstate.model.encode import plain
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.pattern import lazy_pattern
from asyncstate.sources.fileclient import sls_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.sources.fileclient import FileClient, SlsFile
    from asyncstate.sources.topfile import Render

    AssignedAt = Callable[[str, str], tuple[str, int]]

FIRST_AUTO_ORDER = 10000
"""The first automatic order (Salt's ``state_auto_order``)."""

_GLOB = lazy_pattern(r"[*?\[]")
_LEADING_DOTS = lazy_pattern(r"(\.+)(.*)", re.DOTALL)
_ANY_ENVIRONMENT = "_xenv"
_SEARCHED = 2_000
"""The number of SLS files that are searched for a missing ID, at most."""

log: Final = get_logger(__name__)


def nowhere(_sls: str, _env: str) -> tuple[str, int]:
    """Return the place of an SLS that a command selects: in no file."""
    return "", 0


class HighData:
    """The merged tree. ``data`` is what ``show highstate`` and ``show sls`` print.

    ``numbered[n]`` is the ID whose state got the automatic order 10000 + n. ``includes`` lists, for each rendered SLS,
    the SLS it includes. ``hidden`` has the IDs and declarations that others of the same ID have replaced. ``tree``
    lists the SLS files of each environment.
    """

    def __init__(self, data: dict[Any, Any], findings: Findings) -> None:
        self.data: dict[Any, Any] = data
        self.findings: Findings = findings
        self.hidden: list[tuple[Any, dict[str, Any]]] = []
        self.numbered: list[Any] = []
        self.includes: dict[str, list[str]] = {}
        self.tree: dict[str, Callable[[], list[str]]] = {}

    def is_automatic(self, id_: Any, order: Any) -> bool:
        """Whether ``order`` is the automatic number of this ID, not an explicit one."""
        if type(order) is not int:
            return False
        number = order - FIRST_AUTO_ORDER
        if not self.numbered:
            return number >= 0
        return 0 <= number < len(self.numbered) and bool(self.numbered[number] == id_)


class _Sls:
    """One SLS while its includes are rendered."""

    def __init__(self, sls: str, env: str, chain: list[str]) -> None:
        self.sls = sls
        self.env = env
        self.chain = chain
        self.data: dict[Any, Any] = {}
        self.extends: dict[Any, Any] | None = None
        self.excludes: list[Any] = []
        self.pending: Iterator[Any] = iter(())
        self.children: list[_Sls] = []
        self.finished = 0


class HighStateBuilder:
    """Renders selected SLS and all they include. Raises nothing: it records errors in ``findings`` and continues.

    ``assigned_at`` returns the file and line that select an SLS of an environment.
    """

    def __init__(
        self,
        *,
        opts: Mapping[str, Any],
        file_client: FileClient,
        render: Render,
        findings: Findings,
        assigned_at: AssignedAt = nowhere,
    ) -> None:
        self._assigned_at = assigned_at
        self._opts = opts
        self._file_client = file_client
        self._render = render
        self._findings = findings
        self._auto_order = bool(opts.get("state_auto_order", True))
        self._environments = {"base", *file_client.envs()}
        self._listings: dict[str, tuple[list[str], set[str]]] = {}
        self._rendered: set[str] = set()
        self._roots: list[_Sls] = []
        self._finished = 0
        self._selection: Mapping[str, Sequence[str]] = {}
        self._high = HighData({}, findings)
        self._high.tree = {env: partial(file_client.list_states, env) for env in file_client.envs()}
        findings.declaring, findings.nearest_sls = self._declaring, self._nearest

    def build(self, selection: Mapping[str, Sequence[str]]) -> HighData:
        """Render ``{environment: [SLS name or glob, …]}`` and everything it includes."""
        self._selection = selection
        meant: list[str] = []
        for env, names in selection.items():
            for name in names:
                if env in self._environments:
                    meant = self._expand(name, env) or [name]
                else:
                    # Salt continues with the SLS of the name before. We look up both, so that errors name both.
                    message = f"No matching salt environment for environment '{env}' found"
                    self._findings.error("E111", message, hint=self._nearest_environment(env))
                    meant = list(dict.fromkeys([*meant, name]))
                for sls in meant:
                    if f"{env}:{sls}" not in self._rendered:
                        self._render_closure(sls, env, named=sls == name)
        self._merge()
        return self._high

    def _render_closure(self, sls: str, env: str, *, named: bool) -> None:
        """Render one SLS and, depth first, what it includes. The stack is explicit, so no include chain is too long."""
        root = self._open(sls, env, [], named=named)
        self._roots.append(root)
        stack = [root]
        while stack:
            current = stack[-1]
            target = next(current.pending, None)
            if target is None:
                self._number(current)
                stack.pop()
                continue
            target_sls, target_env = target
            if f"{target_env}:{target_sls}" in self._rendered:
                continue
            child = self._open(target_sls, target_env, [*current.chain, current.sls])
            current.children.append(child)
            stack.append(child)

    def _open(self, sls: str, env: str, chain: list[str], *, named: bool = False) -> _Sls:
        """Render one SLS and split its declarations. ``named``: it was selected by name, not included or globbed."""
        unit = _Sls(sls, env, chain)
        file = self._file_client.sls_file(sls, env) if env in self._environments else None
        if file is None:
            self._missing(sls, env, chain, named=named)
        data = self._data_of(file) if file is not None else None
        self._rendered.add(f"{env}:{sls}")
        includes = self._high.includes.setdefault(sls, [])
        if not data or file is None:
            return unit
        if not isinstance(data, dict):
            self._findings.error("E105", f"SLS {sls} does not render to a dictionary", env=env, sls=sls)
            hint = "an SLS file is a mapping: write each state as ID: {module.function: [arguments]}"
            text = f"Error when rendering state with contents: {plain(data)}"
            self._findings.error("E105", text, env=env, sls=sls, hint=hint)
            return unit
        declared = data.get("include", [])
        if isinstance(declared, list):
            data.pop("include", None)
        else:
            message = f"Include Declaration in SLS {sls} is not formed as a list"
            hint = "write each name as an item, with a dash"
            self._findings.error("E106", message, env=env, sls=sls, id_="include", hint=hint)
            declared = []
        unit.extends = take_extends(data, sls, env, self._findings)
        unit.excludes = take_excludes(data, sls, env, self._findings)
        normalise(data, sls, env, self._findings)
        unit.data = data
        targets = list(self._targets(declared, file))
        includes.extend(target_sls for target_sls, _ in targets)
        unit.pending = iter(targets)
        return unit

    def _data_of(self, file: SlsFile) -> Any:
        """Render one file. A failure is recorded, and the SLS counts as empty."""
        sls, env = file.sls, file.saltenv
        self._findings.opened(env, sls, file.path)
        try:
            rendered = self._render(file, {"rendered_sls": self._rendered})
        except RenderError as error:
            message = f"Rendering SLS '{env}:{sls}' failed: {error.message}"
            self._findings.error_at("E104", message, error.file or file.path, error.line, error.hint)
            return None
        except MemoryError:
            raise
        except Exception as error:
            log.debug("Rendering SLS %s failed", sls, exc_info=True)
            message = f"Rendering SLS {sls} failed, render error: {type(error).__name__}: {error}"
            self._findings.error_at("E104", message, file.path, 0)
            return None
        self._findings.opened(env, sls, file.path, rendered.line_of)
        for id_, line in getattr(rendered, "repeated", ()):
            first = rendered.line_of(id_)
            message = f"ID '{id_}' in SLS '{env}:{sls}' is ignored: the same file has it first, in line {first}"
            self._findings.warn_at("W101", message, file.path, line)
        return rendered.data

    def _missing(self, sls: str, env: str, chain: list[str], *, named: bool) -> None:
        if named:
            message = f"No matching sls found for '{sls}' in env '{env}'"
            self._findings.error_at("E102", message, *self._assigned_at(sls, env), self._nearest(sls, env))
            return
        message = (
            f"Specified SLS {sls} in saltenv {env} is not available on the salt master or through a "
            "configured fileserver"
        )
        included = f"included from {' > '.join(chain)}" if chain else ""
        hint = "; ".join(filter(None, (included, self._nearest(sls, env))))
        by = {"env": env, "sls": chain[-1], "id_": "include"} if chain else {}
        self._findings.error("E103", message, hint=hint, **by)

    def _targets(self, declared: list[Any], file: SlsFile) -> Iterator[tuple[str, str]]:
        """Resolve an include list to (SLS, environment) pairs."""
        for item in declared:
            env, name = file.saltenv, item
            if isinstance(item, dict) and item:
                env, name = list(item.items())[-1]
            if not isinstance(name, str) or not name:
                self._include_error("E107", f"Badly formatted include {name} found in include in SLS", file)
                continue
            if env not in self._environments and env != _ANY_ENVIRONMENT:
                found = f"Nonexistent saltenv '{env}' found in include of '{name}' within SLS"
                self._include_error("E108", found, file, hint=self._nearest_environment(env))
                continue
            absolute = self._absolute(name, file)
            if absolute is None:
                found = f"Attempted relative include of '{name}' within SLS"
                self._include_error("E109", found, file, " goes beyond top level package ")
                continue
            resolved = self._environment_of(env, absolute, file)
            if resolved is not None:
                for sls in self._expand(absolute, resolved) or [absolute]:
                    yield sls, resolved

    def _environment_of(self, env: str, sls: str, file: SlsFile) -> str | None:
        """Return the environment of an included SLS; record an error if there is none, or more than one."""
        if env != _ANY_ENVIRONMENT:
            if env in self._selection or self._expand(sls, env):
                return env
            found: list[str] = []
        else:
            found = [other for other in self._selection if self._expand(sls, other)]
            if len(found) == 1:
                return found[0]
            if file.saltenv in found:
                return file.saltenv
        code = "E110" if found else "E103"
        if found:
            message = (
                f"Ambiguous include: Specified SLS {env}: {sls} is available on the salt master in multiple available "
                f"saltenvs: {', '.join(found)}"
            )
        else:
            searched = ", ".join(self._selection) if env == _ANY_ENVIRONMENT else env
            message = (
                f"Unknown include: Specified SLS {env}: {sls} is not available on the salt master in saltenv(s): "
                f"{searched} "
            )
        self._findings.error(code, message, env=file.saltenv, sls=file.sls, id_="include", hint=self._nearest(sls, env))
        return None

    def _include_error(self, code: str, text: str, file: SlsFile, rest: str = "", *, hint: str = "") -> None:
        message = f"{text} '{file.saltenv}:{file.sls}'{rest}"
        self._findings.error(code, message, env=file.saltenv, sls=file.sls, id_="include", hint=hint)

    def _nearest_environment(self, env: str) -> str:
        near = nearest(str(env), self._environments)
        return did_you_mean(near) or f"file_roots has {', '.join(sorted(self._environments))}"

    def _absolute(self, name: str, file: SlsFile) -> str | None:
        """Resolve leading dots against the including SLS; None if they lead out of the tree."""
        match = _LEADING_DOTS.fullmatch(name)
        if match is None:
            return name
        dots, rest = match.groups()
        parts = file.sls.replace("/", ".").split(".")
        if file.relpath.endswith("/init.sls") or file.relpath == "init.sls":
            parts.append("init")
        if len(dots) > len(parts):
            return None
        return ".".join([*parts[: -len(dots)], rest])

    def _expand(self, name: str, env: str) -> list[str]:
        """Return the SLS of ``env`` that ``name`` means: the one of that name, or all that match the glob."""
        if env not in self._listings:
            names = self._file_client.list_states(env) if env in self._environments else []
            self._listings[env] = (names, set(names))
        names, known = self._listings[env]
        if _GLOB.search(name):
            return fnmatch.filter(names, name)
        return [name] if name in known else []

    def _nearest(self, sls: str, env: str) -> str:
        """Return a hint for a missing SLS: the nearest name, or where files are searched, or why its file has none."""
        self._expand(sls, env)  # fills self._listings[env]
        names, known = self._listings[env]
        parts = sls.removesuffix("/init.sls").removesuffix(".sls").split("/")  # of the path of a file
        ends = (".".join(parts[start:]) for start in range(len(parts)))
        near = next((end for end in ends if end in known), "") or nearest(sls, names)
        if not near:
            searched = f"SLS files are searched in {', '.join(self._file_client.roots(env))}; write the file there"
            return f"{searched}, or correct the name" if env in self._environments else ""
        if self._file_client.sls_file(near, env) is not None:
            return did_you_mean(near)
        path = next(path for path in self._file_client.list_files(env) if sls_names([path]) == [near])
        meant = near.replace(".", "/")
        if path in {f"{meant}.sls", f"{meant}/init.sls"}:
            return f"{path} is there, but no file: probably a link that leads nowhere"
        return (
            f"there is a file {path}, but an SLS name cannot mean a file or folder with a period in its name: '{near}' "
            f"means {meant}.sls. Rename it"
        )

    def _declaring(self, id_: Any, env: str) -> list[str]:
        """Return the SLS that have a line which looks like a declaration of an ID.

        Of a large tree only the first are looked at, and none that cannot be read.
        """
        if not isinstance(id_, str) or env not in self._environments:
            return []
        written = re.compile(rf"^(['\"]?){re.escape(id_)}\1\s*:", re.MULTILINE)
        found = []
        for sls in self._file_client.list_states(env)[:_SEARCHED]:
            file = self._file_client.sls_file(sls, env)
            if file is None or sls == "top":
                continue
            with suppress(AsyncStateError, OSError):
                if written.search(self._file_client.read(file.path).decode(errors="replace")):
                    found.append(sls)
        return found

    def _number(self, unit: _Sls) -> None:
        """Give each state without an ``order`` the next number. What the SLS includes is already numbered."""
        self._finished += 1
        unit.finished = self._finished
        if not self._auto_order:
            return
        numbered = self._high.numbered
        for id_, body in unit.data.items():
            for module, arguments in body.items():
                if module.startswith("_") or not isinstance(arguments, list):
                    continue
                for argument in arguments:
                    if isinstance(argument, dict) and next(iter(argument), None) == "order":
                        break
                else:
                    arguments.append({"order": FIRST_AUTO_ORDER + len(numbered)})
                    numbered.append(id_)

    def _merge(self) -> None:
        """Merge all SLS in Salt's order: an SLS before what it includes, selected SLS in the order of the selection."""
        units: list[_Sls] = []
        stack = self._roots[::-1]
        while stack:
            unit = stack.pop()
            units.append(unit)
            stack.extend(reversed(unit.children))
        first_only = self._opts.get("duplicate_ids", "error") == "first"
        kept = _first_owners(units) if first_only else None
        data = self._high.data
        extends: list[dict[Any, Any]] = []
        excluding: list[tuple[_Sls, Any]] = []
        for unit in units:
            if unit.extends:
                extends.append(unit.extends)
            excluding += [(unit, item) for item in unit.excludes]
            for id_, body in unit.data.items():
                if kept is not None and kept[id_] is not unit:
                    self._warn_duplicate(id_, kept[id_], unit)
                    continue
                if unit.chain:
                    body["__sls_included_from__"] = unit.chain[::-1]
                if id_ in data:
                    self._conflict(id_, data[id_], body)
                    self._high.hidden.append((id_, data[id_]))
                data[id_] = body
            unit.data = {}  # what is merged is held once: whoever uses it up frees it
        if extends:
            data[EXTEND] = _distinct_extends(extends)
        if excluding:
            data[EXCLUDE] = [item for _, item in excluding]
        for unit, item in excluding:
            where = {"env": unit.env, "sls": unit.sls, "id_": "exclude"}
            warn_unfitting(self._high, item, "write '- id: {}'", "correct the name, or remove it from exclude", **where)

    def _conflict(self, id_: Any, first: dict[str, Any], second: dict[str, Any]) -> None:
        message = (
            "Detected conflicting IDs, SLS IDs need to be globally unique.\n"
            f"    The conflicting ID is '{id_}' and is found in SLS '{first['__env__']}:{first['__sls__']}' and SLS "
            f"'{second['__env__']}:{second['__sls__']}'"
        )
        file, line = self._findings.place(first["__env__"], first["__sls__"], id_)
        hint = f"the first is at {file}:{line}" if file else ""
        self._findings.error("E210", message, env=second["__env__"], sls=second["__sls__"], id_=id_, hint=hint)

    def _warn_duplicate(self, id_: Any, first: _Sls, second: _Sls) -> None:
        message = f"ID '{id_}' in SLS '{second.env}:{second.sls}' is ignored: '{first.env}:{first.sls}' has it first"
        self._findings.warn("W102", message, env=second.env, sls=second.sls, id_=id_)


def warn_unfitting(high: HighData, item: Any, as_id: str, otherwise: str = "", **place: Any) -> None:
    """Warn of an excluded ID that no SLS file declares, and of an excluded SLS that is not there.

    ``as_id`` is how an ID is excluded where ``item`` stands, ``otherwise`` the hint if no other name is near.
    """
    kind, value = next(iter(item.items()), ("", "")) if isinstance(item, dict) else ("sls", item)
    if kind not in {"id", "sls"} or not isinstance(value, str):
        return
    ids = [id_ for id_ in high.data if isinstance(id_, str) and id_ not in {EXTEND, EXCLUDE}]
    if kind == "id":
        known: Collection[str] = ids
        fits = value in high.data or any(high.findings.declaring(value, env) for env in high.tree)
    else:
        known = [*dict.fromkeys((*high.includes, *(sls for names in high.tree.values() for sls in names())))]
        fits = bool(fnmatch.filter(known, value))
    if not fits:
        near = did_you_mean(nearest(value, known))
        is_id = kind == "sls" and value in ids
        hint = f"it is an ID: {as_id.format(value)}" if is_id else near or otherwise
        high.findings.warn("W111", fits_nothing(item), hint=hint, **place)


def _first_owners(units: list[_Sls]) -> dict[Any, _Sls]:
    """Return, for each ID, the SLS whose declaration of it was numbered first."""
    owners: dict[Any, _Sls] = {}
    for unit in sorted(units, key=lambda unit: unit.finished):
        for id_ in unit.data:
            owners.setdefault(id_, unit)
    return owners


def _distinct_extends(extends: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """Return one entry for each extended ID and body; equal bodies count once."""
    seen: dict[Any, list[Any]] = {}
    distinct = []
    for declaration in extends:
        for name, body in declaration.items():
            bodies = seen.setdefault(name, [])
            if body not in bodies:
                bodies.append(body)
                distinct.append({name: body})
    return distinct
