"""Programs of apt that do nothing, beside the real gpg."""

from __future__ import annotations

import subprocess


class FakeApt:
    """``updates`` counts how often the lists of packages were fetched."""

    def __init__(self, plugins):
        self.updates = 0
        plugins.salt["cmd.run_all"] = self._run
        plugins.salt["cmd.which"] = lambda name: name in {"gpg", "apt-key"}

    def _run(self, command, **_):
        self.updates += "update" in command
        if command[0] != "gpg":
            return {"pid": 1, "retcode": 0, "stdout": "", "stderr": ""}
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return {"pid": 1, "retcode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
