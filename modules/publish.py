"""The ``publish`` execution module: in Salt it queries other minions through the master; here there is no master."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger(__name__)


def publish(tgt: Any, fun: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return {}: no minion answers, as in Salt without a master."""
    log.warning("publish.publish of %s to %s reaches nobody: there is no Salt master", fun, tgt)
    return {}


def full_data(tgt: Any, fun: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return {}: no minion answers, as in Salt without a master."""
    return publish(tgt, fun)


def runner(fun: str, *args: Any, **kwargs: Any) -> str:
    """Return Salt's sentence for a machine without a master."""
    log.warning("publish.runner of %s reaches nobody: there is no Salt master", fun)
    return "No access to master. If using salt-call with --local, please remove."
