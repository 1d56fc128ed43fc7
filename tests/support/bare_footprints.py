"""Prints what the bundled states declare where neither a program nor an optional library is installed, as JSON.

``PATH= python bare_footprints.py``; ``declared(source)`` says the same of any source of state modules.
"""

import importlib.util
import json
import pkgutil
import sys
from pathlib import Path

from msgspec.structs import astuple

from asyncstate.compile.findings import Findings
from asyncstate.effects.footprint import Footprints
from asyncstate.effects.formula import FormulaRule
from asyncstate.model.chunk import LowChunk

NEEDED = {
    "anyio",
    "click",
    "idna",
    "jinja2",
    "markupsafe",
    "msgspec",
    "rich",
    "sniffio",
    "structlog",
    "yaml",
}
VIRTUAL = {"ini_manage": "ini", "debconfmod": "debconf"}
ARGUMENTS = {"source": "/s", "user": "u", "image": "i", "target": "/t", "private_key": "/k", "path": "/p", "link": "/l"}


class OnlyWhatIsNeeded:
    """Refuses every import of a library that asyncstate does not depend on."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in NEEDED or top in {"asyncstate", "_yaml"}:
            return
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def declared(source):
    """The footprint of one call of each bundled state module, by the name of its file."""
    folder = Path(importlib.util.find_spec("asyncstate.states").submodule_search_locations[0])
    names = sorted(info.name for info in pkgutil.iter_modules([str(folder)]) if not info.name.startswith("_"))
    footprints = Footprints(source, FormulaRule(strict=False), Findings().warn_at)
    return {
        name: astuple(
            footprints.of_all(
                [LowChunk(0, VIRTUAL.get(name, name), "present", "i", "/n", "formula.part", "base", 0, ARGUMENTS)], [0]
            )[0]
        )
        for name in names
    }


if __name__ == "__main__":
    from plugin_trees import Roots

    from asyncstate.load.host import PluginHost

    sys.meta_path.insert(0, OnlyWhatIsNeeded())
    host = PluginHost({"id": "m", "test": False}, file_client=Roots())
    states = host.loaders["states"]
    with host.enter():
        found = declared(states)
    refused = sorted(name for name in found if states.module(VIRTUAL.get(name, name)) is None)
    sys.stdout.write(json.dumps({"footprints": found, "refused": refused}))
