"""The plugin host of one runtime, with its renderers, targets, grains and pillar."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from asyncstate.data.merging import independent
from asyncstate.dunders import Orchestra, PluginKind, Services
from asyncstate.dunders.context import current
from asyncstate.errors import CommandExecutionError, ConfigError, LoaderError, RenderError
from asyncstate.load.host import PluginHost
from asyncstate.render import RenderContext, built_in, render_sls, render_text
from asyncstate.sources import grains as grains_source
from asyncstate.sources import noted_phases, rendering
from asyncstate.sources.fileclient import LocalFileClient, OtherTexts, SlsFile, noted_reads
from asyncstate.sources.pillar import compile_pillar
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from asyncstate.config import Settings
    from asyncstate.load.loader import LazyLoader
    from asyncstate.model.event import Phase
    from asyncstate.redact import Secrets
    from asyncstate.render import Rendered
    from asyncstate.render.context import Restraint
    from asyncstate.render.kept import Kept
    from asyncstate.sources.fileclient import FileClient
    from asyncstate.sources.held import HeldFiles
    from asyncstate.sources.matchers import Matcher


_NO_FLEET: Final = (
    "this reaches the hosts of a fleet, and is here without one: run it with `asyncstate fleet orchestrate SLS --creds "
    "operator.creds --nats URL`"
)


def _text_of(path: os.PathLike[str]) -> str:
    from asyncstate.filesystem import open_text  # noqa: PLC0415 - only a run renders files that are not in a root

    with open_text(str(path)) as file:
        return file.read()


def _another_machine() -> Any:
    from asyncstate import extend  # noqa: PLC0415 - seldom asked for

    return extend.provided("machine", "--for-machine (grains_alone)")()


def _restraint_of(settings: Settings) -> Restraint | None:
    if not settings.grains_alone:
        return None
    if type(given := settings.grains_override.get("id")) not in (str, int) or not given:
        raise ConfigError(
            "grains_alone: the grains of another machine need its ID: add a line such as 'id: web1' to the file"
        )
    machine: Restraint = _another_machine()
    return machine


class Events(Protocol):
    """Fires events of this host."""

    async def fire(self, tag: str, data: Mapping[str, Any]) -> None:
        """Fire an event. Returns once it is stored. Raises FleetError."""


class TreeElsewhere(Protocol):
    """A tree on another machine. Both methods may be called from any thread, and block."""

    @property
    def files(self) -> FileClient:
        """The files of the tree; the files it finds are on this machine."""

    def pillar(self, grains: Mapping[str, Any], override: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
        """Return the pillar of a host with these grains, with ``override`` merged over it, and add its secrets.

        Raises PillarError.
        """


class Renderings(Protocol):
    """Earlier renderings of SLS files of this tree and its pillar."""

    def of(
        self,
        file: SlsFile,
        extra: Mapping[str, Any],
        *,
        pillar: Mapping[str, Any],
        grains: Mapping[str, Any],
        read: Callable[[str], bytes],
        render: Callable[[], Rendered],
    ) -> Rendered:
        """Return an earlier rendering of a file, or what ``render`` returns; ``read`` returns any file of its tree."""


class Embedding(Value):
    """The parts of the engine that a product around it replaces; the defaults are a runtime of its own.

    ``events`` fires this host's; ``orchestra`` has the hosts that an operator orchestrates. ``tree`` replaces
    the roots in the settings; ``texts`` replace files of the tree and the pillar, by path, such as an editor's unsaved
    ones. ``restraint`` restricts the functions that templates call; ``renderings`` are asked before an SLS is
    rendered. ``lock_dir`` has the run lock if ``cachedir`` is not shared with other runs.
    """

    events: Events | None = None
    orchestra: Orchestra | None = None
    tree: TreeElsewhere | None = None
    texts: Mapping[str, str] | None = None
    restraint: Restraint | None = None
    renderings: Renderings | None = None
    lock_dir: str = ""


class RuntimeServices(Services):
    """The services of one runtime, and the plugin host whose plugins they are for.

    ``states`` are state functions of the host application by ``module.function``; ``secrets`` are the values to hide.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        states: Mapping[str, Callable[..., Any]] | None = None,
        secrets: Secrets,
        embedding: Embedding | None = None,
    ) -> None:
        opts = settings.opts() | {"pillar": {}}  # as in Salt, pillar files do not see what is merged over them
        self._embedding = around = embedding or Embedding()
        self.file_client: FileClient = LocalFileClient.from_opts(opts) if around.tree is None else around.tree.files
        self._pillar_client: FileClient = LocalFileClient.from_opts(opts, "pillar_roots")
        if around.texts:
            self.file_client = OtherTexts(self.file_client, around.texts)
            self._pillar_client = OtherTexts(self._pillar_client, around.texts)
        self.held: HeldFiles | None = None
        self._release: list[Callable[[], None]] = []
        self._pillar_files: dict[str, str] = {}
        self._settings = settings
        self._secrets = secrets
        self._restraint = around.restraint or _restraint_of(settings)
        self._phases: list[Phase] = []
        self._kept: Kept | None = None
        self.host: PluginHost = PluginHost(
            opts, file_client=self.file_client, extra_states=states, services=self, secrets=secrets
        )

    # for plugins

    def render_template(self, source: str | Path, renderer: str, context: Mapping[str, Any], saltenv: str) -> str:
        """Render for a plugin, with the renderers and the data of this runtime."""
        text, path = (_text_of(source), str(source)) if isinstance(source, os.PathLike) else (source, "")
        path = path if self.held is None else self.held.original(path)
        try:
            return str(render_text(text, self._plugin_context(context, saltenv, path, text), renderer))
        except RenderError as error:
            call = current.get(None)
            if call is not None:
                file = error.file or str(context.get("source") or "")
                call.unrendered = file, error.line, str(error).partition("\n")[0]
            raise

    def render_data(
        self,
        text: str,
        *,
        default_renderer: str = "jinja|yaml",
        context: Mapping[str, Any],
        saltenv: str,
        path: str = "",
    ) -> Any:
        """Render and parse for a plugin, with the renderers and the data of this runtime."""
        pipe = None if text.startswith("#!") else default_renderer
        render_context = self._plugin_context(context, saltenv, path, text).replaced(ordered=True)
        return render_text(text, render_context, pipe, template_env="jinja_sls_env")

    def match(self, kind: str, target: object, *, minion_id: str | None = None, delimiter: str | None = None) -> bool:
        """Match a target against the ID, the node groups, the grains and the pillar of this runtime."""
        matcher = self.matcher(minion_id)
        if kind not in matcher.kinds:
            raise LoaderError(f"there is no target type {kind!r}; it is one of {', '.join(sorted(matcher.kinds))}")
        return matcher.match(kind, target, **({} if delimiter is None else {"delimiter": delimiter}))

    def require_callable(self, function: str, args: Sequence[Any]) -> None:
        """Raise ConfigError if the settings are another machine's, and the call would run on this one."""
        if self._settings.grains_alone:
            _another_machine().require(function, args, self.host.salt)

    def reload(self) -> None:
        """Let the host forget all loaded plugins."""
        self.host.reload()

    def refresh(self, *, grains: bool, pillar: bool) -> None:
        """Gather grains, then render the pillar, and give them to the host. Raises PillarError."""
        self._phases = []
        if grains:
            with noted_phases("grains") as phases:
                self._gather_grains()
            self._phases += phases
        if pillar:
            with noted_phases("pillar") as phases, noted_reads() as files:
                self._render_pillar()
            self._pillar_files = files
            self._phases += phases

    def _gather_grains(self) -> None:
        custom = {name: self.host.grains_functions[name] for name in self.host.grains_functions}
        override = self._settings.grains_override
        self.host.set_grains(grains_source.gather(self._settings.opts(), custom, override))

    def _render_pillar(self) -> None:
        if (tree := self._embedding.tree) is not None:
            pillar = tree.pillar(self.host.grains, self._settings.pillar, self._secrets)
        else:
            pillar = compile_pillar(
                self.host.opts,
                self.host.grains,
                self._pillar_client,
                lambda file, extra: self.render_sls(file, extra, self._pillar_client),
                self._settings.pillar,
            )
        self.host.set_pillar(pillar)

    def hold(self, contents: dict[str, str], plugins: Mapping[str, str]) -> None:
        """Pin the files of the tree to the compared content, and those of the pillar to the rendered content.

        ``contents`` are the sha256 of the files of the tree, ``plugins`` the same of its plugins, by path.
        """
        from asyncstate.sources.held import HeldCopies, HeldFiles  # noqa: PLC0415 - few runs are of a saved plan

        cachedir = self._settings.cachedir
        self.file_client = self.held = held = HeldFiles(self.file_client, contents, cachedir, plugins)
        self._pillar_client = HeldFiles(self._pillar_client, dict(self._pillar_files), cachedir)
        self.host.set_file_client(HeldCopies(held), held)
        self._release += [held.release, self._pillar_client.release]

    def release(self) -> None:
        """Remove the copies of held files, and forget the results of renderings."""
        while self._release:
            self._release.pop()()
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def take_phases(self) -> tuple[Phase, ...]:
        """Return the phases of the last refresh, for the first plan that is made after it; () afterwards."""
        taken, self._phases = tuple(self._phases), []
        return taken

    def fire(self, tag: str, data: Mapping[str, Any]) -> bool:
        """Fire an event in the name of this host; False if it is in no fleet."""
        if (events := self._embedding.events) is None:
            return False
        self.host.bridged(events.fire, "event.fire")(
            self._secrets.redactor.text(tag), self._secrets.redactor.value(dict(data))
        )
        return True

    def orchestra(self) -> Orchestra:
        """Return the hosts of the fleet. Raises CommandExecutionError if there are none."""
        if self._embedding.orchestra is None:
            raise CommandExecutionError(_NO_FLEET)
        return self._embedding.orchestra

    def renderer_docs(self) -> dict[str, str]:
        """Return the documentation of the renderers."""
        own = self.host.loaders["renderers"]
        return built_in() | {name.removesuffix(".render"): own.get(name).doc for name in own.names()}

    def plugins(self, kind: PluginKind) -> LazyLoader:
        """Return the loader."""
        return self.host.loaders[kind]

    def bridged(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Let the host bridge between its threads and its event loop."""
        return self.host.bridged(function, name)

    # for the compiler

    def matcher(self, minion_id: str | None = None) -> Matcher:
        """Return a matcher of targets for this machine, under the ID ``minion_id`` if given."""
        from asyncstate.sources.matchers import Matcher  # noqa: PLC0415 - only top files and plugins name targets

        opts = self.host.opts if minion_id is None else {**self.host.opts, "id": minion_id}
        return Matcher(opts, self.host.grains, self.host.pillar)

    def render_sls(
        self,
        file: SlsFile,
        extra: Mapping[str, Any],
        client: FileClient,
        rendered: set[str] | None = None,
        pillar: Mapping[str, Any] | None = None,
    ) -> Rendered:
        """Render an SLS of ``client``. ``pillar`` replaces this host's. Raises RenderError.

        ``rendered`` holds the SLS files rendered so far for one compilation; this one is added.
        """
        render = partial(self._rendered, file, extra, client, rendered, pillar)
        if (renderings := self._embedding.renderings) is None:
            return render()
        host = self.host
        return renderings.of(file, extra, pillar=host.pillar, grains=host.grains, read=client.read, render=render)

    def render_file(self, path: str) -> Rendered:
        """Render a file of any folder as an SLS is. Raises RenderError."""
        name = os.path.basename(path)
        return self.render_sls(SlsFile(name, "base", path, name), {}, self.file_client)

    def _rendered(
        self,
        file: SlsFile,
        extra: Mapping[str, Any],
        client: FileClient,
        rendered: set[str] | None,
        pillar: Mapping[str, Any] | None,
    ) -> Rendered:
        with (
            rendering(file.sls or os.path.basename(file.path)),
            self.host.enter(env=file.saltenv, sls=file.sls) as call,
        ):
            context = self._render_context(client, call.env, file, extra, rendered)
            if self._restraint is not None and self._restraint.deep:
                call.salt = context.salt
            return render_sls(file, context if pillar is None else context.replaced(pillar=pillar))

    # both

    def _render_context(
        self,
        client: FileClient,
        saltenv: str,
        file: SlsFile | None,
        extra: Mapping[str, Any],
        rendered: set[str] | None = None,
    ) -> RenderContext:
        restraint, functions = self._restraint, self.host.salt
        path = file.path if file is not None else ""
        is_of_tree = client is self.file_client and not self._embedding.texts and self._relative(path, saltenv)
        return RenderContext(
            salt=functions if restraint is None else restraint.functions(functions, path),
            grains=self.host.grains,
            pillar=extra.get("pillar", self.host.pillar),
            opts=self.host.opts,
            fileclient=client,
            sls=file.sls if file is not None else "",
            saltenv=saltenv,
            file=file,
            extra=extra,
            renderers=self.host.renderers,
            secrets=self._secrets,
            rendered_sls=rendered if rendered is not None else set(),
            ordered=client is self._pillar_client,
            states=self.host.states,
            restraint=restraint,
            kept=self._kept_results if is_of_tree else None,
        )

    def _plugin_context(self, variables: Mapping[str, Any], saltenv: str, path: str, text: str) -> RenderContext:
        """Return the context of a text that a plugin renders.

        A text that may change the pillar gets a copy, so that no other code sees the change. A copy for every text
        would cost more than the rendering.
        """
        file = SlsFile("", saltenv, path, self._relative(path, saltenv) or path.lstrip("/")) if path else None
        context = self._render_context(self.file_client, saltenv, file, variables)
        if "pillar" in text and " do " in text and context.pillar is self.host.pillar:
            return context.replaced(pillar=independent(context.pillar))
        return context

    def _relative(self, path: str, saltenv: str) -> str:
        """Return a path relative to its file root, from which its imports of templates are resolved; "" without one."""
        for root in self.file_client.roots(saltenv):
            if path.startswith(f"{root}/"):
                return path[len(root) + 1 :]
        return ""

    def _kept_results(self) -> Kept:
        """Return what earlier renderings of texts of the tree left in the cache directory."""
        if self._kept is None:
            from asyncstate.render.kept import Kept  # noqa: PLC0415 - a tree of a few lines of YAML needs none

            self._kept = Kept(self._settings.cachedir)
        return self._kept

    @property
    def has_results(self) -> bool:
        """Whether there are results of renderings that the next process could use."""
        return self._kept is not None and self._kept.is_changed

    def save_results(self) -> None:
        """Keep the results of renderings that the next process could use. Blocks."""
        if self._kept is not None:
            self._kept.save(self._secrets.redactor.text)
