"""What the engine and other extras ask of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from asyncstate.errors import Issue
    from asyncstate.extras.manual.codes import Code
    from asyncstate.extras.manual.language import Page
    from asyncstate.load.loader import LazyLoader
    from asyncstate.runtime import StateRuntime


def judge(runtime: StateRuntime) -> Iterator[Issue]:
    """Let the compilations of a runtime report wrong values, too; return warnings of unknown names in its settings."""
    from asyncstate.extras.manual.named_in_settings import unknown_names
    from asyncstate.extras.manual.values import judge_values

    judge_values(runtime)
    return unknown_names(runtime)


class Manual:
    """What is known of functions, codes and words of the language. The parts are imported when they are asked for."""

    @staticmethod
    def documentation(loader: LazyLoader) -> Mapping[str, Mapping[str, Any]]:
        """Return the documentation of all functions of a loader, as `asyncstate doc` prints it."""
        from asyncstate.extras.manual.lookup import documentation

        return documentation(loader, None)

    @staticmethod
    def markdown(doc: str) -> str:
        """Return a docstring as Markdown."""
        from asyncstate.extras.manual.function import markdown

        return markdown(doc)

    @staticmethod
    def page_of(word: str) -> Page | None:
        """Return the page that explains a word of the language, None if there is none."""
        from asyncstate.extras.manual.language import page_of

        return page_of(word)

    @staticmethod
    def topics() -> Sequence[str]:
        """Return the words with a page of their own."""
        from asyncstate.extras.manual.language import TOPICS

        return tuple(TOPICS)

    @staticmethod
    def codes() -> Mapping[str, Code]:
        """Return the codes of mistakes, with their explanations."""
        from asyncstate.extras.manual.codes import codes

        return codes()

    @staticmethod
    def code_lines(code: str, entry: Code) -> Iterator[str]:
        """Yield the page of a code for a terminal."""
        from asyncstate.extras.manual.codes import code_lines

        return code_lines(code, entry)


MANUAL = Manual()
