"""The operator's tree, as a runner sees it: files are fetched over the stream on demand, the pillar comes rendered.

Files lie in a private folder of the runner, one folder for each environment, and are removed with it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from asyncstate import filesystem
from asyncstate.errors import RenderError
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.ssh import frames
from asyncstate.sources.fileclient import LocalFileClient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from asyncstate.extras.fleet.ssh.channel import Channel
    from asyncstate.redact import Secrets

_PLUGINS: Final = ("_states/", "_modules/", "_utils/", "_grains/", "_renderers/", "_interfaces/")
"""Folders of the tree that are searched on the disk: they are fetched as a whole, before anything else."""


class StreamFiles(LocalFileClient):
    """The files of the operator's roots, each fetched once when it is first found."""

    def __init__(self, channel: Channel, folder: str, environments: Sequence[str]) -> None:
        super().__init__({env: [os.path.join(folder, env)] for env in environments})
        self._channel = channel
        self._folder = folder
        self._all: dict[str, frames.Listing] = {}
        self._known: dict[str, frozenset[str]] = {}
        for env in environments:
            filesystem.makedirs(os.path.join(folder, env), 0o700)

    def url_of(self, path: str) -> str:
        """Return the ``salt://`` URL of a fetched file, any other path unchanged."""
        for env in self.envs():
            if path.startswith(f"{self._folder}/{env}/"):
                return "salt://" + path.removeprefix(f"{self._folder}/{env}/")
        return path

    def named(self, text: str) -> str:
        """Return a message with ``salt://`` URLs in place of local paths."""
        for env in self.envs():
            text = text.replace(f"{self._folder}/{env}/", "salt://")
        return text

    def bring_plugins(self) -> None:
        """Fetch the plugins of the tree."""
        for env in self.envs():
            for path in self._of(env).files:
                if path.startswith(_PLUGINS):
                    self._bring(path, env)

    def _found(self, path: str, saltenv: str) -> str | None:
        if saltenv not in self.envs() or (path not in self._known.get(saltenv, ()) and not self._knows(path, saltenv)):
            return None
        return self._bring(path, saltenv)

    def _knows(self, path: str, saltenv: str) -> bool:
        self._of(saltenv)
        return path in self._known[saltenv]

    def list_states(self, saltenv: str) -> list[str]:
        """Return the dotted names of every SLS of an environment, sorted."""
        return self._of(saltenv).states

    def list_files(self, saltenv: str) -> list[str]:
        """Return the paths of every file of an environment, sorted."""
        return self._of(saltenv).files

    def list_dirs(self, saltenv: str) -> list[str]:
        """Return the paths of every folder of an environment, sorted."""
        return self._of(saltenv).dirs

    def list_empty_dirs(self, saltenv: str) -> list[str]:
        """Return the paths of every empty folder of an environment, sorted."""
        return self._of(saltenv).empty_dirs

    def list_symlinks(self, saltenv: str) -> dict[str, str]:
        """Return the links of an environment, each with its target."""
        return self._of(saltenv).links

    def _of(self, saltenv: str) -> frames.Listing:
        if saltenv not in self._all:
            found = frames.value_of(self._channel.ask("listing", saltenv).result(), frames.Listing)
            for path in found.files:
                if os.path.isabs(path) or "\0" in path or {"", ".", ".."} & set(path.split("/")):
                    raise BoardError(f"the operator's tree ({saltenv}) lists a file outside of its roots: {path!r}")
            self._known[saltenv] = frozenset(found.files)
            self._all[saltenv] = found
        return self._all[saltenv]

    def _bring(self, path: str, saltenv: str) -> str:
        """Return the local path of a file of the tree. Raises RenderError if it is no longer available."""
        root = os.path.join(self._folder, saltenv)
        full = os.path.join(root, path)
        if os.path.lexists(full):
            return full
        try:
            self._fetch(path, saltenv, full)
        except (BoardError, OSError) as error:
            raise RenderError(f"Cannot read salt://{path}: {error}", file=full) from None
        return full

    def _fetch(self, path: str, saltenv: str, full: str) -> None:
        filesystem.makedirs(os.path.dirname(full), 0o700)
        with filesystem.Replacement(full, 0o600, is_temporary=False) as new:
            size, mode, last = 0, 0o600, False
            while not last:
                answer = self._channel.ask("fetch", saltenv, path, size).result()
                piece = frames.value_of(answer, frames.Piece)
                if not piece.data and not piece.last:
                    raise BoardError("a piece of it is empty and not the last")
                new.write(piece.data)
                size, mode, last = size + len(piece.data), piece.mode, piece.last
            new.commit(sync=False)
        if not path.startswith(_PLUGINS):
            os.chmod(full, mode)


class StreamTree:
    """The operator's tree in a run, an `asyncstate.services.TreeElsewhere`."""

    def __init__(self, channel: Channel, files: StreamFiles, run: str = "") -> None:
        self.files: StreamFiles = files
        self.channel: Channel = channel
        self._run = run

    def pillar(self, grains: Mapping[str, Any], override: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
        """Return the pillar that the operator's program renders for this host. Raises PillarError."""
        del override  # the operator's program has the override already
        answer: Future[Any] = self.channel.ask("pillar", dict(grains), self._run)
        found = frames.value_of(answer.result(), frames.Pillar)
        for each in found.secrets:
            secrets.add(each)
        return found.pillar


class WithoutPillar:
    """The operator's tree for runtimes that only gather grains."""

    def __init__(self, tree: StreamTree) -> None:
        self.files: StreamFiles = tree.files

    def pillar(self, grains: Mapping[str, Any], override: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
        """Return nothing."""
        del grains, override, secrets
        return {}
