"""Requisites on states of other hosts: ``- require: [{host: db1, service: postgresql}]``.

They are taken out of high data, as nothing on this host can resolve them. A reference with the name of this host is an
ordinary one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.model.requisite import HOST, IN_SUFFIXED, RemoteRequisite, RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.high.highstate import HighData
    from asyncstate.model.chunk import LowChunk

_IN = {word: word.removesuffix("_in") for word in IN_SUFFIXED}
_KINDS = {kind.value for kind in RequisiteKind} - {RequisiteKind.PREREQUIRED.value}
_KEYS = frozenset({*_KINDS, *_IN, "use"})

RemoteReferences = dict[tuple[Any, str], list[RemoteRequisite]]
"""The references of each ID and state module; the chunk of each is not known yet."""


def take_remote(
    high: HighData,
    findings: Findings,
    *,
    own: str,
    refused: bool,
    disabled: frozenset[str] = frozenset(),
) -> RemoteReferences:
    """Remove and return the references to states of other hosts than ``own``.

    Each that is malformed is an error, and so is each at all if they are ``refused``.
    """
    found: RemoteReferences = {}
    if not isinstance(high.data, dict):
        return found
    for id_, body in high.data.items():
        if not isinstance(body, dict):
            continue
        for module, arguments in body.items():
            if type(arguments) is not list:
                continue
            for place, argument in enumerate(arguments):
                if type(argument) is dict and _names_hosts(argument):
                    taker = _Taker(findings, id_, module, body, own=own, refused=refused)
                    kept = taker.without_remote(argument, disabled)
                    arguments = body[module] = [*arguments[:place], kept, *arguments[place + 1 :]]
                    if taker.found:
                        found.setdefault((id_, module.partition(".")[0]), []).extend(taker.found)
    return found


def _names_hosts(argument: dict[Any, Any]) -> bool:
    for key, references in argument.items():
        if key in _KEYS and type(references) is list:
            for reference in references:
                if type(reference) is dict and HOST in reference and len(reference) > 1:
                    return True
    return False


class _Taker:
    """Looks at the references of one argument of a state."""

    def __init__(
        self, findings: Findings, id_: Any, module: str, body: Mapping[str, Any], *, own: str, refused: bool
    ) -> None:
        self.found: list[RemoteRequisite] = []
        self._findings = findings
        self._id = id_
        self._sls = body.get("__sls__", "")
        self._place = findings.place(body.get("__env__", "base"), self._sls, id_, module)
        self._own = own
        self._refused = refused

    def without_remote(self, argument: dict[Any, Any], disabled: frozenset[str]) -> dict[Any, Any]:
        """Return the argument without references to other hosts."""
        kept = dict(argument)
        for key, references in argument.items():
            if key in _KEYS and type(references) is list:
                kept[key] = []
                for reference in references:
                    if type(reference) is dict and HOST in reference and len(reference) > 1:
                        local = self._take(key, reference, disabled)
                        if local is not None:
                            kept[key].append(local)
                    else:
                        kept[key].append(reference)
        return kept

    def _take(self, key: str, reference: dict[Any, Any], disabled: frozenset[str]) -> dict[Any, Any] | None:
        """Take a reference. Return it without its host if that is this one."""
        hosts = reference[HOST]
        named = {module: target for module, target in reference.items() if module != HOST}
        if type(hosts) is not str or not hosts.strip():
            self._wrong(key, reference, "'host' needs a host's name or a target expression as its value")
        elif len(named) != 1:
            self._wrong(key, reference, f"it names {len(named)} states; write an item for each")
        elif hosts == self._own:
            return named
        elif key in {"use", "use_in"}:
            self._wrong(key, reference, "arguments of states do not leave their host; write them out")
        else:
            [(module, target)] = named.items()
            if type(module) is not str or type(target) is not str:
                self._wrong(key, reference, "a state is named by its module, 'id' or 'sls', and text")
            elif self._refused:
                message = f"{self._what(key, reference)} names a state of another host"
                hint = f"'{HOST}:' needs `asyncstate fleet apply`, which runs many hosts as one"
                self._findings.error_at("E308", message, *self._place, hint)
            elif key not in disabled:
                kind, reverse = (_IN[key], True) if key in _IN else (key, False)
                module = module.partition(".")[0]
                self.found.append(RemoteRequisite(-1, kind, hosts, module, target, reverse, *self._place))
        return None

    def _what(self, key: str, reference: dict[Any, Any]) -> str:
        written = ", ".join(f"{name}: {value}" for name, value in reference.items())
        return f"'{key}: {{{written}}}' in state '{self._id}' in SLS '{self._sls}'"

    def _wrong(self, key: str, reference: dict[Any, Any], why: str) -> None:
        self._findings.error_at(
            "E309",
            f"{self._what(key, reference)} is no requisite on another host: {why}",
            *self._place,
            hint=f"for example: - {key}: [{{{HOST}: db1, service: postgresql}}]",
        )


def remote_requisites(
    references: RemoteReferences, chunks: Sequence[LowChunk], *, can_watch: Callable[[str], bool]
) -> tuple[RemoteRequisite, ...]:
    """Return the references of all chunks, in serial order. A module that cannot watch requires in its place."""
    if not references:
        return ()
    found: list[RemoteRequisite] = []
    for chunk in chunks:
        for each in references.get((chunk.id, chunk.state), ()):
            kind = each.kind
            if not each.reverse and kind.startswith("watch") and not can_watch(chunk.state):
                kind = kind.replace("watch", "require")
            found.append(
                RemoteRequisite(chunk.index, kind, each.hosts, each.key, each.value, each.reverse, each.file, each.line)
            )
    return tuple(found)
