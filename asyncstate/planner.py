"""Planner: compiles trees, files, data and single functions to plans for one host. Its methods block."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import structs

from asyncstate.compile.compiler import Compiler
from asyncstate.compile.findings import Findings
from asyncstate.compile.low.arguments import PROBABLE_ARGUMENT, check_arguments
from asyncstate.compile.low.lowstate import Draft
from asyncstate.compile.low.salt_sources import SaltSources
from asyncstate.compile.ordering import Given, Machine
from asyncstate.data.limits import DEEPEST, Meter, TooMuch, plain_data
from asyncstate.data.merging import independent
from asyncstate.errors import ArgumentError, CompileError, FunctionNotFound, Issue, RenderError
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, Plan, plan_digest
from asyncstate.nearest import did_you_mean
from asyncstate.pattern import lazy_pattern
from asyncstate.render import Rendered
from asyncstate.sources import noted_phases
from asyncstate.sources.fileclient import OneMoreSls, OtherTexts, SlsFile, noted_reads
from asyncstate.sources.machine import RealPaths, has_account, home_of, known_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from asyncstate.compile.high.highstate import HighData
    from asyncstate.compile.planning import Touched
    from asyncstate.config import Settings
    from asyncstate.effects.observed import Learned
    from asyncstate.redact import Secrets
    from asyncstate.services import RuntimeServices
    from asyncstate.sources.fileclient import FileClient
    from asyncstate.sources.pillar_watch import WatchedPillar

_SLS_NAME = lazy_pattern(r"[\w-]+(?:\.[\w-]+)*")


class Planner:
    """Compiles for one host. Every method raises CompileError, which lists all mistakes, with secrets hidden."""

    def __init__(self, settings: Settings, services: RuntimeServices, secrets: Secrets) -> None:
        self._settings = settings
        self._services = services
        self._host = services.host
        self._secrets = secrets
        self.judge: Callable[[Sequence[Draft]], Iterable[Issue]] | None = None
        """Returns the mistakes in the values of states. Only commands that check a tree set it."""

    def tree(
        self,
        sls: Sequence[str] | None,
        *,
        saltenv: str | None,
        exclude: Sequence[Any],
        ids: Sequence[str],
        texts: Mapping[str, str] | None,
        remote: bool = False,
        refusal: Callable[[str], str] | None = None,
    ) -> Plan:
        """Compile SLS files (None: the highstate of top.sls); ``texts`` replace files, by path.

        ``remote``: requisites may name states of other hosts. ``refusal`` returns why an SLS must not be rendered.
        """
        self._require_tree()
        client = OtherTexts(self._services.file_client, texts) if texts else None

        def compiled() -> Plan:
            compiler = self._compiler(client, remote=remote, refusal=refusal)
            return compiler.plan(sls, saltenv=saltenv, exclude=exclude, only_ids=ids)

        plan = self._noting(compiled)
        return structs.replace(plan, warnings=(*self._without_effect(), *plan.warnings))

    def _noting(self, compiled: Callable[[], Plan]) -> Plan:
        """Return a plan that is compiled now, with the files that it was made of and the phases so far."""
        with (
            self._secrets.kept_out_of_errors(),
            self._host.enter(),
            noted_phases("compile") as phases,
            noted_reads() as files,
        ):
            plan = compiled()
        return structs.replace(plan, files=files, phases=(*self._services.take_phases(), *phases))

    def check(
        self,
        sls: Sequence[str] | None = None,
        *,
        saltenv: str | None = None,
        refusal: Callable[[str], str] | None = None,
    ) -> tuple[Issue, ...]:
        """Return the warnings about SLS files (None: the highstate) that need no plan, in less time than `tree` takes.

        Footprints and aggregation are not checked.
        """
        self._require_tree()
        with self._secrets.kept_out_of_errors(), self._host.enter():
            return (*self._without_effect(), *self._compiler(refusal=refusal).check(sls, saltenv=saltenv))

    def touched(self, plan: Plan) -> Touched:
        """Return the footprints of the chunks of a plan."""
        with self._secrets.kept_out_of_errors(), self._host.enter():
            return self._compiler().touched(plan)

    def watch_pillar(self) -> WatchedPillar:
        """Record from now on which keys of the pillar are read."""
        from asyncstate.sources.pillar_watch import WatchedPillar  # noqa: PLC0415 - only lint and editors

        watched = WatchedPillar(self._host.pillar)
        self._host.set_pillar(watched)
        return watched

    def data(
        self, data: Mapping[str, Any], *, sls: str, saltenv: str | None, exclude: Sequence[Any], ids: Sequence[str]
    ) -> Plan:
        """Compile data as if it were the rendered SLS ``sls``; the data is not changed."""
        if not _SLS_NAME.fullmatch(sls):
            raise CompileError(
                [Issue(f"{sls!r} cannot name an SLS", hint="use letters, digits and dots: 'site.web'", code="E119")]
            )
        file = SlsFile(sls, saltenv or self._host.opts.get("saltenv") or "base", "", "")
        client = OneMoreSls(self._services.file_client, file)

        def compiled() -> Plan:
            compiler = self._compiler(client, {file: _copy(data, {})})
            return compiler.plan([sls], saltenv=file.saltenv, exclude=exclude, only_ids=ids)

        return self._noting(compiled)

    def file(self, path: str | Path, *, saltenv: str | None) -> Plan:
        """Compile one file anywhere. Raises OSError if it cannot be read; PathRefused for a pipe or device."""
        from asyncstate.filesystem import open_read  # noqa: PLC0415 - most programs compile trees

        path = os.path.abspath(path)
        with open_read(path):
            env = saltenv or self._settings.saltenv or "base"
        name = os.path.basename(path)
        return self._noting(lambda: self._compiler().plan_file(SlsFile(name.removesuffix(".sls"), env, path, name)))

    def single(self, function: str, arguments: Mapping[str, Any]) -> Plan:
        """Return the plan of one state function.

        Raises CompileError if it does not exist or has no name, ArgumentError for arguments beyond an SLS's limits.
        """
        state, dot, fun = function.partition(".")
        try:
            self._host.loaders["states"].get(function)
        except FunctionNotFound as error:
            if not dot or not state or not fun:
                message = f"Invalid function passed: {function!r} is not of the form module.function"
                hint = did_you_mean(error.suggestion)
                raise CompileError([Issue(message, hint=hint, code="E121")]) from None
            raise CompileError(
                [Issue(f"Specified state '{function}' was not found", hint=str(error), code="E401")]
            ) from None
        try:
            Meter().check(args := dict(arguments))
        except TooMuch as error:
            raise ArgumentError(f"the arguments of {function} cannot be used: {error}") from None
        name = args.pop("name", function)
        self._refuse_misspelt(state, fun, name, args)
        if name and not isinstance(name, str):  # as in Salt: a false value is a name
            kind = type(name).__name__
            raise CompileError([Issue(f"ID '{name}' is not formed as a string, but is a {kind}", code="E201")])
        chunk = LowChunk(0, state, fun, str(name), name, "", self._host.opts.get("saltenv") or "base", 0, args)
        nodes = (Node(NodeKind.CHUNK, 0),)
        dag = Dag(1)
        phases = self._services.take_phases()
        return Plan((chunk,), nodes, ((),), (0,), dag, phases=phases, digest=plan_digest((chunk,), nodes, dag))

    def _refuse_misspelt(self, state: str, fun: str, name: Any, args: dict[str, Any]) -> None:
        """Raise CompileError for keywords that a function would drop, and that resemble its arguments."""
        loaders = self._host.loaders
        draft = Draft(state, fun, "", name, sls="", env="base", args=args, order=None, included_from=())
        used_by = SaltSources(self._services.file_client).keywords_text
        misspelt = check_arguments([draft], loaders["states"], Findings(), modules=loaders["modules"], used_by=used_by)
        if misspelt:
            raise CompileError([Issue(each.message, hint=each.hint, code=PROBABLE_ARGUMENT) for each in misspelt])

    def high(
        self, sls: Sequence[str] | None = None, *, saltenv: str | None = None, exclude: Sequence[Any] = ()
    ) -> HighData:
        """Return the high data of SLS files (None: of the highstate)."""
        with self._secrets.kept_out_of_errors():
            return self._compiler().highdata(sls, saltenv=saltenv, exclude=exclude)

    def top(self) -> dict[str, list[str]]:
        """Return the SLS names that top.sls assigns to this host, by environment."""
        with self._secrets.kept_out_of_errors():
            return self._compiler().top_matches()

    def _compiler(
        self,
        client: FileClient | None = None,
        given: Mapping[SlsFile, Any] | None = None,
        *,
        remote: bool = False,
        refusal: Callable[[str], str] | None = None,
    ) -> Compiler:
        """Return a compiler for this host. ``given`` is the rendered data of some files: they are not rendered."""
        services, host = self._services, self._host
        files = client or services.file_client
        rendered: set[str] = set()
        templates_pillar = independent(host.pillar)  # other templates see a template's changes, plugins do not

        def render(file: SlsFile, extra: Mapping[str, Any]) -> Rendered:
            if given and file in given:
                return Rendered(plain_data(given[file], file.path))
            if file.sls and refusal is not None and (why := refusal(file.sls)):  # the top file has no name
                raise RenderError(why)
            return services.render_sls(file, extra, files, rendered, templates_pillar)

        machine = Machine(
            RealPaths(), sys.prefix, home_of, self._learned(), has_account, known_packages, os.geteuid() == 0
        )
        states, modules = host.loaders["states"], host.loaders["modules"]
        inputs = Given(host.opts, host.grains, files, states, states, modules, self.judge, machine, remote)
        return Compiler(inputs, render, services.matcher)

    def _learned(self) -> Learned | None:
        """Return the effects learned in traced runs, if the settings say so. Raises ConfigError for a bad table."""
        if self._settings.implicit_order != "learned":
            return None
        from asyncstate import extend  # noqa: PLC0415 - few settings ask for it
        from asyncstate.effects.observed import key_of_work  # noqa: PLC0415 - as above

        learned = extend.provided("effects", "implicit_order: learned")(self._settings.state_dir)
        return lambda chunk: learned(key_of_work(chunk))

    def _without_effect(self) -> tuple[Issue, ...]:
        """Return a warning for each setting of Salt that is set and has no effect here."""
        if not self._settings.extra and not self._settings.ext_pillar:
            return ()
        from asyncstate.config.without_effect import without_effect  # noqa: PLC0415 - a few configurations only

        return tuple(without_effect(self._settings))

    def _require_tree(self) -> None:
        """Raise CompileError if there is no folder to search for SLS files."""
        settings = self._settings
        roots = [root for roots in settings.file_roots.values() for root in roots if "__env__" not in root]
        if not roots or any(os.path.isdir(root) for root in roots):
            return
        origin = settings.origins.get("file_roots")
        named = f"named by {origin}" if origin else "the default: no configuration and no --file-root names another one"
        raise CompileError(
            [
                Issue(
                    f"{', '.join(dict.fromkeys(roots))} does not exist: give --file-root, or asyncstate init",
                    hint=f"it is {named}\nchange to the folder that contains salt/top.sls, or name the folder of the "
                    f"tree with --file-root DIR or file_roots in {settings.conf_file}; "
                    "asyncstate init writes a first tree",
                    code="E101",
                )
            ]
        )


def _copy(value: Any, copies: dict[int, tuple[Any, Any]], depth: int = 0) -> Any:
    """Return the data with all mappings as dicts and all sequences as lists, the types that renderers return.

    What stands in several places, or in itself, does so in the copy. ``copies`` has the copies by the ``id`` of the
    original, each with the original, which keeps the ``id`` in use. Levels beyond the limit are not copied.
    """
    if not isinstance(value, (Mapping, list, tuple)) or depth > DEEPEST:
        return value
    if id(value) in copies:
        return copies[id(value)][1]
    copy: Any = {} if isinstance(value, Mapping) else []
    copies[id(value)] = value, copy
    if isinstance(value, Mapping):
        copy.update((key, _copy(item, copies, depth + 1)) for key, item in value.items())
    else:
        copy += [_copy(item, copies, depth + 1) for item in value]
    return copy
