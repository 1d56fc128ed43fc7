"""Renders a template that has something for Jinja to do; `asyncstate.render.render_jinja` passes other text through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import RunCancelled
from asyncstate.render.context import template_variables
from asyncstate.render.jinja_environment import compiled, environment_for
from asyncstate.render.jinja_errors import translated
from asyncstate.render.jinja_loader import RootsLoader
from asyncstate.render.jinja_time import watched

if TYPE_CHECKING:
    from asyncstate.render.context import RenderContext
    from asyncstate.render.jinja_options import Source


def rendered(source: Source, original: str, context: RenderContext, *, sls: bool, is_file: bool) -> str:
    """Return what a template renders to; ``original`` is its text with the header, for messages. Raises RenderError."""
    variables: dict[str, Any] = template_variables(context, sls=sls)
    name = context.file.relpath if context.file is not None else None
    path = context.path or "<template>"
    kept = context.kept() if context.kept is not None else None
    loader = RootsLoader(context.fileclient, context.saltenv, kept)
    seconds = float(context.opts.get("render_timeout") or 0)
    try:
        with watched(seconds) as watch:
            environment = environment_for(source.options, loader, variables, watch)
            if context.restraint is not None:
                environment.filters = {**environment.filters, **context.restraint.filters(context.path)}
            code = compiled(source.options, source.text, name, path, kept if is_file else None)
            template = environment.template_class.from_code(environment, code, environment.globals)
            return template.render(variables)
    except (RunCancelled, MemoryError):
        raise
    except Exception as error:
        raise translated(error, source, original, path, context=context, loader=loader) from error
