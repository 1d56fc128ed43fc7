"""Cache of rendered SLS files: a change renders again only the files that it concerns.

A rendering is used again while the texts, grains and pillar values that it read are the same. Anything else that a
template reads, such as a file of this machine, is read again when the disk may have changed (`Renderings.forget`).
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from asyncstate.extras.editor.harmless import LeftOut
from asyncstate.sources import fileclient
from asyncstate.sources.pillar_watch import WatchedPillar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.render import Rendered

_PECULIAR: Final = re.compile(rb"\A#!.*gpg|rendered_sls|\sdo\s[^%]*pillar")
"""A text whose rendering does more than return data: it decrypts, or changes the pillar of the others."""

_OF_PROCESS: Final = "pid"
"""A grain that differs between processes, also in the fork that compiles the whole."""


class _Kept(NamedTuple):
    """A rendering. ``texts`` are the files that it read, None for one as it is on the disk."""

    rendered: Rendered
    texts: dict[str, str | None]
    pillar_keys: frozenset[Any]
    left_out: tuple[str, ...]


class Renderings:
    """The renderings of one tree, kept from job to job."""

    def __init__(self) -> None:
        self._kept: dict[Any, _Kept] = {}
        self._texts: Mapping[str, str] = {}
        self._left_out = LeftOut()
        self._pillar: dict[str, Any] = {}
        self._grains: Mapping[str, Any] = {}
        self._grains_seen: Mapping[str, Any] = {}

    def begin(self, texts: Mapping[str, str], left_out: LeftOut) -> None:
        """Begin to compile with these texts in place of those on the disk."""
        self._texts = texts
        self._left_out = left_out

    def forget(self) -> None:
        """Forget all: the disk may have changed."""
        self._kept.clear()

    def of(
        self,
        file: fileclient.SlsFile,
        extra: Mapping[str, Any],
        *,
        pillar: Mapping[str, Any],
        grains: Mapping[str, Any],
        read: Callable[[str], bytes],
        render: Callable[[], Rendered],
    ) -> Rendered:
        """Return a file as it was rendered before, or render it.

        Files of the pillar are rendered while there is no pillar; all others while it is watched.
        """
        watched = pillar if isinstance(pillar, WatchedPillar) else None
        self._compare(grains, watched)
        held = self._kept.get(file)
        if held is not None and all(self._texts.get(path) == text for path, text in held.texts.items()):
            for name in held.left_out:
                self._left_out.note(name, file.path)
            if watched is not None:
                watched.see(held.pillar_keys)
            return held.rendered.copy()
        self._kept.pop(file, None)
        if extra.keys() - {"rendered_sls"}:
            return render()
        with fileclient.noted_reads() as files, nullcontext(()) if watched is None else watched.noted() as keys:
            rendered = render()
        if not any(_PECULIAR.search(read(path)) for path, digest in files.items() if digest):
            names = tuple(self._left_out.by_file.get(file.path, ()))
            texts = {path: self._texts.get(path) for path in files}
            self._kept[file] = _Kept(rendered.copy(), texts, frozenset(keys), names)
        return rendered

    def _compare(self, grains: Mapping[str, Any], pillar: WatchedPillar | None) -> None:
        """Forget renderings that read other grains or other pillar values."""
        if self._grains is not grains:
            lasting = {name: value for name, value in grains.items() if name != _OF_PROCESS}
            if self._grains_seen != lasting:
                self._kept.clear()
            self._grains, self._grains_seen = grains, lasting
        if pillar is not None and self._pillar is not pillar:
            changed = pillar.changed_since(self._pillar)
            if changed:
                self._kept = {file: kept for file, kept in self._kept.items() if changed.isdisjoint(kept.pillar_keys)}
            self._pillar = pillar
