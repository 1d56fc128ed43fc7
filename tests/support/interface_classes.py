"""The interfaces that come with this package."""

import importlib
import pkgutil

from asyncstate import interfaces


def bundled_interfaces():
    """Return their classes by virtual name."""
    found = {}
    for _, name, _ in pkgutil.iter_modules(interfaces.__path__):
        for each in vars(importlib.import_module(f"asyncstate.interfaces.{name}")).values():
            if (
                isinstance(each, type)
                and issubclass(each, interfaces.Interface)
                and getattr(each, "__modulename__", "")
            ):
                found[each.__modulename__] = each
    return found
