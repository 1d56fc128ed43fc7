"""Loader of the templates that ``import``, ``include``, ``extends`` and ``import_yaml`` name, from the file roots."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from jinja2 import BaseLoader, Environment, Template, TemplateNotFound

from asyncstate.errors import RenderError
from asyncstate.render.jinja_environment import TemplateEnvironment, compiled

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from asyncstate.render.context import Files
    from asyncstate.render.kept import Kept


class RootsLoader(BaseLoader):
    """Reads templates from the file roots of one environment, each at most once per rendering.

    ``sources`` keeps the texts of all templates read, by real path, for the excerpts of error messages. ``kept`` has
    templates that are compiled already.
    """

    def __init__(self, files: Files, saltenv: str, kept: Kept | None = None) -> None:
        self._files = files
        self._saltenv = saltenv
        self._kept = kept
        self.sources: dict[str, str] = {}

    def resolve_relative(self, name: str, parent: str, directory: str) -> str:
        """Return the path from the root of a relative ``name``.

        The path is relative to the directory of the importing template; if there is no such file, to ``directory``,
        from which Salt resolves the imports of imported templates. Raises TemplateNotFound for a path that leaves the
        root.
        """
        candidates = [posixpath.normpath(posixpath.join(base, name)) for base in (posixpath.dirname(parent), directory)]
        for candidate in candidates:
            if candidate.startswith(("..", "/")):
                raise TemplateNotFound(name, f"{name}: attempts to ascend outside of salt://")
            if self._files.find(candidate, self._saltenv) is not None:
                return candidate
        return candidates[0]

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, None]:  # noqa: ARG002 - Jinja's signature
        """Return the text and the real path of a template. Raises TemplateNotFound."""
        path = None if _leaves_root(template) else self._files.find(template, self._saltenv)
        if path is None:
            raise TemplateNotFound(
                template, f"{template}: no such template in the file roots of saltenv '{self._saltenv}'"
            )
        try:
            text = self._files.read(path).decode()
        except (OSError, RenderError, UnicodeDecodeError) as error:
            raise TemplateNotFound(template, f"{template}: {error}") from None
        self.sources[path] = text
        return text, path, None

    def load(self, environment: Environment, name: str, globals: MutableMapping[str, Any] | None = None) -> Template:
        """Return the compiled template, which has its own ``tpldir``, ``tplfile`` and ``tpldot``."""
        text, path, _ = self.get_source(environment, name)
        assert isinstance(environment, TemplateEnvironment)  # noqa: S101 - no other kind of environment has this loader
        code = compiled(environment.asyncstate_options, text, name, path, self._kept)
        directory = posixpath.dirname(name)
        place = {"tplfile": name, "tpldir": directory or ".", "tpldot": directory.replace("/", ".")}
        return environment.template_class.from_code(environment, code, {**(globals or {}), **place})


def _leaves_root(template: str) -> bool:
    return template.startswith("/") or ".." in template.split("/")
