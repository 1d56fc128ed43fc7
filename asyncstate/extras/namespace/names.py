"""The names of ``salt``: modules are imported on first use, and a missing name raises a helpful error."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ModuleGetattr = Callable[[str], Any]
"""The ``__getattr__`` of a module (PEP 562)."""

_HOME: Final = f"{__package__}.salt"

_INSTEAD: Final = {
    "salt.client": "use __salt__: there is no master to send jobs to",
    "salt.cloud": "asyncstate does not manage cloud machines",
    "salt.config.master_config": "there is no master; __opts__ has the options of this host",
    "salt.crypt": "there are no keys of a minion or master",
    "salt.fileclient": "use __salt__['cp.get_file'] and its kin",
    "salt.grains": "use __grains__",
    "salt.key": "there are no keys of a minion or master",
    "salt.minion": "use __salt__, __states__ and __opts__",
    "salt.modules": "only the modules of asyncstate are here; __salt__ has all",
    "salt.pillar": "use __pillar__ and __salt__['pillar.get']",
    "salt.renderers": "use __salt__['slsutil.renderer']",
    "salt.runner": "there are no runners",
    "salt.runners": "there are no runners",
    "salt.states": "only the states of asyncstate are here; __states__ has all",
    "salt.template": "use __salt__['slsutil.renderer']",
    "salt.utils.cache": "keep it in __context__",
    "salt.utils.context": "keep it in __context__",
    "salt.utils.decorators.jinja": "templates call functions of custom modules through salt",
    "salt.utils.event": "use __salt__['event.send']",
    "salt.utils.files.set_umask": "the umask belongs to the whole process; use fpopen(…, mode=…)",
    "salt.utils.process": "use __salt__['cmd.run_all']",
    "salt.utils.templates": "use __salt__['slsutil.renderer'], or file.managed with a template",
    "salt.utils.timed_subprocess": "use __salt__['cmd.run_all']",
    "salt.utils.user.chugid": "use __salt__['cmd.run'](…, runas=…)",
    "salt.utils.vt": "use __salt__['cmd.run_all']",
    "salt.wheel": "there is no master",
}


def absent(name: str) -> str:
    """Return the message for a name of Salt that this namespace does not have."""
    parts = name.split(".")
    hints = (_INSTEAD.get(".".join(parts[:length])) for length in range(len(parts), 1, -1))
    hint = next((f"; {hint}" for hint in hints if hint), "")
    return f"asyncstate offers no {name} to custom modules{hint}. To use Salt's own, install salt beside asyncstate"


def imported(name: str, wanted: Iterable[str]) -> ModuleType:
    """Return what ``import name`` gives, or ``from name import wanted``. Raises ImportError if a name is missing."""
    module = _module(name)
    for attribute in wanted:
        if attribute != "*" and not hasattr(module, attribute):
            raise ImportError(absent(f"{name}.{attribute}"), name=name)
    return module if wanted else _module("salt")


def _module(name: str) -> ModuleType:
    module = importlib.import_module(_HOME)
    for part in name.split(".")[1:]:
        inner = getattr(module, part, None)
        if not isinstance(inner, ModuleType):
            raise ModuleNotFoundError(absent(name), name=name)
        module = inner
    return module


def submodules(package: str, moved: Mapping[str, str] | None = None) -> ModuleGetattr:
    """Return the ``__getattr__`` of a package whose submodules are imported on first use.

    So ``import salt`` is enough to use ``salt.utils.files``, as in Salt, where other code has always imported it.
    ``moved`` gives the new places of names that used to be in the package itself: ``{"which": "path.which"}``.
    """

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if moved is not None and name in moved:
            where, _, attribute = moved[name].rpartition(".")
            return getattr(importlib.import_module(f"{package}.{where}"), attribute)
        module = f"{package}.{name}"
        if importlib.util.find_spec(module) is None:
            raise AttributeError(absent(f"salt{module.removeprefix(_HOME)}"))
        return importlib.import_module(module)

    return get


def nothing_else(module: str) -> ModuleGetattr:
    """Return a module's ``__getattr__`` that raises a helpful error for every missing name."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(absent(f"salt{module.removeprefix(_HOME)}.{name}"))

    return get
