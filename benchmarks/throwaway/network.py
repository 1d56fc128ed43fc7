"""Starts a program in a network namespace that reaches one socket of its maker's and nothing else.

``unshare --net python network.py DESCRIPTOR PORT COMMAND…`` brings the loopback device up, listens on the port, sends
the listening socket through the descriptor (a Unix socket), and becomes the command.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys


def main() -> None:
    """Listen, hand the listener over, and become the command."""
    descriptor, port, *command = sys.argv[1:]
    up, request = 0x1, 0x8914  # IFF_UP, SIOCSIFFLAGS
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, request, struct.pack("16sh22x", b"lo", up))
    listener = socket.create_server(("127.0.0.1", int(port)))
    with socket.socket(fileno=int(descriptor)) as maker:
        socket.send_fds(maker, [b"."], [listener.fileno()])
    listener.close()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
