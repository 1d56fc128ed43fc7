"""The ``service`` execution module of a system that systemd runs: which units there are, and their state."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import __salt__

from . import _service_queries

__virtualname__ = "service"

_NO_SUCH_UNIT = 4


def __virtual__() -> str | tuple[bool, str]:
    """Load where systemd is the init."""
    if _service_queries.systemd_runs():
        return __virtualname__
    return False, "The systemd_service module could not be loaded: systemd does not run this system"


def get_all() -> list[str]:
    """Return every service unit, without its suffix, sorted."""
    units = _systemctl("list-unit-files", "--type=service", "--no-legend", "--no-pager")["stdout"]
    return sorted({line.split()[0].removesuffix(".service") for line in units.splitlines() if line.strip()})


def available(name: str) -> bool:
    """Return whether there is such a unit; templates count."""
    return 0 <= int(_systemctl("status", _unit(name))["retcode"]) < _NO_SUCH_UNIT


def missing(name: str) -> bool:
    """Return whether there is no such unit."""
    return not available(name)


def enabled(name: str, **_: object) -> bool:
    """Return whether a unit is started at boot."""
    answer = _systemctl("is-enabled", _unit(name))
    if answer["stdout"] == "alias":
        answer = _systemctl("is-enabled", _systemctl("show", _unit(name), "-P", "Id")["stdout"])
    return bool(answer["retcode"] == 0)


def disabled(name: str, **_: object) -> bool:
    """Return whether a unit is not started at boot."""
    return not enabled(name)


def status(name: str, sig: str | None = None) -> bool | dict[str, bool]:
    """Return whether a unit is active; of a shell pattern, a dict."""
    return _service_queries.each(name, get_all, _runs)


def _runs(name: str) -> bool:
    return bool(_systemctl("is-active", _unit(name))["retcode"] == 0)


def _unit(name: str) -> str:
    suffixes = (".service", ".socket", ".timer", ".target", ".path", ".mount", ".slice", ".scope", ".device", ".swap")
    return name if name.endswith(suffixes) else f"{name}.service"


def _systemctl(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = __salt__["cmd.run_all"](
        ["systemctl", *arguments], python_shell=False, ignore_retcode=True, output_loglevel="quiet"
    )
    return answer
