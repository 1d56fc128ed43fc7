"""A picture as SVG, drawn by Graphviz."""

from __future__ import annotations

import shutil

from asyncstate.errors import AsyncStateError, CommandExecutionError
from asyncstate.process.child import run_child

_PATIENCE = 60.0
"""Timeout for Graphviz, in seconds."""


class GraphvizFailed(AsyncStateError):
    """Graphviz is not installed, or does not draw the picture."""


def graphviz_svg(dot: str) -> str:
    """Return the SVG that the program ``dot`` draws. Raises GraphvizFailed."""
    program = shutil.which("dot")
    if program is None:
        raise GraphvizFailed(
            "Graphviz draws an SVG, but there is no program dot in PATH: install Graphviz (apt install graphviz), "
            "or use --format html, which every browser shows"
        )
    try:
        done = run_child([program, "-Tsvg"], stdin=dot.encode(), timeout=_PATIENCE)
    except (OSError, CommandExecutionError) as error:
        raise GraphvizFailed(f"Graphviz does not work: {error}. Without it, use --format html") from error
    if done.timed_out:
        raise GraphvizFailed(
            f"Graphviz needs more than {_PATIENCE:g} seconds for this graph: draw a part of it, or use --format html"
        )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise GraphvizFailed(f"Graphviz failed with exit code {done.returncode}: {said}. Use --format html")
    return done.stdout.decode(errors="replace")
