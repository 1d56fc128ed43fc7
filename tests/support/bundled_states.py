"""The bundled state modules as the compiler asks for them, without the runtime that loads them."""

import importlib

from bare_footprints import VIRTUAL
from trees import edges, plan

from asyncstate.load.plugin import LoadedFunction, LoadedModule

FILES = {virtual: file for file, virtual in VIRTUAL.items()}


def state_module(name):
    return importlib.import_module(f"asyncstate.states.{name}")


class Bundled:
    def has(self, name):
        return False

    def find(self, name):
        module, _, function = name.partition(".")
        try:
            found = getattr(state_module(FILES.get(module, module)), function, None)
        except ModuleNotFoundError:
            return None
        return None if found is None else LoadedFunction(name, found, LoadedModule(module, "", None, bundled=True))

    def refused(self, module_name):
        return None


def edges_between(*states, **options):
    """The edges between states of different formulas."""
    tree = {f"formula{number}": f"s{number}: {{{state}}}\n" for number, state in enumerate(states)}
    return edges(plan(tree, list(tree), states=Bundled(), implicit_order="footprint", **options))
