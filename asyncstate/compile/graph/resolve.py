"""Resolve requisites: every reference becomes edges, a set, or an error that names the nearest existing name."""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from asyncstate.compile.graph.requisite_graph import KINDS, PREREQ, PREREQUIRED
from asyncstate.compile.high.verify import requisite_mistakes
from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import DIRECT
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.graph.requisite_graph import RequisiteGraph
    from asyncstate.compile.high.highstate import HighData
    from asyncstate.compile.low.lowstate import Draft

SET_THRESHOLD = 8
"""A reference with this many targets or more goes through a SET node instead of one edge for each target."""

_DIRECT = {kind.value: kind.weight for kind in DIRECT}
_GLOB_CHARACTERS = lazy_pattern(r"[*?\[\]]")
_HINT_LIMIT = 10


class TargetIndex:
    """Finds drafts by module and ID or name, by ID or name alone, and by SLS; by exact text or by glob."""

    def __init__(self, drafts: Sequence[Draft], includes: dict[str, list[str]]) -> None:
        self._drafts = drafts
        self._includes = includes
        self._of_module: dict[str, list[int]] | None = None
        self._tables: dict[str, dict[Any, list[int]]] = {}
        self._sorted: dict[str, list[str]] = {}
        self._included: dict[str, list[int]] = {}
        self._globs: dict[tuple[str, str], list[int]] = {}

    def table(self, module: str) -> dict[Any, list[int]]:
        """Return the mapping to drafts from ID or name, of one module or (``id``) of all; or from SLS (``sls``)."""
        table = self._tables.get(module)
        if table is None:
            table = self._tables[module] = self._by_sls() if module == "sls" else self._by_name(module)
        return table

    def modules_of(self, target: str) -> list[str]:
        """Return the modules that have ``target`` as an ID or name, for a hint."""
        return sorted({self._drafts[number].state for number in self.table("id").get(target, ())})

    def known_names(self, module: str) -> list[str]:
        """Return the names that are texts in the table of a module, sorted."""
        names = self._sorted.get(module)
        if names is None:
            names = self._sorted[module] = sorted(name for name in self.table(module) if isinstance(name, str))
        return names

    def known_sls(self) -> list[str]:
        """Return every SLS that was rendered."""
        return [*self.table("sls"), *self._includes]

    def sls(self, name: str) -> list[int] | None:
        """Return the drafts of an SLS and what it includes; None if there is no such SLS.

        As in Salt, an included SLS counts only for the chain of includes through which it was rendered first. An SLS
        without any such draft means the drafts of everything it includes, through any chain; but globs do not.
        """
        table = self.table("sls")
        if name in table:
            return table[name]
        if name in self._includes and name not in self._included:
            closure: set[str] = set()
            stack = [name]
            while stack:
                current = stack.pop()
                if current not in closure:
                    closure.add(current)
                    stack.extend(self._includes.get(current, ()))
            self._included[name] = sorted({number for sls in closure for number in table.get(sls, ())})
        return self._included.get(name)

    def glob(self, module: str, pattern: str) -> list[int]:
        """Return the drafts whose ID or name matches. The result of each pattern is cached."""
        key = (module, pattern)
        found = self._globs.get(key)
        if found is None:
            table = self.table(module)
            match = re.compile(fnmatch.translate(pattern)).match
            names = (name for name in self._candidates(module, pattern) if match(name))
            found = self._globs[key] = sorted({number for name in names for number in table[name]})
        return found

    def _candidates(self, module: str, pattern: str) -> Iterator[str]:
        """Yield the names that begin with the literal part of a pattern."""
        prefix, *_ = _GLOB_CHARACTERS.split(pattern)
        names = self.known_names(module)
        for position in range(bisect_left(names, prefix), len(names)):
            if not names[position].startswith(prefix):
                return
            yield names[position]

    def _by_name(self, module: str) -> dict[Any, list[int]]:
        table: dict[Any, list[int]] = {}
        for number in range(len(self._drafts)) if module == "id" else self._numbers_of(module):
            draft = self._drafts[number]
            table.setdefault(draft.id, []).append(number)
            if draft.name != draft.id:
                table.setdefault(draft.name, []).append(number)
        return table

    def _numbers_of(self, module: str) -> list[int]:
        if self._of_module is None:
            self._of_module = {}
            for number, draft in enumerate(self._drafts):
                self._of_module.setdefault(draft.state, []).append(number)
        return self._of_module.get(module, [])

    def _by_sls(self) -> dict[Any, list[int]]:
        table: dict[Any, list[int]] = {}
        for number, draft in enumerate(self._drafts):
            for sls in dict.fromkeys((draft.sls, *draft.included_from)):
                table.setdefault(sls, []).append(number)
        return table


class Resolver:
    """Adds the edges of all requisites to a graph, draft by draft."""

    def __init__(
        self,
        graph: RequisiteGraph,
        high: HighData,
        findings: Findings,
        *,
        has_mod_watch: Callable[[str], bool],
        disabled: frozenset[str] = frozenset(),
    ) -> None:
        self._graph = graph
        self._findings = findings
        self._has_mod_watch = has_mod_watch
        self._disabled = disabled
        self._announced: set[str] = set()
        self._reported: set[str] = set()
        self._sets: dict[tuple[int, str, str], int] = {}
        self._own_matches: dict[tuple[int, str, str], int] = {}
        self._hints = 0
        self.index: TargetIndex = TargetIndex(graph.drafts, high.includes)

    def resolve(self) -> None:
        """Resolve every requisite of every draft, in compile order."""
        for number, draft in enumerate(self._graph.drafts):
            if not _DIRECT.keys().isdisjoint(draft.args):
                self._downgrade_watch(draft)
                self._resolve_draft(number, draft)

    def _downgrade_watch(self, draft: Draft) -> None:
        """Turn ``watch`` into ``require`` if the module has no ``mod_watch``, as it cannot watch."""
        args = draft.args
        for watch, require in (("watch", "require"), ("watch_any", "require_any")):
            watched, required = args.get(watch), args.get(require, [])
            if isinstance(watched, list) and isinstance(required, list) and not self._has_mod_watch(draft.state):
                args[require] = [*required, *args.pop(watch)]

    def _resolve_draft(self, number: int, draft: Draft) -> None:
        args = draft.args
        for key, kind in _DIRECT.items():
            references = args.get(key)
            if not references:
                continue
            if key in self._disabled:
                self._announce_disabled(key, draft)
                continue
            if not isinstance(references, list):
                message = f"The {key} statement in state '{draft.id}' in SLS '{draft.sls}' needs to be formed as a list"
                self._findings.error_at("E301", message, draft.file, draft.line_of(key))
                continue
            for reference in references:
                if isinstance(reference, str):
                    self._reference(number, draft, kind, "id", reference)
                elif isinstance(reference, dict) and len(reference) == 1:
                    module, target = next(iter(reference.items()))
                    self._reference(number, draft, kind, str(module).partition(".")[0], target)
                else:
                    for code, text in requisite_mistakes([reference], draft.id, draft.sls):
                        self._findings.error_at(code, text, draft.file, draft.line_of(key))

    def _reference(self, number: int, draft: Draft, kind: int, module: str, target: Any) -> None:
        if not isinstance(target, str):
            self._not_a_name(draft, kind, module, target)
            return
        targets = self.index.sls(target) if module == "sls" else self.index.table(module).get(target)
        if targets is None and _GLOB_CHARACTERS.search(target):
            targets = self.index.glob(module, target)
            if number in targets:
                self._own_glob(number, kind, module, target, targets)
                return
            if not targets and module == "sls":
                message = f"'sls: {target}' in state '{draft.id}' in SLS '{draft.sls}' matches no SLS"
                self._findings.warn_at("W202", message, draft.file, draft.line_of(KINDS[kind]))
                return
        elif targets is not None and not targets:
            return
        if not targets:
            self._missing(draft, kind, module, target)
            return
        key = (kind, module, target)
        if len(targets) >= SET_THRESHOLD and kind != PREREQ and key not in self._sets:
            self._sets[key] = self._graph.add_set(tuple(targets), f"{module}: {target}")
        self._wait_for(number, kind, [self._sets[key]] if key in self._sets else targets)

    def _wait_for(self, number: int, kind: int, targets: list[int]) -> None:
        for other in targets:
            if kind == PREREQ:
                self._prereq(number, other)
            else:
                self._require(number, other, kind)

    def _require(self, number: int, node: int, kind: int) -> None:
        """Make a draft wait for a node, and first its check if there is one: in that order Salt looks for cycles."""
        graph = self._graph
        if not graph.require(number, node, kind):
            return
        if graph.check_of:
            check = graph.check_of.get(number)
            if check is not None:
                graph.add_edge(node, check, kind)
        graph.add_edge(node, number, kind)

    def _prereq(self, asking: int, target: int) -> None:
        """Add the edges of one ``prereq``: the target gets a second node, its CHECK, which runs it in test mode.

            CHECK of the target ──prereq──▶ state with the prereq ──prerequired──▶ target

        In a chain (a has a prereq on b, b on c) the check of b waits for the check of c only if a is declared before b,
        as in Salt: an existing check gets the new edge, but a later one copies all edges of its target except
        ``prereq``.
        """
        graph = self._graph
        check = graph.check_of.get(target)
        if check is None:
            check = self._add_check(target)
        if not graph.require(asking, check, PREREQ):
            return
        graph.add_edge(check, asking, PREREQ)
        graph.add_edge(asking, target, PREREQUIRED)
        graph.require(target, asking, PREREQUIRED)
        own_check = graph.check_of.get(asking)
        if own_check is not None:
            graph.add_edge(check, own_check, PREREQ)

    def _add_check(self, target: int) -> int:
        """Add the CHECK node of a target. It waits for what the target waits for so far, except for its prereqs."""
        graph = self._graph
        check = graph.check_of[target] = graph.add_node(NodeKind.CHECK, target)
        for kind, node in graph.requisites_of(target):
            if kind not in (PREREQ, PREREQUIRED):
                graph.add_edge(node, check, kind)
        return check

    def _own_glob(self, number: int, kind: int, module: str, target: str, targets: list[int]) -> None:
        """Resolve a glob that matches its own state: it means all the others.

        A second state with the same glob forms a cycle with the first. One edge to the first shows it, without N more.
        """
        key = (kind, module, target)
        first = self._own_matches.setdefault(key, number)
        others = [other for other in targets if other != number] if first == number else [first]
        if len(others) >= SET_THRESHOLD and kind != PREREQ:
            others = [self._graph.add_set(tuple(others), f"{module}: {target}")]
        self._wait_for(number, kind, others)

    def _not_a_name(self, draft: Draft, kind: int, module: str, target: Any) -> None:
        key = KINDS[kind]
        if target is None:
            message = f"'{key}: {module}' in state '{draft.id}' in SLS '{draft.sls}' names nothing and is ignored"
            self._findings.warn_at("W203", message, draft.file, draft.line_of(key))
            return
        message = (
            f"Requisite [{key}: {module}] in state [{draft.name}] in SLS [{draft.sls}] must have a string as the value"
        )
        self._findings.error_at("E306", message, draft.file, draft.line_of(key), "put it in quotes")

    def _missing(self, draft: Draft, kind: int, module: str, target: str) -> None:
        message = (
            f"Referenced state does not exist for requisite [{KINDS[kind]}: ({module}: {target})] in state "
            f"[{draft.name}] in SLS [{draft.sls}]"
        )
        if message not in self._reported:
            self._reported.add(message)
            line, hint = draft.line_of(KINDS[kind]), self._hint(module, target, draft.env)
            self._findings.error_at("E305", message, draft.file, line, hint)

    def _hint(self, module: str, target: str, env: str) -> str:
        """Return which modules or which other SLS have the target, or the nearest name; else what there is to do.

        Comparing is slow, so only a few errors get it.
        """
        modules = self.index.modules_of(target) if module != "sls" else []
        if modules:
            return f"'{target}' is there, but as {', '.join(modules)}: write '- {modules[0]}: {target}'"
        self._hints += 1
        if self._hints > _HINT_LIMIT:
            return _declare(module, target)
        hint = self._sls_hint(target, env) if module == "sls" else self._state_hint(module, target, env)
        return hint or _declare(module, target)

    def _state_hint(self, module: str, target: str, env: str) -> str:
        known = self.index.known_names(module) or self.index.known_names("id")
        return self._findings.include_hint(target, env) or did_you_mean(nearest(target, known))

    def _sls_hint(self, target: str, env: str) -> str:
        near = nearest(target, self.index.known_sls())
        if near:
            return did_you_mean(near)
        hint = self._findings.nearest_sls(target, env)
        return "" if f"'{target}'" in hint else hint  # it is there, but not included

    def _announce_disabled(self, key: str, draft: Draft) -> None:
        if key not in self._announced:
            self._announced.add(key)
            message = f"The {key} requisite has been disabled, Ignoring."
            self._findings.warn_at("W201", message, draft.file, draft.line_of(key))


def _declare(module: str, target: str) -> str:
    """Return the next step where nothing resembles the target of a requisite."""
    if module == "sls":
        return f"include SLS '{target}', or remove the requisite"
    what = (
        f"a state with the ID '{target}'" if module == "id" else f"a state of '{module}' with the ID or name '{target}'"
    )
    return f"declare {what}, include the SLS that has it, or remove the requisite"
