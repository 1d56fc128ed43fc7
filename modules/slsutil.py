"""The ``slsutil`` execution module: merging, rendering and serialising for templates."""

from __future__ import annotations

import os
import posixpath
import textwrap
from typing import TYPE_CHECKING, Any

from asyncstate import dunders, filesystem
from asyncstate.data import formats, merging
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

if TYPE_CHECKING:
    from collections.abc import Callable

_TITLE = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT"
_PLACE_OF_STRING = {"tplpath": ":string:", "tplfile": ":string:", "tpldir": ".", "tpldot": ""}
_TEXT = (
    "The contents of this file are managed by Salt. "
    "Any changes to this file may be overwritten automatically and without warning."
)


def update(dest: Any, upd: Any, recursive_update: bool = True, merge_lists: bool = False) -> Any:
    """Merge ``upd`` into ``dest`` in place and return it."""
    return merging.update(dest, upd, recursive_update, merge_lists=merge_lists)


def merge(obj_a: Any, obj_b: Any, strategy: str = "smart", renderer: str = "yaml", merge_lists: bool = False) -> Any:
    """Merge ``obj_b`` over ``obj_a``, by a strategy: smart, recurse, overwrite, list or aggregate."""
    return merging.merge(obj_a, obj_b, strategy, renderer, merge_lists)


def merge_all(lst: list[Any], strategy: str = "smart", renderer: str = "yaml", merge_lists: bool = False) -> Any:
    """Merge a list of mappings; later ones override earlier ones."""
    merged: Any = {}
    for item in lst:
        merged = merging.merge(merged, item, strategy, renderer, merge_lists)
    return merged


def renderer(
    path: str | None = None, string: str | None = None, default_renderer: str = "jinja|yaml", **kwargs: Any
) -> Any:
    """Render a file (a path or URL) or a string and return what its last renderer returns.

    A first line ``#!renderer|…`` chooses the renderers, else ``default_renderer``. Other arguments are variables of
    the template. Returns {} for a missing file.
    """
    if not path and not string:
        raise InvocationError("Must pass path or string.")
    if path and string:
        raise InvocationError("Must not pass both path and string.")
    saltenv = kwargs.get("saltenv") or "base"
    name, text = "", string or ""
    if path:
        name = __salt__["cp.get_url"](path, saltenv=saltenv)
        if not name or not os.path.exists(name):
            return {}
        with filesystem.open_text(name) as file:
            text = file.read()
    return dunders.runtime_services().render_data(
        text,
        default_renderer=default_renderer,
        context=dict(kwargs) if path else {**_PLACE_OF_STRING, **kwargs},
        saltenv=saltenv,
        path=name if path else "",
    )


def serialize(serializer: str, obj: Any, **mod_kwargs: Any) -> str:
    """Return ``obj`` as text in a format: json, yaml or configparser (a dict of sections)."""
    try:
        return str(_function(_SERIALIZE, serializer, "serialize")(obj, _clean(mod_kwargs)))
    except (TypeError, ValueError) as error:
        raise CommandExecutionError(f"Cannot serialize to {serializer}: {error}") from error


def deserialize(serializer: str, stream_or_string: Any, **mod_kwargs: Any) -> Any:
    """Return the data of a text in a format: json, yaml, toml or configparser."""
    text = stream_or_string if isinstance(stream_or_string, (str, bytes)) else stream_or_string.read()
    try:
        return _function(_DESERIALIZE, serializer, "deserialize")(text, _clean(mod_kwargs))
    except ValueError as error:
        raise CommandExecutionError(f"Cannot deserialize {serializer}: {error}") from error


def banner(
    width: int = 72,
    commentchar: str = "#",
    borderchar: str = "#",
    blockstart: str | None = None,
    blockend: str | None = None,
    title: str | None = None,
    text: str | None = None,
    newline: bool = False,
) -> str:
    """Return a comment block for the head of a managed file."""
    left = commentchar.rstrip()
    right = commentchar.strip()
    inner = width - len(left) - len(right) - 2
    if inner <= 0:
        raise InvocationError("Width is too small to render banner")
    border = commentchar + borderchar[:1] * (width - len(left) - len(right)) + right
    spacer = commentchar + " " * (width - len(commentchar) * 2) + commentchar
    wrap = textwrap.TextWrapper(width=inner).wrap
    lines = [] if blockstart is None else [blockstart]
    lines += [border, spacer]
    lines += [f"{left} {line.center(inner)} {right}" for line in wrap(_TITLE if title is None else title)]
    lines.append(spacer)
    lines += [f"{left} {line}{' ' * (inner - len(line))} {right}" for line in wrap(_TEXT if text is None else text)]
    lines.append(border)
    if blockend is not None:
        lines.append(blockend)
    return "\n".join(lines) + ("\n" if newline else "")


def boolstr(value: Any, true: str = "true", false: str = "false") -> str:
    """Return one of two words for the truth of ``value``."""
    return true if value else false


def file_exists(path: str, saltenv: str = "base") -> bool:
    """Return whether the state tree has a file."""
    return path in __salt__["cp.list_master"](saltenv)


def dir_exists(path: str, saltenv: str = "base") -> bool:
    """Return whether the state tree has a directory."""
    return path in __salt__["cp.list_master_dirs"](saltenv)


def path_exists(path: str, saltenv: str = "base") -> bool:
    """Return whether the state tree has a file or directory."""
    return file_exists(path, saltenv) or dir_exists(path, saltenv)


def findup(startpath: str | None, filenames: str | list[str], saltenv: str = "base") -> str:
    """Return the first of ``filenames`` in ``startpath`` or the nearest directory above it."""
    folder = posixpath.normpath(startpath) if startpath else ""
    if folder and not path_exists(folder, saltenv):
        raise InvocationError(f"Starting path not found in the state tree: {folder}")
    names = [filenames] if isinstance(filenames, str) else filenames
    if not isinstance(names, list):
        raise InvocationError("Filenames argument must be a string or list of strings")
    while True:
        for name in names:
            candidate = posixpath.normpath(posixpath.join(folder, name))
            if path_exists(candidate, saltenv):
                return candidate
        if not folder:
            raise CommandExecutionError("File pattern(s) not found in path ancestry")
        folder = os.path.dirname(folder)


def _to_yaml(obj: Any, options: dict[str, Any]) -> str:
    return formats.yaml_text(obj, **{"default_flow_style": None, **options})


def _to_json(obj: Any, options: dict[str, Any]) -> str:
    return formats.json_text(obj, **{"ensure_ascii": False, **options})


def _to_configparser(obj: Any, options: dict[str, Any]) -> str:
    if not isinstance(obj, dict) or not all(isinstance(section, dict) for section in obj.values()):
        raise TypeError("a dict of sections, each a dict, is needed")
    texts = {name: {key: str(value) for key, value in section.items()} for name, section in obj.items()}
    return formats.ini_text(texts, **{"interpolation": None, **options})


_SERIALIZE: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "configparser": _to_configparser,
    "json": _to_json,
    "yaml": _to_yaml,
}
_DESERIALIZE: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "configparser": lambda text, options: formats.ini_data(text, **options),
    "json": lambda text, _: formats.json_data(text),
    "yaml": lambda text, _: formats.yaml_data(text),
    "toml": lambda text, _: formats.toml_data(text),
}


def _function(table: dict[str, Callable[..., Any]], serializer: str, name: str) -> Callable[..., Any]:
    if serializer in table:
        return table[serializer]
    if serializer in _SERIALIZE or serializer in _DESERIALIZE:
        raise CommandExecutionError(f"Serializer '{serializer}' does not implement {name}.")
    raise CommandExecutionError(f"Serializer '{serializer}' not found.")


def _clean(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in kwargs.items() if not key.startswith("__")}
