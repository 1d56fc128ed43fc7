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


def options(plugins: PluginHarness) -> None:
    """Let modules read the options of a case."""
    plugins.salt["config.option"] = lambda key: plugins.opts.get(key, "")
