"""One init system with one service ``sun``."""

from __future__ import annotations

from asyncstate.errors import CommandExecutionError


class FakeService:
    """``fails`` names the functions that return False, ``broken`` those that raise."""

    def __init__(self, plugins):
        self.alive = self.boot = self.masked = False
        self.fails, self.broken, self.calls = set(), set(), []
        plugins.salt.update({f"service.{name}": function for name, function in self._functions().items()})

    def _act(self, name, **changes):
        self.calls.append(name)
        if name in self.broken:
            raise CommandExecutionError(f"{name} is broken")
        if name in self.fails:
            return False
        vars(self).update(changes)
        return True

    def _functions(self):
        return {
            "available": lambda name: name == "sun",
            "status": lambda name, sig=None: self.alive,
            "start": lambda name, no_block=False, unmask=False: self._act("start", alive=True),
            "stop": lambda name, no_block=False: self._act("stop", alive=False),
            "restart": lambda name, no_block=False: self._act("restart", alive=True),
            "reload": lambda name: self._act("reload"),
            "force_reload": lambda name: self._act("force_reload"),
            "enabled": lambda name, **_: self.boot,
            "disabled": lambda name, **_: not self.boot,
            "enable": lambda name, **_: self._act("enable", boot=True),
            "disable": lambda name, **_: self._act("disable", boot=False),
        }


class FakeSystemd(FakeService):
    """One that masks services, too."""

    def _functions(self):
        return super()._functions() | {
            "masked": lambda name, runtime=False: self.masked,
            "mask": lambda name, runtime=False: self._act("mask", masked=True),
            "unmask": lambda name, runtime=False: self._act("unmask", masked=False),
        }
