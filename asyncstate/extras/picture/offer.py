"""What the engine and other extras ask of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from asyncstate.cli.console import Console
    from asyncstate.extras.picture.html import Page
    from asyncstate.extras.picture.picture import Picture
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import HostResult


class Pictures:
    """Pages of runs, and drawings of graphs. The parts are imported when they are asked for."""

    @staticmethod
    def page(result: HostResult, profile: Any, plan: Plan | None, **about: Any) -> str:
        """Return the page of a run: see `asyncstate.extras.picture.html`, which has the facts ``about`` it."""
        from asyncstate.extras.picture.html import About, html_report

        return html_report(result, profile, plan, About(**about))

    @staticmethod
    def blank_page(hosts: Iterable[str], failed_hosts: Iterable[int], wall: float) -> Page:
        """Return the page of a run across hosts, without states."""
        from asyncstate.extras.picture.html import Page

        return Page(hosts=list(hosts), failed_hosts=list(failed_hosts), wall=wall)

    @staticmethod
    def blank_picture() -> Picture:
        """Return a graph to draw, without nodes."""
        from asyncstate.extras.picture.picture import Picture

        return Picture()

    @staticmethod
    def options(command: Any) -> Any:
        """Add the options of commands that draw a graph."""
        from asyncstate.extras.picture.options import picture_options

        return picture_options(command)

    @staticmethod
    def show(
        console: Console,
        options: dict[str, Any],
        picture: Callable[[], Picture],
        title: str,
        data: Callable[[bool], Any],
    ) -> None:
        """Write a graph in the form and to the file that these options say. Raises GraphvizFailed."""
        from asyncstate.extras.picture.drawing import show_picture

        show_picture(console, options, picture, title, data)

    @staticmethod
    def dot(plan: Plan) -> str:
        """Return the graph of a plan in Graphviz's language."""
        from asyncstate.extras.picture.picture import dot
        from asyncstate.extras.picture.plan_graph import picture_of

        return dot(picture_of(plan))

    @staticmethod
    def mermaid_text(text: str) -> str:
        """Return a text escaped for the quotes of a label of Mermaid."""
        from asyncstate.extras.picture.picture import mermaid_text

        return mermaid_text(text)


PICTURES = Pictures()
