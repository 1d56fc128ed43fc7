"""The modules that a call of the command line imports."""

from __future__ import annotations

import subprocess
import sys


def imported(*words):
    """Modules that a process imports for one call of the command line."""
    code = "import sys\nfrom asyncstate.cli import main\nmain(sys.argv[1:])\nsys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


HEAVY = {
    "asyncio",
    "anyio",
    "jinja2",
    "structlog",
    "rich",
    "yaml",
    "msgspec",
    "importlib.metadata",
    "asyncstate.config",
}
