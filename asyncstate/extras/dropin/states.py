"""The ``state`` module of ``salt-call``: functions with Salt's names and parameters that run states.

Each returns an `Answer`. Keywords that Salt's functions take and that have no meaning here are accepted.
"""

from __future__ import annotations

import json
import math
import os
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.cli.settings import Selection
from asyncstate.errors import AsyncStateError, CompileError, LockHeld, PillarError, RenderError
from asyncstate.extras.dropin.answer import FAILED, PILLAR_FAILED, Answer, Refused
from asyncstate.extras.dropin.collected import collect
from asyncstate.extras.dropin.disabling import Disabling
from asyncstate.extras.dropin.rows import called_for
from asyncstate.extras.dropin.settings import changed, settings_of
from asyncstate.extras.dropin.showing import Showing, names, pillar_failed, words
from asyncstate.extras.dropin.under_way import UnderWay
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.cli.session import Session
    from asyncstate.config import Settings
    from asyncstate.extras.dropin.options import Request
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.runtime import StateRuntime

RUNNING = (
    "apply highstate sls sls_id top test single low high template template_str request check_request run_request "
    "clear_request clear_cache orchestrate pkg"
).split()
"""The names of the functions."""
_KEYWORDS = frozenset(
    {
        "cache", "cache_name", "concurrent", "env", "exclude", "force", "localconfig", "mock", "mods", "name",
        "orchestration_jid", "pillar", "pillar_enc", "pillarenv", "queue", "saltenv", "state_events", "sync_mods",
        "terse", "test", "whitelist",
    }
)  # fmt: skip
_REQUESTS = "requested_states.json"


class StateModule:
    """The functions of one call. ``functions`` has them by name."""

    def __init__(self, console: Console, settings: Settings, request: Request) -> None:
        self._console = console
        self._settings = settings
        self._request = request
        self._under_way = UnderWay(console, settings)
        self.functions: dict[str, Callable[..., Answer]] = {
            **{name: getattr(self, name) for name in RUNNING},
            **self._under_way.functions,
            **Disabling(console, settings).functions,
            **Showing(console, settings, self._adapted).functions,
        }

    def near(self, name: str) -> str:
        """Return a suggestion for an unknown function, to end a message with."""
        found = nearest(name, self.functions)
        return f" Did you mean 'state.{found}'?" if found else ""

    def apply(self, mods: Any = None, **kwargs: Any) -> Answer:
        """Apply SLS files, or without names the highstate."""
        return self.sls(mods, **kwargs) if mods else self.highstate(**kwargs)

    def test(self, mods: Any = None, **kwargs: Any) -> Answer:
        """Do a dry run of `apply`."""
        return self.apply(mods, **{**kwargs, "test": True})

    def highstate(self, test: Any = None, queue: Any = None, state_events: Any = None, **kwargs: Any) -> Answer:
        """Apply what top.sls assigns to this machine."""
        kwargs |= {"test": test, "queue": queue, "state_events": state_events}
        return self._apply(None, kwargs, more={"asked_for": None})

    def sls(  # noqa: PLR0917 - Salt's parameters
        self,
        mods: Any,
        test: Any = None,
        exclude: Any = None,
        queue: Any = None,
        sync_mods: Any = None,
        state_events: Any = None,
        **kwargs: Any,
    ) -> Answer:
        """Apply SLS files, named in a list or separated by commas."""
        given = {"test": test, "exclude": exclude, "queue": queue, "sync_mods": sync_mods, "state_events": state_events}
        return self._apply(names(mods), kwargs | given, more={"asked_for": names(mods)})

    def sls_id(self, id_: Any, mods: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:
        """Apply the states of one ID of SLS files, with what they require."""
        try:
            return self._apply(names(mods), kwargs | {"test": test, "queue": queue}, id_=str(id_))
        except PillarError:
            raise
        except CompileError as error:
            if not self._has_id(str(id_), mods, kwargs):
                saltenv = kwargs.get("saltenv") or "base"
                message = f"No matches for ID '{id_}' found in SLS '{mods}' within saltenv '{saltenv}'"
                raise Refused(message, usage=f"{self.sls_id.__doc__}\n") from error
            return self._errors(error)

    def top(self, topfn: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:
        """Apply the highstate of another top file."""
        return self._apply(None, kwargs | {"test": test, "queue": queue}, more={"state_top": str(topfn)})

    def pkg(self, pkg_path: Any, pkg_sum: Any, hash_type: Any, test: Any = None, **kwargs: Any) -> Answer:
        """Apply a package of salt-ssh, an archive whose hash is known."""
        from asyncstate.extras.dropin.package import TOP, low_chunks, settings_of_package, unpack

        settings = self._adapted(kwargs | {"test": test})
        with TemporaryDirectory(prefix="asyncstate-package-") as folder:
            if why := unpack(str(pkg_path), str(pkg_sum), str(hash_type), folder):
                self._console.say(why)
                return Answer(value={}, outputter="highstate")
            chunks = low_chunks(folder)
            if any(not isinstance(chunk, dict) for chunk in chunks):
                return Answer(value=self._console.hide(chunks), retcode=FAILED, outputter="highstate")
            settings = settings_of_package(settings, folder, chunks)
            everything = Selection(None, None, (), ())
            return self._run(settings, kwargs, lambda session: session.apply(everything), more={"state_top": TOP})

    def orchestrate(  # noqa: PLR0917 - Salt's parameters
        self,
        mods: Any,
        saltenv: Any = "base",
        test: Any = None,
        exclude: Any = None,
        pillar: Any = None,
        pillarenv: Any = None,
    ) -> Answer:
        """Apply SLS files to this machine, as an orchestration; one of hosts is ``asyncstate fleet orchestrate``."""
        given = {"saltenv": saltenv, "test": test, "exclude": exclude, "pillar": pillar, "pillarenv": pillarenv}
        done = self._apply(names(mods), given, implicit_order="file")
        data = {self._settings.id: done.value}
        value = {"data": data, "outputter": "highstate", "retcode": FAILED if done.retcode else 0}
        return Answer(value=value, ended=done.ended)

    def single(self, fun: Any, name: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:
        """Run one state function."""
        fun = str(fun)
        if "." not in fun:
            return Answer(value="Invalid function passed", retcode=FAILED, outputter="highstate")
        settings = self._adapted(kwargs | {"test": test}, check=False)
        own = ("pillar", "pillar_enc", "pillarenv", "saltenv", "localconfig", "concurrent", "mock")
        arguments = {key: value for key, value in kwargs.items() if key not in own}
        return self._run(
            settings, {"queue": queue} | kwargs, lambda session: session.single(fun, {**arguments, "name": name})
        )

    def low(self, data: Any, queue: Any = None, **kwargs: Any) -> Answer:
        """Run one low chunk: a mapping with state, fun, name and the arguments."""
        low = self._mapping(data)
        missing = [key for key in ("state", "fun", "name") if key not in low]
        if missing:
            errors = [f'Missing "{key}" data' for key in missing]
            return Answer(value=errors, retcode=FAILED)
        function = f"{low.pop('state')}.{low.pop('fun')}"
        settings = self._adapted(kwargs, check=False)
        answer = self._run(settings, {"queue": queue} | kwargs, lambda session: session.single(function, low))
        if isinstance(answer.value, dict) and len(answer.value) == 1:
            answer.value = next(iter(answer.value.values()))
        answer.outputter = ""
        return answer

    def high(self, data: Any, test: Any = None, queue: Any = None, **kwargs: Any) -> Answer:
        """Run high data: a mapping of IDs."""
        high = self._mapping(data)
        kwargs |= {"test": test, "queue": queue}
        answer = self._run_plan(kwargs, lambda runtime: runtime.compile_data_sync(high), sls=None)
        answer.outputter = ""
        return answer

    def template(self, tem: Any, queue: Any = None, **kwargs: Any) -> Answer:
        """Apply one file, from any folder."""
        path = str(tem) if str(tem).endswith(".sls") else f"{tem}.sls"
        if not os.path.isfile(path):
            message = f"Specified SLS {path} on local filesystem cannot be found."
            return Answer(value=[message], retcode=FAILED, outputter="highstate")
        saltenv = kwargs.get("saltenv")
        kwargs |= {"queue": queue}
        try:
            return self._run_plan(kwargs, lambda runtime: runtime.compile_file_sync(path, saltenv=saltenv), sls=path)
        except PillarError as error:
            raise pillar_failed(error) from error

    def template_str(self, tem: Any, queue: Any = None, **kwargs: Any) -> Answer:
        """Apply the text of an SLS file."""

        def compiled(runtime: StateRuntime) -> Plan:
            high = runtime.call_sync("slsutil.renderer", string=str(tem))
            return runtime.compile_data_sync(self._mapping(high))

        return self._run_plan(kwargs | {"queue": queue}, compiled, sls=None)

    def request(self, mods: Any = None, **kwargs: Any) -> Answer:
        """Do a dry run, and keep what was asked for until `run_request`."""
        answer = self.apply(mods, **{**kwargs, "test": True})
        asked = {"test_run": answer.value, "mods": mods, "kwargs": {**kwargs, "test": True}}
        self._keep_requests({**self._requests(), str(kwargs.get("name", "default")): asked})
        return answer

    def check_request(self, name: Any = None) -> Answer:
        """Return the dry runs that `request` kept."""
        requests = self._requests()
        if name is None or not requests:
            return Answer(value=requests, outputter="highstate")
        if str(name) not in requests:
            raise Refused(f"state.check_request: nothing was requested as {name}")
        return Answer(value=requests[str(name)], outputter="highstate")

    def run_request(self, name: Any = "default", **kwargs: Any) -> Answer:
        """Apply what was requested."""
        asked = self._requests().get(str(name))
        if asked is None:
            return Answer(value={}, outputter="highstate")
        given = {key: value for key, value in {**asked["kwargs"], **kwargs}.items() if key != "test"}
        answer = self.apply(asked["mods"], **given)
        self.clear_request()
        return answer

    def clear_request(self, name: Any = None) -> Answer:
        """Forget what was requested."""
        requests = self._requests()
        if not requests:
            return Answer(value=True)
        if name and str(name) not in requests:
            return Answer(value=False)
        self._keep_requests({key: value for key, value in requests.items() if name and key != str(name)})
        return Answer(value=True)

    def clear_cache(self) -> Answer:
        """Return []: no compiled tree is kept."""
        return Answer(value=[])

    # running

    def _apply(
        self,
        sls: list[str] | None,
        kwargs: dict[str, Any],
        *,
        id_: str | None = None,
        more: Mapping[str, Any] | None = None,
        implicit_order: str | None = None,
    ) -> Answer:
        """Apply SLS files or the highstate, or one ID of them, in Salt's order. An ID may raise CompileError.

        ``more`` are options of `collect`, ``implicit_order`` overrides the setting.
        """
        ids = () if id_ is None else (id_,)
        given = {"saltenv": kwargs.get("saltenv"), "exclude": words(kwargs.get("exclude") or []), "ids": ids}
        selection = Selection.of(sls, given)
        order = None if id_ is None else called_for(id_)
        try:
            settings = changed(self._adapted(kwargs), implicit_order=implicit_order)
            answer = self._run(settings, kwargs, lambda session: session.apply(selection), order, more)
        except PillarError as error:
            if kwargs.get("force"):
                raise
            self._console.say(*(str(issue) for issue in error.issues[1:]))
            return Answer(value=_messages(error), retcode=PILLAR_FAILED, outputter="highstate")
        terse = kwargs.get("terse") or self._settings.extra.get("state_data") == "terse"
        if terse and isinstance(answer.value, dict):
            answer.value = {tag: row for tag, row in answer.value.items() if not row["result"] or row["changes"]}
        return answer

    def _run_plan(self, kwargs: dict[str, Any], compiled: Callable[[StateRuntime], Plan], *, sls: str | None) -> Answer:
        """Run a plan that comes from no tree; ``sls`` is the SLS name in its rows."""

        async def planned(runtime: StateRuntime) -> Plan:
            return await runtime.host.workers.run(compiled, runtime)

        about = {"command": f"salt-call {self._request.function}"}
        answer = self._run(self._adapted(kwargs), kwargs, lambda session: session.run_planned(planned, about))
        if isinstance(answer.value, dict):
            answer.value = {tag: {**row, "__sls__": sls} for tag, row in answer.value.items()}
        return answer

    def _run(
        self,
        settings: Settings,
        kwargs: dict[str, Any],
        start: Callable[[Session], int],
        order: Callable[[Mapping[str, Row], Plan], dict[str, Row]] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Do the run that ``start`` starts. Raises PillarError; with an ``order``, other errors of the tree, too."""
        queue = kwargs.get("queue")
        if queue is None:
            queue = settings.extra.get("state_queue")
        options = {
            "wait": math.inf if queue else 0.0,
            "mock": bool(kwargs.get("mock")),
            "unlocked": bool(kwargs.get("concurrent")),
            "progress": "none",
            **(more or {}),
        }
        try:
            return collect(self._console, settings, options, start, order)
        except PillarError:
            raise
        except CompileError as error:
            if order is not None:
                raise
            return self._errors(error)
        except RenderError as error:
            return Answer(value=self._console.hide([error.message]), retcode=FAILED, outputter="highstate")
        except OSError as error:
            if error.filename is None:
                raise
            return Answer(value=[f"{error.filename}: {error.strerror}"], retcode=FAILED, outputter="highstate")
        except LockHeld:
            return Answer(value=self._under_way.running().value, retcode=FAILED, outputter="highstate")

    def _errors(self, error: CompileError) -> Answer:
        return Answer(value=self._console.hide(_messages(error)), retcode=FAILED, outputter="highstate")

    def _adapted(self, kwargs: dict[str, Any], *, check: bool = True) -> Settings:
        """Return the settings that the keywords of a call ask for. Raises Refused."""
        if kwargs.get("pillar_enc"):
            raise Refused("pillar_enc: encrypted pillar on the command line is not supported. Encrypt a pillar file.")
        pillar = kwargs.get("pillar")
        if pillar is not None and not isinstance(pillar, dict):
            raise Refused("Pillar data must be formatted as a dictionary, unless pillar_enc is specified.")
        if kwargs.get("whitelist"):
            raise Refused("whitelist: name the SLS files instead: state.apply a,b")
        unknown = sorted(set(kwargs) - _KEYWORDS) if check else []
        if unknown:
            self._console.say(f"{self._request.function} does not know the argument {', '.join(unknown)}")
        settings, localconfig = self._settings, kwargs.get("localconfig")
        if localconfig:
            settings = settings_of(self._console, self._request, str(localconfig))
        test = kwargs.get("test")
        return changed(
            settings,
            test=None if test is None else bool(test),
            pillar=pillar,
            saltenv=kwargs.get("saltenv"),
            pillarenv=kwargs.get("pillarenv"),
        )

    def _has_id(self, id_: str, mods: Any, kwargs: dict[str, Any]) -> bool:
        answer = self.functions["show_low_sls"](mods, **kwargs)
        return isinstance(answer.value, list) and any(
            isinstance(low, dict) and low.get("__id__") == id_ for low in answer.value
        )

    def _mapping(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise Refused(f"{self._request.function}: expected a mapping such as '{{a: {{test: [nop]}}}}'")
        return dict(data)

    # requests

    def _requests(self) -> dict[str, Any]:
        try:
            requests = json.loads(filesystem.read_bytes(os.path.join(self._settings.state_dir, _REQUESTS)))
        except (OSError, AsyncStateError, ValueError):
            return {}
        return requests if isinstance(requests, dict) else {}

    def _keep_requests(self, requests: dict[str, Any]) -> None:
        from asyncstate.cli.output_file import write_file

        os.makedirs(self._settings.state_dir, mode=0o700, exist_ok=True)
        text = json.dumps(requests, default=str)
        write_file(os.path.join(self._settings.state_dir, _REQUESTS), text.encode(), mode=0o600)


def _messages(error: CompileError) -> list[str]:
    return [issue.message for issue in error.issues]
