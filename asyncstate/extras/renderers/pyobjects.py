"""The ``pyobjects`` renderer: an SLS that is a Python program whose calls declare states.

``Pkg.installed("nginx")`` declares a state, ``Pkg("nginx", "watch_in")`` refers to one, and either in a ``with``
statement is a requisite of every state declared in its body. ``include(…)`` and ``extend("id")`` do what the keys of
that name do in YAML. ``from salt://x.sls import Y`` imports names from another such program, whose states do not count.
A class that inherits from ``Map`` has the attributes of its inner classes that match this machine's grains.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from types import CodeType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from asyncstate.data.urls import SALT_SCHEME
from asyncstate.errors import RenderError, RunCancelled
from asyncstate.logs import get_logger
from asyncstate.model.requisite import REFERENCES
from asyncstate.render import text_for
from asyncstate.render.py import failed_at, program_error
from asyncstate.salt_compat import PROGRAM_BUILTINS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from asyncstate.render.context import RenderContext

logger: Final = get_logger(__name__)

_IMPORT: Final = re.compile(r"\s*import\s+(?P<url>salt://\S+)\s*$")
_FROM: Final = re.compile(r"\s*from\s+(?P<url>salt://\S+)\s+import\s+(?P<names>.*)$")
_INNER_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")
_REQUISITES: Final = frozenset(REFERENCES)
_MODULE_NAME: Final = __name__  # a name in `sys.modules`, where dataclasses look up their module


def render(data: Any, _argline: str, context: RenderContext, _run: object) -> dict[str, Any]:
    """Run the program and return the high data of the states it declares.

    It sees a name for each state module (``PostgresUser`` for ``postgres_user``), ``salt``, ``pillar``, ``grains``,
    ``mine`` and ``config`` (the ``get`` functions of these modules), ``__salt__``, ``__pillar__``, ``__grains__``,
    ``__opts__`` and ``__sls__``. Any exception becomes a RenderError with its line.
    """
    text = text_for("pyobjects", data)
    path = context.path or "<pyobjects>"
    declared = _Declarations()
    programs = _Programs(context, declared)
    try:
        programs.run(text, path)
    except (RunCancelled, RenderError):
        raise
    except (Exception, SystemExit) as error:
        raise program_error(error, text, path) from error
    return declared.high_data()


class _Declarations:
    """The declarations of a program so far, and the requisites of the open ``with`` statements."""

    def __init__(self) -> None:
        self.states: dict[str, dict[str, list[Any]]] = {}
        self.extends: dict[str, dict[str, list[Any]]] = {}
        self.includes: list[Any] = []
        self.around: list[_Requisite] = []
        self.open = True

    def include(self, *names: Any) -> None:
        """Include other SLS."""
        if self.open:
            self.includes += names

    def add(self, identifier: str | _Extend, function: str, arguments: dict[str, Any]) -> None:
        """Declare a state, with the requisites of the open ``with`` statements."""
        if not self.open:
            return
        name = identifier.name if isinstance(identifier, _Extend) else identifier
        states = (self.extends if isinstance(identifier, _Extend) else self.states).setdefault(name, {})
        if function in states:
            raise ValueError(f"A state with id ''{name}'', type ''{function}'' exists")
        for requisite in self.around:
            arguments.setdefault(requisite.kind, []).append(requisite.data())
        states[function] = [{key: arguments[key]} for key in sorted(arguments)]

    def high_data(self) -> dict[str, Any]:
        """Return the high data, as an SLS in YAML would."""
        data: dict[str, Any] = dict(self.states)
        if self.includes:
            data["include"] = self.includes
        if self.extends:
            data["extend"] = self.extends
        return data


class _Extend:
    """An ID of another SLS that is being extended."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Requisite:
    """A state as a requisite: a value for ``require`` and the like, or the head of a ``with`` statement."""

    def __init__(self, declared: _Declarations, kind: str, module: str, identifier: Any) -> None:
        self._declared = declared
        self.kind = kind
        self.module = module
        self.id_ = identifier.name if isinstance(identifier, _Extend) else identifier

    def data(self) -> dict[str, Any]:
        """Return the requisite as in YAML."""
        return {self.module: self.id_}

    def __enter__(self) -> None:
        self._declared.around.append(self)

    def __exit__(self, *_error: object) -> None:
        self._declared.around.pop()


class _State(_Requisite):
    """A declared state, which is also a requisite; in Salt it is its attribute ``requisite``."""

    @property
    def requisite(self) -> _Requisite:
        """The state as a requisite."""
        return self


class _StateModule:
    """A state module: ``File.managed("/x", mode="0600")`` declares a state, ``File("/x")`` refers to one."""

    def __init__(self, declared: _Declarations, module: str, known: Container[str] | None) -> None:
        self._declared = declared
        self._module = module
        self._known = known

    def __getattr__(self, function: str) -> Any:
        name = f"{self._module}.{function}"
        if self._known is not None and name not in self._known:
            raise AttributeError(f"The function '{function}' does not exist in the StateFactory for '{self._module}'")

        def declare(id_: Any, **arguments: Any) -> _State:
            for key in arguments.keys() & _REQUISITES:
                arguments[key] = _as_requisites(arguments[key])
            self._declared.add(id_, name, arguments)
            return _State(self._declared, "require", self._module, id_)

        return declare

    def __call__(self, id_: Any, requisite: str = "require") -> _Requisite:
        return _Requisite(self._declared, requisite, self._module, id_)


def _as_requisites(value: Any) -> list[Any]:
    """Return a requisite's targets as a list."""
    targets = list(value) if isinstance(value, (list, tuple, set)) else [value]
    return [target.data() if isinstance(target, _Requisite) else target for target in targets]


class _Programs:
    """Runs a program, after the programs that it imports from ``salt://``."""

    def __init__(self, context: RenderContext, declared: _Declarations) -> None:
        self._context = context
        self._declared = declared
        self._given = _names(context, declared)

    def run(self, text: str, path: str, *, imported: bool = False) -> dict[str, Any]:
        """Run a program and return the names that it defines. The states of an ``imported`` one are dropped."""
        namespace = {**self._given, "__name__": _MODULE_NAME, "__file__": path, "__builtins__": PROGRAM_BUILTINS}
        lines = text.split("\n")
        for at, line in enumerate(lines):
            found = _IMPORT.match(line) or _FROM.match(line)
            if found is not None:
                lines[at] = ""  # the program keeps its line numbers
                try:
                    namespace.update(self._imported(**found.groupdict()))
                except ImportError as error:
                    raise failed_at(at + 1, error, text, path) from error
        code = compile("\n".join(lines), path, "exec")
        for name in _names_in(code):
            if name not in namespace and (module := self._state_module(name)) is not None:
                namespace[name] = module
        self._declared.open = not imported
        exec(code, namespace)  # noqa: S102 - running it is what this renderer is for
        return namespace

    def _imported(self, url: str, names: str | None = None) -> dict[str, Any]:
        """Return the names that one import of ``salt://`` defines in the importing program."""
        path = self._context.fileclient.find(url.removeprefix(SALT_SCHEME), self._context.saltenv)
        if path is None:
            raise ImportError(f"Could not find the file '{url}'")
        text = self._context.fileclient.read(path).decode()
        try:
            there = self.run(text, path, imported=True)
        except (RunCancelled, RenderError):
            raise
        except (Exception, SystemExit) as error:
            raise program_error(error, text, path) from error
        if names is None:
            return {posixpath.splitext(posixpath.basename(path))[0]: SimpleNamespace(**there)}
        taken = {}
        for item in names.split(","):
            name, _, alias = (part.strip() for part in item.strip().partition(" as "))
            if name not in there:
                raise ImportError(f"'{name}' was not found in '{url}'")
            taken[alias or name] = there[name]
        return taken

    def _state_module(self, name: str) -> _StateModule | None:
        """Return the state module for a name in camel case.

        A program may use a module that is not available here, as in YAML: the rows of its states then report that.
        """
        module = _INNER_CAPITAL.sub("_", name).lower()
        if name in PROGRAM_BUILTINS or "".join(part.capitalize() for part in module.split("_")) != name:
            return None
        known = self._context.states
        return _StateModule(self._declared, module, known if getattr(known, module, None) is not None else None)


def _names_in(code: CodeType) -> Iterator[str]:
    """Yield the names that a program looks up, also in its functions and classes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _names(context: RenderContext, declared: _Declarations) -> dict[str, Any]:
    salt = context.salt

    class Map(metaclass=_MapType):
        """Attributes chosen by grains: of each inner class whose ``__grain__`` equals its ``__match__`` or name."""

        __salt__ = salt

    shortcuts = {
        name: salt[f"{name}.get"] for name in ("pillar", "grains", "mine", "config") if f"{name}.get" in context.salt
    }
    return {
        "include": declared.include,
        "extend": _Extend,
        "Map": Map,
        "salt": salt,
        **shortcuts,
        "__salt__": context.salt,
        "__pillar__": context.pillar,
        "__grains__": context.grains,
        "__opts__": context.opts,
        "__sls__": context.sls,
        **context.extra,
    }


class _MapType(type):
    """Sets the attributes of a class that inherits from ``Map`` when it is defined."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        salt: Mapping[str, Any] = cls.__salt__  # type: ignore[attr-defined]  # every Map has it
        choices = _by_priority(list(_choices(namespace)), getattr(cls, "priority", ()))
        chosen: dict[str, Any] = {}
        if choices:
            grains = salt["grains.item"](*sorted({grain for grain, _, _ in choices}))
            for grain, wanted, attributes in choices:
                if grain in grains and grains[grain] == wanted:
                    chosen.update(attributes)
        if hasattr(cls, "merge"):
            chosen.update(salt["pillar.get"](cls.merge) or {})
        for key, value in chosen.items():
            setattr(cls, key, value)


_Choice = tuple[str, Any, dict[str, Any]]


def _choices(namespace: Mapping[str, Any]) -> Iterator[_Choice]:
    """Yield the grain, its value and the attributes of each inner class."""
    for name, inner in namespace.items():
        if not name.startswith("_") and inspect.isclass(inner):
            attributes = {key: value for key, value in vars(inner).items() if not key.startswith("_")}
            yield getattr(inner, "__grain__", "os_family"), getattr(inner, "__match__", name), attributes


def _by_priority(choices: list[_Choice], priority: Any) -> list[_Choice]:
    """Put the choices by the grains of ``priority`` first, in its order; later choices override earlier ones."""
    if not hasattr(priority, "__iter__"):
        logger.error("pyobjects: priority must be an iterable")
        return choices
    ranks = list(priority)
    return sorted(choices, key=lambda choice: ranks.index(choice[0]) if choice[0] in ranks else len(ranks))
