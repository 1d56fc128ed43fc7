"""Reports to the service manager that this program is ready: sd_notify(3), for units with ``Type=notify``."""

from __future__ import annotations

import os
import socket
from contextlib import suppress


def tell_ready() -> None:
    """Send READY=1 to the socket in ``NOTIFY_SOCKET``, once; without one, do nothing.

    Programs that this one starts do not see the variable.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    # A manager that does not listen ends the unit by its own time limit, with a message of its own.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        manager.sendall(b"READY=1")
