"""A worker: calls Salt's functions for asyncstate, one at a time, under the interpreter that Salt is installed for.

``worker.py --probe`` prints, as JSON, Salt's version and the folders of its modules. Without an argument, it answers
requests on its standard input (from `asyncstate.extras.borrow.process`) on its standard output, as frames of `wire`.
Output of Salt's code goes to standard error, so that it cannot break the protocol.

It runs under every Python from 3.8 on and imports only Salt and the standard library.
"""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.abspath(sys.path[0] or ".") == _HERE:
    del sys.path[0]  # the files beside this one are not modules for Salt

import importlib.util  # noqa: E402
import inspect  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import re  # noqa: E402
import traceback  # noqa: E402
from collections.abc import Mapping, Sequence  # noqa: E402
from contextlib import suppress  # noqa: E402
from importlib import import_module, metadata  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType, TracebackType

_LIMIT_OF_MARKS = 10
"""RLIMIT_LOCKS: see `asyncstate.process`."""
_FAMILY = ("CommandExecutionError", "SaltInvocationError", "SaltRenderError", "SaltException")
"""Salt's exceptions that asyncstate has, too; the first matching one counts."""


_COMPUTED_NAME = re.compile(r"^__virtualname__[^=\n]*=\s*[^\s\"']", re.MULTILINE)
_LEVELS = {"quiet": 1000, "critical": 50, "error": 40, "info": 20, "profile": 15, "debug": 10, "trace": 5, "garbage": 1}


def _load_wire() -> ModuleType:
    spec = importlib.util.spec_from_file_location("asyncstate_wire", os.path.join(_HERE, "wire.py"))
    if spec is None or spec.loader is None:
        raise ImportError("wire.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


wire: Any = _load_wire()


# the probe


def probe() -> dict[str, Any]:
    """Return the version of Salt, and the folders of its modules and its extensions' modules, by kind."""
    spec = importlib.util.find_spec("salt")
    places = [place for place in (spec.submodule_search_locations or ()) if _is_salt(place)] if spec else []
    if not places:
        return {"missing": "No module named 'salt'"}
    kinds = {"states": "states_dirs", "modules": "module_dirs"}
    folders = {
        kind: [*_extension_folders(kind, option), os.path.join(places[0], kind)] for kind, option in kinds.items()
    }
    return {"version": _version(), "package": places[0], "folders": folders}


def _is_salt(place: str) -> bool:
    """Whether a folder is Salt's package, not a state tree named salt."""
    return os.path.isfile(os.path.join(place, "loader", "__init__.py")) or os.path.isfile(
        os.path.join(place, "loader.py")
    )


def _version() -> str:
    try:
        return metadata.version("salt")
    except metadata.PackageNotFoundError:
        return str(import_module("salt.version").__version__)


def _extension_folders(kind: str, option: str) -> list[str]:
    """Return the folders that Salt's loader gets from extensions, by its own rules."""
    try:
        points: Any = metadata.entry_points(group="salt.loader")
    except TypeError:  # Python 3.9 and older
        points = metadata.entry_points().get("salt.loader", ())  # type: ignore[attr-defined,unused-ignore]
    found: list[str] = []
    for point in points:
        with suppress(Exception):  # Salt, too, ignores an extension that does not load
            found += _folders_of(point.load(), point.name == option, kind)
    return [path for path in dict.fromkeys(found) if os.path.isdir(path)]


def _folders_of(loaded: Any, named_after_option: bool, kind: str) -> list[str]:
    if inspect.ismodule(loaded):
        return [os.path.join(path, kind) for path in loaded.__path__]
    given = loaded()
    if isinstance(given, dict):
        return [str(path) for path in given.get(kind, ())]
    return [str(path) for path in given] if named_after_option else []


# requests of Salt's code


class _Asked:
    """Data of the run that few modules read: requested on first use."""

    def __init__(self, ask: Callable[[Any], Any], what: str) -> None:
        self._ask = ask
        self._what = what
        self._data: Any = None

    def _value(self) -> Any:
        if self._data is None:
            self._data = self._ask(self._what)
        return self._data

    def __getitem__(self, key: Any) -> Any:
        return self._value()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._value())

    def __len__(self) -> int:
        return len(self._value())


class _AskedMapping(_Asked, Mapping):  # type: ignore[type-arg]
    """``__running__``: the rows of this host, and rows of other hosts by tag."""

    def __getitem__(self, key: Any) -> Any:
        rows = self._value()
        return rows[key] if key in rows else self._elsewhere(key)

    def _elsewhere(self, key: Any) -> Any:
        row = self._ask({"row": key}) if isinstance(key, str) else None
        if row is None:
            raise KeyError(key)
        return row


class _AskedSequence(_Asked, Sequence):  # type: ignore[type-arg]
    """``__lowstate__``."""


# calling Salt


class Loaders:
    """Salt's loaders, with the options, grains and pillar that asyncstate gave."""

    def __init__(self, given: dict[str, Any], folders: dict[str, list[str]]) -> None:
        config: Any = import_module("salt.config")
        salt: Any = import_module("salt.loader")
        overrides = {key: value for key, value in given.items() if value is not None}
        opts = config.apply_minion_config(overrides=overrides)
        opts.update(folders, file_client="local", local=True, __cli="salt-call", __role="minion")
        self.context: dict[str, Any] = {}
        utils = salt.utils(opts, context=self.context)
        functions = salt.minion_mods(opts, context=self.context, utils=utils)
        whole = getattr(functions, "_dunder_salt", None)  # Salt 3008: what no whitelist limits
        options: dict[str, Any] = {"context": self.context}
        if whole is not None and "dunder_salt" in inspect.signature(salt.states).parameters:
            options["dunder_salt"] = whole
        states = salt.states(opts, functions, utils, salt.serializers(opts), **options)
        self.of: dict[str, Any] = {"states": states, "modules": functions}
        # minion_mods packs the options that it was given, states a copy of its own
        self._options: list[Any] = [opts, states.opts, functions.opts]

        for loader in (utils, functions, whole, states):
            _look_only_where_it_may_be(loader)

    def test(self, test: bool) -> None:
        """Set whether the next calls are a dry run."""
        for options in self._options:
            options["test"] = test

    def load(self, kind: str, module: str, files: list[str]) -> Any:
        """Load the first of these files that provides a module, and return the loader."""
        loader = self.of[kind]
        for file in files:
            if module in loader.loaded_modules:
                break
            if file in loader.file_mapping and file not in loader.loaded_files:
                loader._load_module(file)  # noqa: SLF001 - a look-up would load every file of Salt
        return loader


def _look_only_where_it_may_be(loader: Any) -> None:
    """Keep a loader from importing every file of Salt on a look-up of an unknown name.

    ``"at.atrm" in __salt__`` does that where ``at`` is not installed, and takes seconds. A file under another name can
    only provide a module whose name its text has.
    """
    every: Any = getattr(loader, "_iter_files", None)
    if every is None:
        return
    texts: dict[str, str] = {}

    def some(module: str) -> Iterator[str]:
        for file in every(module):
            if file == module or _may_claim(texts, loader.file_mapping.get(file), module):
                yield file

    loader._iter_files = some  # noqa: SLF001 - there is no other way to say it


def _may_claim(texts: dict[str, str], mapped: Any, module: str) -> bool:
    """Whether a file may rename itself ``module``. A file other than Python source always may."""
    path = str(mapped[0]) if isinstance(mapped, (tuple, list)) and mapped else ""
    if not path.endswith(".py"):
        return True
    if path not in texts:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            text = "__virtual"
        texts[path] = text if "__virtual" in text else ""
    text = texts[path]
    computed = bool(_COMPUTED_NAME.search(text))
    return bool(text) and (computed or f'"{module}"' in text or f"'{module}'" in text)


class Worker:
    """Answers requests, one at a time, until there are no more."""

    def __init__(self, receive: int, send: int) -> None:
        self._receive = receive
        self._send = send
        self._reader = wire.Reader()
        self._process = os.getpid()
        self._loaders: Any = None

    def serve(self) -> None:
        """Answer until the other side closes the pipe."""
        while True:
            message = wire.read(self._receive, self._reader)
            if message is None:
                return
            try:
                answer = self._answer(wire.decode(message))
                frame = wire.encode(answer)
            except BaseException as error:  # noqa: BLE001 - Salt's code may raise anything, SystemExit included
                frame = wire.encode({"error": described(error)})
            if os.getpid() != self._process:
                os._exit(0)  # a fork of this process that Salt's code forgot to end
            _end_of_errors()
            wire.write(self._send, frame)

    def _ask(self, what: Any) -> Any:
        wire.write(self._send, wire.encode({"ask": what}))
        answer = wire.read(self._receive, self._reader)
        if answer is None:
            raise EOFError(str(what))
        return wire.decode(answer)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = request["do"]
        if wanted == "set up":
            _log_to_stderr(str(request["opts"].get("log_level")))
            self._loaders = Loaders(request["opts"], request["folders"])
            return {"ok": True}
        if wanted == "describe":
            return {"ok": self._describe(request["kind"], request["module"], request["files"])}
        return self._call(request)

    def _describe(self, kind: str, module: str, files: list[str]) -> dict[str, Any]:
        loader = self._loaders.load(kind, module, files)
        if module not in loader.loaded_modules:
            reason = loader.missing_fun_string(module + ".")
            return {"refused": "" if reason.endswith("is not available.") else reason}
        loaded = loader._dict  # noqa: SLF001 - to iterate over the loader itself loads everything
        found = {key: func for key, func in loaded.items() if key.partition(".")[0] == module}
        functions = {key.partition(".")[2]: _parameters(func) for key, func in found.items()}
        file = next((sys.modules[f.__module__].__file__ for f in found.values() if f.__module__ in sys.modules), "")
        return {"file": file or "", "functions": functions}

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        loaders, args, kwargs = self._loaders, request["args"], request["kwargs"]
        if request["place"] is not None:  # the low data of a state is one of the chunks: the same dict, as in Salt
            args[1][request["place"]] = args[0]
        loader = loaders.load(request["kind"], request["name"].partition(".")[0], request["files"])
        loaders.test(request["test"])
        loader.inject_globals = self._globals(request) if request["kind"] == "states" else {}
        before = self._take_context(request["context"])
        _take_mark(request["mark"])
        folder, umask = os.getcwd(), None if request["umask"] is None else os.umask(request["umask"])
        answer: dict[str, Any]
        try:
            answer = {"ok": loader[request["name"]](*args, **kwargs)}
            if request["hook"]:
                answer["args"] = args
        except BaseException as error:  # noqa: BLE001 - Salt's code may raise anything, SystemExit included
            answer = {"error": described(error)}
        finally:
            loader.inject_globals = {}
            if umask is not None:
                os.umask(umask)
            with suppress(OSError):
                os.chdir(folder)
        answer["retcode"] = loaders.context.get("retcode") or 0
        answer.update(self._changes(before))
        return answer

    def _globals(self, request: dict[str, Any]) -> dict[str, Any]:
        return {
            "__low__": request["low"],
            "__running__": _AskedMapping(self._ask, "running"),
            "__lowstate__": _AskedSequence(self._ask, "lowstate"),
            "__instance_id__": request["instance_id"],
            "__env__": request["env"],
        }

    def _take_context(self, given: dict[str, Any]) -> dict[str, bytes]:
        """Copy asyncstate's ``__context__`` into this process's, beside its own objects; return it, encoded."""
        context = self._loaders.context
        for key in [key for key, value in context.items() if wire.is_portable(value)]:
            del context[key]
        context.update(given, retcode=0)
        return {key: wire.encode(value) for key, value in given.items()}

    def _changes(self, before: dict[str, bytes]) -> dict[str, Any]:
        context = self._loaders.context
        changed = {
            key: value
            for key, value in context.items()
            if isinstance(key, str)
            and key != "retcode"
            and wire.is_portable(value)
            and before.get(key) != wire.encode(value)
        }
        return {"context": changed, "gone": [key for key in before if key not in context]}


def _take_mark(mark: int) -> None:
    """Mark this process and the programs that it starts with the mark of the call."""
    if mark:
        with suppress(ImportError, OSError, ValueError):
            import resource

            resource.setrlimit(_LIMIT_OF_MARKS, (mark, resource.getrlimit(_LIMIT_OF_MARKS)[1]))


def _parameters(func: Any) -> dict[str, Any]:
    """Return a function's parameters: name, kind, whether it has a default, the default; and its documentation."""
    try:
        found = inspect.signature(inspect.unwrap(func)).parameters.values()
    except (TypeError, ValueError):
        return {"parameters": None, "doc": inspect.getdoc(func) or ""}
    listed = [
        (
            each.name,
            int(each.kind),
            each.default is not each.empty,
            None if each.default is each.empty else each.default,
        )
        for each in found
    ]
    return {"parameters": listed, "doc": inspect.getdoc(func) or ""}


def described(error: BaseException) -> dict[str, Any]:
    """Return the description of an exception: its type, its class in asyncstate, its text and its traceback."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    family = next((name for name in _FAMILY if name in kinds), "")
    builtin = next((kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"), "Exception")
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - exceptions may be built of anything, too
        text = "which cannot be shown"
    trace = _of_salts_code(error.__traceback__)
    try:
        shown = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:  # noqa: BLE001
        shown = f"{type(error).__name__}: {text}\n"
    return {"type": type(error).__name__, "family": family, "builtin": builtin, "text": text, "trace": shown}


def _of_salts_code(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this file and of Salt's loader at its beginning."""
    loader = os.path.join("salt", "loader")
    while trace is not None and trace.tb_next is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != __file__ and loader not in file and not file.endswith("contextlib.py"):
            break
        trace = trace.tb_next
    return trace


class _Lines(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes each record as one line of JSON after a character that no text begins with."""

    def format(self, record: logging.LogRecord) -> str:
        return "\x01" + json.dumps([record.levelno, record.name, super().format(record)])


def _end_of_errors() -> None:
    """Mark the end of a call's output on standard error, so that the other side can attribute the lines."""
    with suppress(OSError, ValueError):  # closed by Salt's code
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(2, b"\x01\n")


def _log_to_stderr(level: str) -> None:
    root = logging.getLogger()
    root.handlers[:] = [_Lines(sys.stderr)]
    root.setLevel(_LEVELS.get(level, logging.WARNING))


def main() -> None:
    """Answer requests, or print the probe."""
    if sys.argv[1:] == ["--probe"]:
        sys.stdout.write(json.dumps(probe()) + "\n")
        return
    receive, send = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv[:] = ["salt-call"]
    with suppress(BrokenPipeError):
        Worker(receive, send).serve()


if __name__ == "__main__":
    main()
