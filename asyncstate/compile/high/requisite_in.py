"""``require_in`` and the other ``_in`` requisites, ``use`` and ``use_in``: turned into additions to their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.compile.high.extend import Extension, NameIndex, apply_extensions, excluded_by_name
from asyncstate.compile.high.verify import REFERRING
from asyncstate.nearest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.high.highstate import HighData

EXPANDED = REFERRING - {"listen_in"}
"""The requisites expanded here. ``listen_in`` is not: `compile.graph.listen` resolves it."""

_NEVER_USED = frozenset(
    {*EXPANDED, "require", "watch", "prereq", "onfail", "onfail_stop", "onchanges", "name", "names"}
)
"""The arguments that ``use`` does not copy. It copies all others, even ``listen`` and ``_any`` ones, as in Salt."""

_REPEAT_LIMIT = 10_000
"""Salt adds the targets of one list again for each item that follows. So do we, as ``show lowstate`` prints them, but
not in lists so long that the repetition would cost more than the tree itself."""


def expand_requisite_in(high: HighData, findings: Findings, disabled: frozenset[str]) -> None:
    """Add to every state what other states' ``_in`` requisites, ``use`` and ``use_in`` give it."""
    expansion = _Expansion(high.data, findings, excluded_by_name(high))
    for id_, body in high.data.items():
        if not isinstance(body, dict):
            continue
        for module, arguments in body.items():
            if module.startswith("__"):
                continue
            for argument in arguments:
                if not isinstance(argument, dict):
                    continue
                key = next(iter(argument), None)
                if key not in EXPANDED:
                    continue
                if key in disabled:
                    message = f"The {key} requisite has been disabled, Ignoring."
                    findings.warn("W201", message, env=body["__env__"], sls=body["__sls__"], id_=id_)
                    continue
                expansion.expand(key, argument[key], id_, module, body)
    apply_extensions(high, expansion.extensions(), findings, strict=True, names=expansion.names)


class _Additions:
    """The additions to one target: arguments in order, and the block of each requisite among them."""

    def __init__(self) -> None:
        self.arguments: list[Any] = []
        self.blocks: dict[str, list[Any]] = {}

    def require(self, kind: str, reference: dict[str, Any]) -> None:
        block = self.blocks.get(kind)
        if block is None:
            block = self.blocks[kind] = []
            self.arguments.append({kind: block})
        block.append(reference)


class _Expansion:
    """Collects the additions of all states before any of them is applied."""

    def __init__(self, data: dict[Any, Any], findings: Findings, excluded: set[Any]) -> None:
        self._data = data
        self._findings = findings
        self._excluded = excluded
        self._by_target: dict[Any, dict[str, _Additions]] = {}
        self._origin: dict[Any, tuple[str, str, Any]] = {}
        self._by_name: dict[Any, tuple[str, Any]] | None = None
        self._by_sls: dict[Any, list[tuple[Any, str]]] | None = None
        self.names = NameIndex(data)

    def extensions(self) -> list[Extension]:
        """Return the additions in the order their targets were first named."""
        return [
            Extension(
                target,
                {module: additions.arguments for module, additions in states.items()},
                *self._origin.get(target, ("base", "base", None)),
            )
            for target, states in self._by_target.items()
        ]

    def expand(self, key: str, references: Any, id_: Any, module: str, body: dict[str, Any]) -> None:
        """Collect the additions of one requisite of one state."""
        kind = key.split("_", 1)[0]
        place = {"env": body["__env__"], "sls": body["__sls__"], "id_": id_, "state": module, "argument": key}
        if isinstance(references, dict):
            for of_module, name in references.items():
                if "." in str(of_module):
                    self._dotted(f"{kind}: {of_module} for {name}", of_module, place)
                self._require(kind, (name, str(of_module).split(".", 1)[0]), place)
            return
        targets: list[tuple[Any, str]] = []
        for of_module, name in self._pairs(references, place):
            if "." in of_module:
                self._dotted(f"{kind}: {of_module} for {name},", of_module, place)
            if of_module == "sls":
                targets = self._states_of(name)
                if not targets:
                    self._warn(f"{key} names SLS '{name}', which has no states", place)
            else:
                targets.append((name, of_module))
            for target, target_module in targets:
                if key in {"use", "use_in"}:
                    self._use((target, target_module), place)
                else:
                    self._require(kind, (target, target_module), place)
            if len(targets) * len(references) > _REPEAT_LIMIT:
                targets = []

    def _use(self, meant: tuple[Any, str], place: dict[str, Any]) -> None:
        target, target_module = meant
        key, id_, module = place["argument"], place["id_"], place["state"]
        found = self._found(target, target_module)
        if not found:
            others = [
                name for name, states in self._data.items() if isinstance(states, dict) and target_module in states
            ]
            hint = did_you_mean(nearest(str(target), map(str, others))) or f"declare it, or remove it from {key}"
            what = f"{key} names {target_module} '{target}', which is no state of this tree"
            self._warn(what, place, hint)
        for each in found:
            if key == "use_in":
                self._copy_arguments(each, target_module, id_, module)
            else:
                self._copy_arguments(id_, module, each, target_module)

    def _require(self, kind: str, meant: tuple[Any, str], place: dict[str, Any]) -> None:
        """Make a target refer to the state that named it. For a dict under ``use`` this is all that happens."""
        target, target_module = meant
        if isinstance(target, (list, dict)):
            self._illegal(target, place)
            return
        self._origin[target] = (place["env"], place["sls"], place["id_"])
        additions = self._additions(target, target_module)
        if place["sls"] not in self._excluded:
            additions.require(kind, {place["state"]: place["id_"]})

    def _dotted(self, what: str, of_module: str, place: dict[str, Any]) -> None:
        message = (
            f"Invalid requisite in {what} in SLS '{place['sls']}'. Requisites must not "
            f"contain dots, did you mean '{of_module.split('.', 1)[0]}'?"
        )
        self._findings.error("E303", message, **place)

    def _illegal(self, target: Any, place: dict[str, Any]) -> None:
        message = f'Illegal requisite "{target}" in SLS "{place["sls"]}", please check your syntax.\n'
        self._findings.error("E304", message, **place)

    def _pairs(self, references: Any, place: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield (module, ID or name) for each item of a requisite."""
        key = place["argument"]
        if not isinstance(references, list):
            self._warn(f"{key}: {references} is ignored: it needs to be a list", place)
            return
        for item in references:
            if isinstance(item, dict):
                if len(item) > 1:
                    self._warn(f"only the first of {list(item)} in one {key} item counts", place)
                if item:
                    module, name = next(iter(item.items()))
                    if isinstance(name, (list, dict)):
                        self._illegal(name, place)
                        continue
                    yield str(module), name
            elif isinstance(item, list):
                self._illegal(item, place)
            else:
                found = self._plain(item)
                if found is None:
                    self._warn(f"{key} names '{item}', which is no state of this tree", place)
                else:
                    yield found

    def _plain(self, name: Any) -> tuple[str, Any] | None:
        """Resolve a bare target: an ID means its first state, any other text the first state with that ``name``."""
        body = self._data.get(name)
        if isinstance(body, dict):
            module = next((module for module in body if not module.startswith("__")), None)
            return (module, name) if module is not None else None
        if self._by_name is None:
            self._by_name = {}
            for id_, module, argument in self._all_arguments():
                if isinstance(argument, dict) and isinstance(argument.get("name"), str):
                    self._by_name.setdefault(argument["name"], (module, id_))
        return self._by_name.get(name)

    def _states_of(self, sls: Any) -> list[tuple[Any, str]]:
        if self._by_sls is None:
            self._by_sls = {}
            for id_, body in self._data.items():
                if isinstance(body, dict):
                    states = self._by_sls.setdefault(body.get("__sls__"), [])
                    states.extend((id_, module) for module in body if not module.startswith("__"))
        return list(self._by_sls.get(sls, ()))

    def _all_arguments(self) -> Iterator[tuple[Any, str, Any]]:
        for id_, body in self._data.items():
            if isinstance(body, dict):
                for module, arguments in body.items():
                    if not module.startswith("__"):
                        for argument in arguments:
                            yield id_, module, argument

    def _additions(self, target: Any, module: str) -> _Additions:
        states = self._by_target.setdefault(target, {})
        additions = states.get(module)
        if additions is None:
            additions = states[module] = _Additions()
        return additions

    def _copy_arguments(self, receiver: Any, receiver_module: str, giver: Any, giver_module: str) -> None:
        """Copy to one state the arguments of another that it does not have itself."""
        taken = {
            next(iter(argument))
            for argument in self._data[receiver][receiver_module]
            if isinstance(argument, dict) and len(argument) == 1
        }
        additions = self._additions(receiver, receiver_module)
        for argument in self._data[giver][giver_module]:
            if isinstance(argument, dict) and len(argument) == 1:
                key = next(iter(argument))
                if key not in _NEVER_USED and key not in taken:
                    additions.arguments.append(argument)
                    self._findings.copied.add((receiver, receiver_module, key))

    def _found(self, name: Any, module: str) -> list[Any]:
        body = self._data.get(name)
        if isinstance(body, dict) and module in body:
            return [name]
        return self.names.find(name, module)

    def _warn(self, message: str, place: dict[str, Any], hint: str = "") -> None:
        text = f"{message} (state '{place['id_']}' in SLS '{place['sls']}')"
        self._findings.warn("W204", text, **place, hint=hint)
