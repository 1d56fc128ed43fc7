"""Play the scenarios of the package managers with the real programs and keep what those answered: run it as root.

python tests/support/record_transcripts.py [yumpkg|zypperpkg|pacmanpkg …]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pacman_root import PacmanRoot
from provider_scenarios import SCENARIOS, Recorder, play
from rpm_root import RpmRoot


def record(name: str) -> None:
    """Play one provider's scenario and write its transcript."""
    import pytest
    from asyncstate.modules import _rpm_database, pacmanpkg

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder)
        root = PacmanRoot(path) if name == "pacmanpkg" else RpmRoot(path, name)
        watch_nothing(patch, _rpm_database, pacmanpkg)
        patch.setattr("asyncstate.modules.zypperpkg._locks._FILE", str(root.root / "etc/zypp/locks"))
        recorder = Recorder(root.run_all, {str(root.root): "/ROOT", str(root.repository): "/REPOSITORY"})
        root.harness.salt["cmd.run_all"] = recorder
        play(SCENARIOS[name], root.harness, root.package)
        recorder.save(name)


def watch_nothing(patch, *modules) -> None:
    """Let what is installed depend on the commands alone."""
    for module in modules:
        patch.setattr(getattr(module, "LISTING", None) or module._LISTING, "_watched", ())


if __name__ == "__main__":
    for each in sys.argv[1:] or SCENARIOS:
        record(each)
