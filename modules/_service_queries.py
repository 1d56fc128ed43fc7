"""What the service modules share: one name, or all that match a shell pattern."""

from __future__ import annotations

import fnmatch
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PATTERN = re.compile(r"\*|\?|\[.+\]")


def systemd_runs() -> bool:
    """Return whether systemd is this machine's init."""
    return os.path.isdir("/run/systemd/system")


def each(name: str, all_services: Callable[[], Iterable[str]], ask: Callable[[str], bool]) -> bool | dict[str, bool]:
    """Return the answer for a service; for a shell pattern, a dict with one for each service it matches."""
    if not _PATTERN.search(name):
        return ask(name)
    return {service: ask(service) for service in fnmatch.filter(all_services(), name)}
