"""``listen`` and ``listen_in``: no edges, but chunks that run ``mod_watch`` after all others, each with its targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.compile.graph.assemble import Listening
from asyncstate.model.chunk import state_tag
from asyncstate.nearest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.low.lowstate import Draft

_ERROR = "Listen_Error"
_KEYS = frozenset({"listen", "listen_in"})


def resolve_listeners(drafts: Sequence[Draft], serial: Sequence[int], findings: Findings) -> Listening:
    """Resolve every ``listen`` and ``listen_in``. ``serial``: draft numbers in serial order."""
    found = _Listeners(drafts, serial, findings)
    for number in serial:
        if not _KEYS.isdisjoint(drafts[number].args):
            found.resolve(drafts[number])
    return found.listening


class _Listeners:
    def __init__(self, drafts: Sequence[Draft], serial: Sequence[int], findings: Findings) -> None:
        self.listening = Listening()
        self._drafts = drafts
        self._findings = findings
        self._known: dict[tuple[str, Any], list[int]] = {}
        self._first: dict[Any, int] = {}
        for number in serial:
            draft = drafts[number]
            for name in {draft.id: None, draft.name: None}:
                self._known.setdefault((draft.state, name), []).append(number)
                self._first.setdefault(name, number)

    def resolve(self, draft: Draft) -> None:
        for module, target in self._references(draft, "listen"):
            self._listen(draft.state, draft.id, self._targets(module, target))
            self._require_known(draft, "listen", module, target)
        for module, listener in self._references(draft, "listen_in"):
            self._listen(module, listener, self._targets(draft.state, draft.id))
            self._require_known(draft, "listen_in", module, listener)

    def _references(self, draft: Draft, key: str) -> Iterator[tuple[str, Any]]:
        """Yield (module, ID or name) of each item. A bare ID or name means the first state that has it."""
        references = draft.args.get(key)
        if references and not isinstance(references, (dict, list)):
            self._warn(draft, f"{key}: {references} is ignored: it needs to be a list")
            return
        for item in [references] if isinstance(references, dict) else references or ():
            if isinstance(item, dict):
                for module, target in item.items():
                    if isinstance(target, (dict, list)):
                        message = f'Illegal requisite "{target}" in SLS "{draft.sls}", please check your syntax.\n'
                        self._findings.error_at("E304", message, draft.file, draft.line)
                    else:
                        yield str(module), target
            elif isinstance(item, str):
                number = self._first.get(item)
                if number is None:
                    self._warn(draft, f"{key} names '{item}', which is no state of this tree")
                else:
                    yield self._drafts[number].state, self._drafts[number].id
            else:
                self._warn(draft, f"{key}: {item} is ignored: it needs to be a module and its target")

    def _targets(self, module: str, target: Any) -> tuple[int, ...]:
        numbers = self._known.get((module, target), ())
        if not numbers:
            tag, row = _error_row(module, target)
            self.listening.rows[tag] = row
        return tuple(numbers)

    def _listen(self, module: str, name: Any, targets: tuple[int, ...]) -> None:
        if not targets:
            return
        listeners = self._known.get((module, name), ())
        if not listeners:
            self.listening.broken.append((targets, *_error_row(module, name)))
        self.listening.listeners.extend((listener, targets) for listener in listeners)

    def _require_known(self, draft: Draft, key: str, module: str, name: Any) -> None:
        """Note a name that no state has: a run makes a failed row of it, and others go on."""
        if (module, name) in self._known:
            return
        message = (
            f"Referenced state does not exist for requisite [{key}: ({module}: {name})] in state [{draft.name}] in SLS "
            f"[{draft.sls}]"
        )
        near = did_you_mean(nearest(str(name), [str(known) for own, known in self._known if own == module]))
        others = [own for own, known in self._known if known == name]
        hint = f"'{name}' is there, but as {others[0]}: write '- {others[0]}: {name}'" if others else ""
        hint = hint or near or self._findings.include_hint(name, draft.env)
        hint = hint or f"declare it, or remove it from {key}"
        self._findings.noted("E305", message, draft.file, draft.line_of(key), hint, mistake=True)

    def _warn(self, draft: Draft, what: str) -> None:
        message = f"{what} (state '{draft.id}' in SLS '{draft.sls}')"
        self._findings.warn_at("W204", message, draft.file, draft.line)


def _error_row(module: str, name: Any) -> tuple[str, dict[str, Any]]:
    row = {
        "comment": f"Referenced state {module}: {name} does not exist",
        "name": f"listen_{module}:{name}",
        "result": False,
        "changes": {},
    }
    return state_tag(_ERROR, f"listen_{name}", f"listen_{module}", _ERROR), row
