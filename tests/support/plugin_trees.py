"""Trees of plugin files on disk, and a host that loads them."""

from __future__ import annotations

import asyncio
import os
import textwrap
from contextlib import asynccontextmanager

from asyncstate.load.host import PluginHost


class Roots:
    """The part of a file client that the loader needs."""

    def __init__(self, **envs):
        self._envs = {env: [str(path) for path in paths] for env, paths in envs.items()}

    def envs(self):
        return list(self._envs)

    def roots(self, saltenv):
        return self._envs.get(saltenv, [])


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def rewrite(path, text):
    """Write a file so that it is younger than it was, whatever the clock's resolution."""
    before = path.stat().st_mtime_ns
    write(path, text)
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


class PluginTree:
    """Plugins under one file root: ``tree.add("_states/x.py", text)``, then ``tree.host()``."""

    def __init__(self, root):
        self.root = root

    def add(self, name, text):
        return write(self.root / name, text)

    def host(self, opts=None, **options):
        return PluginHost({"id": "m", "test": False, **(opts or {})}, file_client=Roots(base=[self.root]), **options)

    @asynccontextmanager
    async def attached(self, opts=None, **options):
        host = self.host(opts, **options)
        host.attach(asyncio.get_running_loop())
        try:
            yield host
        finally:
            host.detach()
