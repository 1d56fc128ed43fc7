"""Loader of the templates that ``import``, ``include``, ``extends`` and ``import_yaml`` name, from the file roots."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from jinja2 import BaseLoader, Environment, Template, TemplateNotFound

from asyncstate.errors import RenderError
from asyncstate.render.jinja_environment import TemplateEnvironment, compiled

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from asyncstate.dunders import TreeFiles
    from asyncstate.render.kept import Kept


class RootsLoader(BaseLoader):
    """Reads templates from the file roots of one environment, each at most once per rendering.

    ``sources`` keeps the texts of all templates read, by real path, for the excerpts of error messages. ``kept`` has
    templates that are compiled already.
    """

    def __init__(self, files: TreeFiles, saltenv: str, kept: Kept | None = None) -> None:
        self._files = files
        self._saltenv = saltenv
        self._kept = kept
        self._relative: dict[str, tuple[str, str, str]] = {}
        self._directories: dict[str, str] = {}
        self.sources: dict[str, str] = {}

    def resolve_relative(self, name: str, parent: str, directory: str) -> str:
        """Return the directory of the importer and the relative ``name`` as one path, known to `get_source`.

        The directory is the ``tpldir`` of the importing template, which is ``directory`` for the one that is rendered;
        if there is no such file, the directory of the importing template. Raises TemplateNotFound for a path that
        leaves the root.
        """
        base = self._directories.get(parent, directory)
        paths = [(each, posixpath.normpath(posixpath.join(each, name))) for each in (base, posixpath.dirname(parent))]
        for each, path in paths:
            if not _leaves_root(path) and self._files.find(path, self._saltenv) is not None:
                found = posixpath.join(each, name)
                self._relative[found] = path, name, base
                return found
        _, path = paths[0]
        if _leaves_root(path):
            raise TemplateNotFound(name, f"{name}: attempts to ascend outside of salt://")
        return path

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, None]:  # noqa: ARG002 - Jinja's signature
        """Return the text and the real path of a template. Raises TemplateNotFound."""
        from_root = self._relative[template][0] if template in self._relative else template
        path = None if _leaves_root(from_root) else self._files.find(from_root, self._saltenv)
        if path is None:
            raise TemplateNotFound(
                template, f"{template}: no such template in the file roots of saltenv '{self._saltenv}'"
            )
        try:
            text = self._files.read(path).decode()
        except (RenderError, UnicodeDecodeError) as error:
            raise TemplateNotFound(template, f"{template}: {error}") from None
        self.sources[path] = text
        return text, path, None

    def load(self, environment: Environment, name: str, globals: MutableMapping[str, Any] | None = None) -> Template:
        """Return the compiled template, which has its own ``tpldir``, ``tplfile`` and ``tpldot``.

        As in Salt, a template with a relative name has that name as ``tplfile``, and the ``tpldir`` of its importer.
        """
        text, path, _ = self.get_source(environment, name)
        assert isinstance(environment, TemplateEnvironment)  # noqa: S101 - no other kind of environment has this loader
        code = compiled(environment.asyncstate_options, text, name, path, self._kept)
        _, tplfile, directory = self._relative.get(name, ("", name, posixpath.dirname(name)))
        self._directories[name] = directory or "."
        place = {"tplfile": tplfile, "tpldir": directory or ".", "tpldot": directory.replace("/", ".")}
        return environment.template_class.from_code(environment, code, {**(globals or {}), **place})


def _leaves_root(template: str) -> bool:
    return template.startswith("/") or ".." in template.split("/")
