"""What stands for the programs of the system in tests of states: those of this machine, run without the module cmd."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plugin_harness import PluginHarness


class Programs:
    """Runs the programs of this machine, as ``cmd.run_all`` does."""

    def __init__(self, plugins: PluginHarness) -> None:
        plugins.salt["cmd.run_all"] = self._run
        plugins.salt["cmd.run"] = lambda command, **options: self._run(command, **options)["stdout"]

    def _run(
        self, command: str | list[str], cwd: str | None = None, *, rstrip: bool = True, **_: Any
    ) -> dict[str, Any]:
        shell = isinstance(command, str)
        done = subprocess.run(command, cwd=cwd, shell=shell, capture_output=True, text=True, check=False)
        return {
            "retcode": done.returncode,
            "stdout": done.stdout.strip() if rstrip else done.stdout,
            "stderr": done.stderr.strip(),
            "pid": 1,
        }


class Web:
    """Has the files below ``{root}/web`` at ``https://web/``, and the programs of this machine."""

    def __init__(self, plugins: PluginHarness) -> None:
        Programs(plugins)
        self.asked: list[str] = []
        self._folder = plugins.tmp_path / "root" / "web"
        plugins.salt["cp.cache_file"] = self._fetch
        plugins.salt["cp.is_cached"] = lambda url, **_: self._fetch(url) if url in self.asked else ""

    def _fetch(self, url: str, *_: Any, **__: Any) -> str:
        self.asked.append(url)
        path = self._folder / url.removeprefix("https://web/")
        return str(path) if path.is_file() else ""


def options(plugins: PluginHarness) -> None:
    """Let modules read the options of a case."""
    plugins.salt["config.option"] = lambda key: plugins.opts.get(key, "")
