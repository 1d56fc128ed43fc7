"""Runs one bundled state or execution function in a CallContext made of fakes.

from plugin_harness import PluginHarness

@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")        # __salt__["file.…"] is the bundled module
    harness.salt["cmd.retcode"] = lambda command, **_: 0   # … or a fake
    return harness

def test_something(plugins):
    row = plugins.state("file.managed", name="/x", contents="y", test=True)
    assert plugins.call("file.file_exists", "/x") is False
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fake_host import HTTP
from fake_services import FakeServices

from asyncstate import dunders
from asyncstate.errors import PathRefused
from asyncstate.load.virtual import exported_functions
from asyncstate.run.rows import failed_row, keep_deeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

ROW_KEYS = {"name", "result", "changes", "comment"}


class FakeFileClient:
    """File roots in a directory: one subdirectory an environment. The part of FileClient that plugins use."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def envs(self) -> list[str]:
        return sorted(path.name for path in self.base.iterdir()) if self.base.is_dir() else []

    def roots(self, saltenv: str = "base") -> list[str]:
        return [str(self.base / saltenv)]

    def find(self, path: str, saltenv: str = "base") -> str | None:
        root = (self.base / saltenv).resolve()
        found = (root / path).resolve()
        return str(found) if found.is_relative_to(root) and found.is_file() else None

    def list_files(self, saltenv: str = "base") -> list[str]:
        return self._walk(saltenv, Path.is_file)

    def list_dirs(self, saltenv: str = "base") -> list[str]:
        return self._walk(saltenv, Path.is_dir)

    def list_symlinks(self, saltenv: str = "base") -> dict[str, str]:
        root = self.base / saltenv
        return {name: os.readlink(root / name) for name in self._walk(saltenv, Path.is_symlink)}

    def list_states(self, saltenv: str = "base") -> list[str]:
        return [name[:-4].replace("/", ".") for name in self.list_files(saltenv) if name.endswith(".sls")]

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def _walk(self, saltenv: str, wanted: Callable[[Path], bool]) -> list[str]:
        root = self.base / saltenv
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if wanted(path))


class PluginHarness:
    """One fake runtime. ``salt`` and ``states`` are plain dicts of functions: put fakes there, or `load` real modules."""

    def __init__(self, tmp_path: Path, **opts: Any) -> None:
        self.tmp_path = tmp_path
        self.opts: dict[str, Any] = {
            "test": False,
            "cachedir": str(tmp_path / "cache"),
            "root_dir": "/",
            "saltenv": "base",
            "hash_type": "sha256",
            "file_client": "local",
            **HTTP,
            **opts,
        }
        self.grains: dict[str, Any] = {"id": "minion", "kernel": "Linux", "os": "Debian", "os_family": "Debian"}
        self.pillar: dict[str, Any] = {}
        self.context: dict[str, Any] = {}
        self.salt: dict[str, Any] = {
            "config.get": lambda key, default="": self.opts.get(key, default),
            "pillar.get": lambda key, default="", delimiter=":": _dig(self.pillar, key, default, delimiter),
            "grains.get": lambda key, default="", delimiter=":": _dig(self.grains, key, default, delimiter),
            "cp.cache_file": self._cache_file,
            "cp.is_cached": lambda path, saltenv="base": self._cache_file(path, saltenv) or "",
        }
        self.states: dict[str, Any] = {}
        self.running: dict[str, Any] = {}
        self.lowstate: list[dict[str, Any]] = []
        self.file_client = FakeFileClient(tmp_path / "file_roots")
        self.services = FakeServices()
        (tmp_path / "file_roots" / "base").mkdir(parents=True, exist_ok=True)

    def load(self, kind: str, name: str) -> ModuleType:
        """Import ``asyncstate.<kind>.<name>`` and offer its public functions as ``<virtual name>.<function>``."""
        module = importlib.import_module(f"asyncstate.{kind}.{name}")
        virtual = getattr(module, "__virtualname__", name)
        target = self.salt if kind == "modules" else self.states
        target.update((f"{virtual}.{function_name}", function) for function_name, function in _offered(module))
        return module

    def salt_file(self, path: str, text: str | bytes, saltenv: str = "base") -> Path:
        """Put a file under the file roots; it is then ``salt://path``."""
        target = self.tmp_path / "file_roots" / saltenv / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    @contextmanager
    def calling(self, **changes: Any) -> Iterator[dunders.context.CallContext]:
        """Make the fakes the current call: inside, the dunders work. ``changes`` are fields of CallContext."""
        fields: dict[str, Any] = {
            "opts": self.opts,
            "grains": self.grains,
            "pillar": self.pillar,
            "context": self.context,
            "salt": self.salt,
            "states": self.states,
            "utils": {},
            "services": self.services,
            "file_client": self.file_client,
            "running": self.running,
            "lowstate": self.lowstate,
            **changes,
        }
        context = dunders.context.CallContext(**fields)
        token = dunders.context.current.set(context)
        try:
            yield context
        finally:
            dunders.context.current.reset(token)

    def call(self, function: str | Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call an execution function, by its ``module.function`` name or itself."""
        with self.calling():
            return _blocking(self.salt[function] if isinstance(function, str) else function)(*args, **kwargs)

    def state(
        self,
        function: str | Callable[..., Any],
        *,
        test: bool | None = None,
        low: dict[str, Any] | None = None,
        errors: tuple[type[Exception], ...] = (PathRefused,),
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Call a state function and check the form of its row. ``low`` is what ``__low__`` shows.

        The text of ``errors`` is a failed row, as the engine has it.
        """
        shown = low if low is not None else _low_of(function, kwargs)
        found = self.states[function] if isinstance(function, str) else function
        with self.calling(test=self.opts["test"] if test is None else test, low=shown):
            try:
                row = _blocking(found)(**kwargs)
            except errors as error:
                row = failed_row(kwargs.get("name"), str(error))
            if set(row) >= ROW_KEYS and not isinstance(row["comment"], list):
                keep_deeds(row)
        assert set(row) >= ROW_KEYS, f"row lacks {ROW_KEYS - set(row)}"
        assert row["result"] in (True, False, None)
        assert isinstance(row["changes"], dict)
        assert isinstance(row["comment"], (str, list))
        result: dict[str, Any] = row
        return result

    def three_runs(
        self, function: str | Callable[..., Any], *, settles: bool = True, **kwargs: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the rows of a dry run, of a real run and of a second one; the first must leave ``tmp_path`` as it is.

        If the second has nothing to do, another dry run must say so, unless nothing shows that it has (``settles``).
        """
        before = snapshot(self.tmp_path)
        dry = self.state(function, test=True, **kwargs)
        assert snapshot(self.tmp_path) == before, "the dry run changed something"
        first, second = (self.state(function, test=False, **kwargs) for _ in range(2))
        if settles and second["result"] is True and not second["changes"]:
            after = self.state(function, test=True, **kwargs)
            assert (after["result"], after["changes"]) == (True, {}), after["comment"]
        return dry, first, second

    def _cache_file(self, path: str, saltenv: str = "base", **_: Any) -> str | bool:
        if path.startswith("salt://"):
            return self.file_client.find(path.removeprefix("salt://").split("?")[0], saltenv) or False
        return path if Path(path).is_file() else False


def snapshot(top: Path) -> dict[str, tuple[Any, ...]]:
    """Return type, mode, owner and content of everything below a directory."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in top.rglob("*"):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(top))] = (status.st_mode, status.st_uid, status.st_gid, content)
    return found


@cache
def _offered(module: ModuleType) -> list[tuple[str, Callable[..., Any]]]:
    """What a module offers: looked for once, and not for each of thousands of tests."""
    return [(name, _blocking(function)) for name, function in exported_functions(module).items()]


def _blocking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let sync code call an ``async def`` function: run it to its end. On a running loop it stays a coroutine."""
    if not inspect.iscoroutinefunction(function):
        return function

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*args, **kwargs))
        return function(*args, **kwargs)

    return run


def _dig(data: Any, key: str, default: Any, delimiter: str) -> Any:
    for part in str(key).split(delimiter):
        if not isinstance(data, dict) or part not in data:
            return default
        data = data[part]
    return data


def _low_of(function: str | Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    state, _, fun = function.rpartition(".") if isinstance(function, str) else ("", "", function.__name__)
    name = kwargs.get("name", "")
    return {**kwargs, "state": state, "fun": fun, "__id__": name, "__sls__": "test", "__env__": "base"}
