"""An SLS that is to be rendered, for a product that keeps renderings: what its templates read is noted."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from asyncstate.sources.fileclient import noted_reads
from asyncstate.sources.pillar_watch import WatchedPillar
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.render import Rendered
    from asyncstate.sources.fileclient import SlsFile


class Made(Value):
    """A rendering, the files that it found or read (each with its sha256, or ""), and the keys of the pillar."""

    rendered: Rendered
    files: Mapping[str, str]
    pillar_keys: frozenset[Any]


class Wanted:
    """A file to render. ``read`` returns any file, ``render`` renders this one; ``pillar`` is None unless watched."""

    def __init__(
        self,
        file: SlsFile,
        extra: Mapping[str, Any],
        *,
        pillar: Mapping[str, Any],
        grains: Mapping[str, Any],
        read: Callable[[str], bytes],
        render: Callable[[], Rendered],
    ) -> None:
        self.file: SlsFile = file
        self.extra: Mapping[str, Any] = extra
        self.pillar: WatchedPillar | None = pillar if isinstance(pillar, WatchedPillar) else None
        self.grains: Mapping[str, Any] = grains
        self.read: Callable[[str], bytes] = read
        self.render: Callable[[], Rendered] = render

    def made(self) -> Made:
        """Render the file, and note what that reads."""
        watched = self.pillar
        with noted_reads() as files, nullcontext(()) if watched is None else watched.noted() as keys:
            rendered = self.render()
        return Made(rendered, files, frozenset(keys))
