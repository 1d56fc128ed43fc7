"""The input of a rendering: RenderContext, and the variables that Salt gives to templates."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from asyncstate.data.merging import overlaid
from asyncstate.errors import InvocationError
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableSet

    from asyncstate.dunders import TreeFiles
    from asyncstate.render.kept import Kept
    from asyncstate.sources.fileclient import SlsFile


class Restraint(Protocol):
    """A restriction of renderings: to reading, or to data that is not of this machine."""

    @property
    def deep(self) -> bool:
        """Whether the restriction also covers the calls made by the functions that templates call."""

    def functions(self, functions: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Return the execution functions for the templates of a file, with stand-ins for the restricted ones."""

    def filters(self, path: str) -> Mapping[str, Callable[..., Any]]:
        """Return stand-ins for the restricted filters, by name."""

    def refusal(self, renderer: str, path: str) -> str:
        """Return why a renderer may not run a text as a program; "" if it may."""


class RenderContext(Value):
    """All that a rendering depends on except the text itself.

    ``extra`` are the caller's own variables (``context`` and ``defaults`` of a managed file, an include's defaults);
    they override ours. ``renderers`` are third-party renderers by name. ``secrets`` collects the values that a
    decrypting renderer found. With ``ordered``, mappings keep their order when a template prints them as YAML, as
    pillar data does. ``states`` are the state functions by ``module.function``, their modules also as attributes; None
    if they are not known. ``restraint`` restricts renderings; None if everything may be called and run. ``kept``
    returns the results of earlier renderings of the same texts; None where results must not be kept.
    """

    salt: Mapping[str, Any]
    grains: Mapping[str, Any]
    pillar: Mapping[str, Any]
    opts: Mapping[str, Any]
    fileclient: TreeFiles
    sls: str = ""
    saltenv: str = "base"
    file: SlsFile | None = None
    extra: Mapping[str, Any] = {}
    renderers: Mapping[str, Callable[..., Any]] = {}
    secrets: MutableSet[str] = msgspec.field(default_factory=set)
    rendered_sls: set[str] = msgspec.field(default_factory=set)
    ordered: bool = False
    states: Any = None
    restraint: Restraint | None = None
    kept: Callable[[], Kept] | None = None

    def for_file(self, file: SlsFile) -> RenderContext:
        """Return this context for another SLS; ``secrets`` and ``rendered_sls`` stay shared."""
        return self.replaced(file=file, sls=file.sls, saltenv=file.saltenv)

    @property
    def path(self) -> str:
        """The real path of the file being rendered, '' for text without a file."""
        return self.file.path if self.file is not None else ""


def template_variables(context: RenderContext, *, sls: bool) -> dict[str, Any]:
    """Return the variables of a template; for an SLS (``sls``) also those with its path."""
    salt = context.salt
    variables: dict[str, Any] = {
        "salt": salt,
        "grains": context.grains,
        "opts": dict(context.opts),  # a copy: a template may change its own options only
        "pillar": context.pillar,
        "saltenv": context.saltenv,
        "ifelse": _ifelse(salt),
    }
    if sls:
        variables |= {
            "sls": context.sls,
            "proxy": {},
            "renderers": context.renderers,
            "rendered_sls": context.rendered_sls,
        }
    variables |= context.extra
    if "sls" in variables:
        for name, value in place_variables(context, str(variables["sls"])).items():
            variables.setdefault(name, value)
    return variables


def place_variables(context: RenderContext, sls: str) -> dict[str, str]:
    """Return ``slspath``, ``tpldir`` and the others that derive from the path of an SLS below its root."""
    if context.file is None:
        path = sls.replace(".", "/").rstrip("/")
        return _path_variants(path)
    relpath = context.file.relpath
    directory = posixpath.dirname(relpath)
    return {
        "tplpath": context.file.path,
        "tplfile": relpath,
        "tpldir": directory or ".",
        "tpldot": directory.replace("/", "."),
        **_path_variants(directory),
    }


def _path_variants(path: str) -> dict[str, str]:
    return {
        "slspath": path,
        "slsdotpath": path.replace("/", "."),
        "slscolonpath": path.replace("/", ":"),
        "sls_path": path.replace("/", "_"),
    }


def _ifelse(salt: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the ``ifelse`` of templates, which evaluates targets with the ``match`` module."""

    def ifelse(
        *args: Any,
        tgt_type: str = "compound",
        minion_id: str | None = None,
        merge: Mapping[Any, Any] | None = None,
        merge_lists: bool = False,
    ) -> Any:
        """Return the value after the first condition that holds (a bool or a target), else the last argument."""
        if len(args) % 2 == 0:
            raise InvocationError("The ifelse function must have an odd number of arguments!")
        choices = dict(zip(args[:-1:2], args[1::2], strict=True))
        for condition, value in choices.items():
            holds = condition
            if not isinstance(condition, bool):
                holds = salt[f"match.{tgt_type}"](condition, *([minion_id] if minion_id else []))
            if holds:
                return overlaid(value, merge, merge_lists=merge_lists)
        return args[-1]

    return ifelse
