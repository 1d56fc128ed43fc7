"""The ``jinja`` renderer: renders a template to text.

Jinja itself is imported only for text that holds template syntax; other text passes through unchanged, except for the
line breaks that Jinja would normalise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import RenderError, RunCancelled
from asyncstate.render.context import template_variables
from asyncstate.render.jinja_options import Source, options_of, read_header

if TYPE_CHECKING:
    from asyncstate.render.context import RenderContext


def render(
    text: str, context: RenderContext, argline: str = "", *, template_env: str = "jinja_sls_env", is_file: bool = False
) -> str:
    """Render a template. ``template_env`` names the option with Jinja's settings for this kind of template.

    ``is_file``: the text is the content of the context's file, so that its compiled form may be kept.

    Raises RenderError with Salt's wording, the file (that of an imported template if the error is there) and the line.
    """
    if argline and argline != "-s":
        raise RenderError(f"Unknown renderer option: {argline}", file=context.path, line=1)
    source = read_header(text, options_of(context.opts, template_env))
    if not source.options.template_syntax_in(source.text):
        return source.text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source.text else source.text
    rendered = _render(source, text, context, sls=template_env == "jinja_sls_env", is_file=is_file)
    return f"{rendered}\n" if source.text.endswith("\n") else rendered


def _render(source: Source, original: str, context: RenderContext, *, sls: bool, is_file: bool) -> str:
    from asyncstate.render.jinja_environment import compiled, environment_for  # noqa: PLC0415 - see the module's text
    from asyncstate.render.jinja_errors import translated  # noqa: PLC0415
    from asyncstate.render.jinja_loader import RootsLoader  # noqa: PLC0415
    from asyncstate.render.jinja_time import watched  # noqa: PLC0415

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
