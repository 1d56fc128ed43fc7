"""The services of a runtime, faked: templates are plain Jinja, targets are Salt's, what is asked for is written down."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.dunders import Orchestra, PluginKind, PluginModule, Services
from asyncstate.dunders.context import current
from asyncstate.errors import CommandExecutionError, FunctionNotFound, RenderError
from asyncstate.sources.matchers import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class FakeFunction(NamedTuple):
    name: str
    func: Callable[..., Any]
    doc: str = ""


class FakeModule(NamedTuple):
    name: str
    file: str


class FakePlugins:
    """Plugins of one kind: put functions by full name into ``functions``, files by module name into ``files``."""

    def __init__(self) -> None:
        self.functions: dict[str, FakeFunction] = {}
        self.files: dict[str, str] = {}

    def names(self) -> list[str]:
        return sorted(self.functions)

    def get(self, name: str, /) -> FakeFunction:
        if name not in self.functions:
            raise FunctionNotFound(name, f"'{name}' is not available.")
        return self.functions[name]

    def module(self, name: str, /) -> PluginModule | None:
        return FakeModule(name, self.files[name]) if name in self.files else None


class FakeServices(Services):
    """``renderers`` are tried before Jinja; ``data`` is what `render_data` returns, ``hosts`` are those of a fleet. Calls are kept in ``calls``."""

    def __init__(self) -> None:
        self.renderers: dict[str, Callable[[str, Mapping[str, Any]], str]] = {}
        self.data: Any = {"rendered": True}
        self.calls: list[tuple[Any, ...]] = []
        self.hosts: Orchestra | None = None
        self.of_kind: dict[PluginKind, FakePlugins] = {"modules": FakePlugins(), "states": FakePlugins()}

    def render_template(self, source: str | Path, renderer: str, context: Mapping[str, Any], saltenv: str) -> str:
        text = source.read_text() if isinstance(source, Path) else source
        if renderer in self.renderers:
            return self.renderers[renderer](text, context)
        if renderer != "jinja":
            raise RenderError(f"no fake renderer {renderer!r}")
        import jinja2

        call = current.get()
        names = {"salt": call.salt, "grains": call.grains, "pillar": call.pillar, "opts": call.base_opts}
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
        try:
            return environment.from_string(text).render({**names, "saltenv": saltenv, **context})
        except jinja2.TemplateError as error:
            raise RenderError(f"Jinja variable {error}") from error

    def render_data(
        self,
        text: str,
        *,
        default_renderer: str = "jinja|yaml",
        context: Mapping[str, Any],
        saltenv: str,
        path: str = "",
    ) -> Any:
        self.calls.append(("render_data", text, default_renderer, dict(context), saltenv, path))
        return copy.deepcopy(self.data)

    def match(self, kind: str, target: object, *, minion_id: str | None = None, delimiter: str | None = None) -> bool:
        call = current.get()
        opts = call.base_opts if minion_id is None else {**call.base_opts, "id": minion_id}
        options = {} if delimiter is None else {"delimiter": delimiter}
        return Matcher(opts, call.grains, call.pillar).match(kind, target, **options)

    def reload(self) -> None:
        self.calls.append(("reload",))

    def refresh(self, *, grains: bool, pillar: bool) -> None:
        self.calls.append(("refresh", {"grains": grains, "pillar": pillar}))

    def fire(self, tag: str, data: Mapping[str, Any]) -> bool:
        self.calls.append(("fire", tag, dict(data)))
        return True

    def orchestra(self) -> Orchestra:
        if self.hosts is None:
            raise CommandExecutionError("there is no fleet")
        return self.hosts

    def renderer_docs(self) -> dict[str, str]:
        return {name: f"doc of {name}" for name in ("jinja", *self.renderers)}

    def plugins(self, kind: PluginKind) -> FakePlugins:
        return self.of_kind[kind]

    def bridged(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        return function
