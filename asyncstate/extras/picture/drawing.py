"""Output of the commands that draw a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.cli.console import Console
    from asyncstate.extras.picture.picture import Picture


def show_picture(
    console: Console, options: dict[str, Any], picture: Callable[[], Picture], title: str, data: Callable[[bool], Any]
) -> None:
    """Write a graph in the requested format to a file, or to standard output. Raises GraphvizFailed.

    ``data`` returns it for JSON, given whether edges implied by other paths are shown.
    """
    is_data = options["form"] == "json"
    every_edge = (options["edges"] or ("all" if is_data else "needed")) == "all"
    if is_data:
        from asyncstate.model.encode import json_bytes

        text = json_bytes(data(every_edge)).decode() + "\n"
    else:
        text = _drawn(console, picture(), title, options["form"], every_edge=every_edge)
    if options["output"] is None:
        console.write(text, data=is_data)  # an escaped control character is no JSON
        return
    from asyncstate.cli.output_file import write_file

    write_file(options["output"], text.encode())


def _drawn(console: Console, whole: Picture, title: str, form: str, *, every_edge: bool) -> str:
    from asyncstate.extras.picture.picture import READABLE, dot, html, mermaid

    if form in {"mermaid", "svg"} and len(whole.nodes) > READABLE:
        console.complain(
            f"a picture of {len(whole.nodes)} states is too large to be read",
            hint="Name some SLS, or give --around ID; `asyncstate show impact ID` says what depends on a state.",
        )
    if form == "html":
        return html(whole, title)
    picture = whole if every_edge else whole.reduced()
    if form == "mermaid":
        return mermaid(picture)
    if form == "dot":
        return dot(picture)
    from asyncstate.extras.picture.graphviz import graphviz_svg

    return graphviz_svg(dot(picture))
