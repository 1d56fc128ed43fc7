"""Networks of their own for programs, in namespaces of this machine's kernel. Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import Self

import pytest


class Networks:
    """Two networks with a cable between them: ``with Networks() as networks``.

    `inside` and `outside` start a program in either; their addresses are `INSIDE` and `OUTSIDE`.
    """

    OUTSIDE = "10.99.0.1"
    INSIDE = "10.99.0.2"

    def __init__(self) -> None:
        self._holders: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
            pytest.skip("needs root and the programs unshare, nsenter and ip, to make networks of its own")
        if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
            pytest.skip("this sandbox gives no network namespaces")
        for _ in range(2):
            self._hold()
        outside, inside = (str(each.pid) for each in self._holders)
        if self._do(0, "link", "add", "cable0", "type", "veth", "peer", "name", "cable1", check=False):
            self.__exit__()
            pytest.skip("this kernel has no virtual cables (veth)")
        self._do(0, "link", "set", "cable1", "netns", inside)
        assert outside != inside
        for number, address in enumerate((self.OUTSIDE, self.INSIDE)):
            self._do(number, "addr", "add", f"{address}/24", "dev", f"cable{number}")
            for device in ("lo", f"cable{number}"):
                self._do(number, "link", "set", device, "up")
        return self

    def __exit__(self, *_error: object) -> None:
        for holder in self._holders:
            holder.kill()
            holder.wait()

    def _hold(self) -> None:
        """Start a program that does nothing in a network of its own, which lives as long."""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self._holders.append(holder)
        own = os.readlink("/proc/self/ns/net")
        for _ in range(200):
            if os.readlink(f"/proc/{holder.pid}/ns/net") != own:
                return
            time.sleep(0.05)
        raise AssertionError("unshare gave no network")

    @property
    def outside(self) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._holders[0].pid}/ns/net"]

    @property
    def inside(self) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._holders[1].pid}/ns/net"]

    def cut(self) -> None:
        """Pull the cable."""
        self._do(0, "link", "set", "cable0", "down")

    def heal(self) -> None:
        """Put the cable back."""
        self._do(0, "link", "set", "cable0", "up")

    def _do(self, number: int, *words: str, check: bool = True) -> int:
        prefix = (self.outside, self.inside)[number]
        return subprocess.run([*prefix, "ip", *words], capture_output=True, check=check).returncode
