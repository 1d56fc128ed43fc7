"""Mistakes in templates: the syntax of files that states render, missing variables and keys, None in a text.

Only Jinja is read, and only what every rendering reaches: a key behind a condition may be meant to be missing.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateSyntaxError, nodes

from asyncstate.compile.low.salt_sources import SaltSources
from asyncstate.errors import AsyncStateError, Issue
from asyncstate.model.requisite import CONDITIONS
from asyncstate.model.rules import CODES
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.render.jinja_environment import base_environment
from asyncstate.render.jinja_errors import name_hint
from asyncstate.render.jinja_options import options_of, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.compile.low.lowstate import Draft
    from asyncstate.load.host import PluginHost
    from asyncstate.render.jinja_options import Source
    from asyncstate.sources.fileclient import FileClient

_JINJA = "jinja"
_PYTHON = "py"
_IMPORTING = (nodes.Import, nodes.FromImport, nodes.Include, nodes.Extends)
_NOTHING = re.compile(r"\bNone\b")
_EXPRESSION = re.compile(r"\{\{.*?\}\}")
_NAME = re.compile(r"\bname[\"']?:.*\{\{")
_NEGATION = re.compile(r"^\s*- +(?:\w+: +)?! ", re.MULTILINE)
_METHODS = frozenset(dir(dict))
_MODES = ("mode", "dir_mode", "file_mode", "sym_mode", "umask")
_VARIABLES = frozenset(
    "self salt grains opts pillar saltenv ifelse name source user group mode attrs accumulator".split()
)
"""The names that the template of a file may have beside its context."""
_OF_SLS = frozenset(
    "sls slspath slsdotpath slscolonpath sls_path tplpath tplfile tpldir tpldot renderers rendered_sls proxy".split()
)
"""Names that an SLS file has, and the template of a file has not."""


class Templates:
    """Reads the templates of a tree, each for the first state that renders it."""

    def __init__(self, file_client: FileClient, host: PluginHost) -> None:
        self._file_client = file_client
        self._sources = SaltSources(file_client)
        self._options = options_of(host.opts, "jinja_env")
        self._pillar: Mapping[str, Any] = host.pillar
        self._found: dict[str, tuple[tuple[str, str], list[Issue]]] = {}

    def mistakes(self, draft: Draft, *, always: bool) -> Iterator[Issue]:
        """Yield the mistakes in the templates of a state. A state that does not run ``always`` may lack its data."""
        pipe = draft.args.get("template")
        renderer = pipe.partition("|")[0].strip() if isinstance(pipe, str) else ""
        if renderer not in {_JINJA, _PYTHON}:
            return
        for path, text in self._sources.templates_of(draft):
            if path not in self._found:
                of_python = renderer == _PYTHON
                found = self._of_python(draft, path, text) if of_python else self._whole(draft, path, text, always)
                self._found[path] = (draft.id, draft.sls), list(found)
            first, issues = self._found[path]
            if first == (draft.id, draft.sls):
                yield from issues
        contents = draft.args.get("contents")
        if isinstance(contents, str) and renderer == _JINJA:
            for issue in self._read(draft, draft.file, contents, always=always):
                yield issue._replace(line=draft.line_of("contents"))

    def nothings(self, draft: Draft) -> Iterator[Issue]:
        """Yield a warning for each text with a None that a template wrote; one that stands in the SLS is meant.

        Data in mappings is left alone: None is a value there.
        """
        for name, value in {"name": draft.name, **draft.args}.items():
            texts = value if isinstance(value, list) else [value]
            if not any(isinstance(text, str) and _NOTHING.search(text) for text in texts) or draft.lines is None:
                continue
            line = draft.lines.of(draft.id, draft.state, name)
            written = self._written(draft.file, line)
            if _EXPRESSION.search(written) and not _NOTHING.search(written):
                message = f"'{name}' of '{draft.state}.{draft.fun}' has None in its text"
                message = f"{message} (ID '{draft.id}' in SLS '{draft.sls}')"
                hint = "a template wrote a value that is missing; give it a default: pillar.get('key', '…')"
                yield _issue("W402", message, draft.file, line, hint)._replace(mistake=False)

    def negations(self, draft: Draft) -> Iterator[Issue]:
        """Yield the conditions that begin with ``!`` without quotes: YAML drops it, so a run tests the opposite."""
        for name in (each for each in CONDITIONS if each in draft.args):
            line = draft.lines.of(draft.id, draft.state, name) if draft.lines is not None else 0
            if _NEGATION.search(self._written(draft.file, line)):
                message = f"'{name}' of '{draft.state}.{draft.fun}' begins with !, which YAML drops"
                message = f"{message} (ID '{draft.id}' in SLS '{draft.sls}')"
                yield _issue("E427", message, draft.file, line, "put the command in quotes: '! test -e /x'")

    def hexadecimal(self, draft: Draft) -> Iterator[Issue]:
        """Yield the modes that YAML reads as other digits than they have: ``0x1ff`` is 511."""
        for name in _MODES:
            value = draft.args.get(name)
            if type(value) is not int or draft.lines is None:
                continue
            line = draft.lines.of(draft.id, draft.state, name)
            found = re.search(rf"\b{name}[\"']?:\s*(0[xXbB]\w+)", self._written(draft.file, line))
            if found:
                message = f"'{name}' of '{draft.state}.{draft.fun}' must be octal digits in quotes, not {found[1]}, "
                message = f"{message}which YAML reads as {value} (ID '{draft.id}' in SLS '{draft.sls}')"
                yield _issue("E410", message, draft.file, line, f"write '{value:04o}' in place of {found[1]}")

    def explained(self, draft: Draft, issue: Issue) -> Issue:
        """Return a mistake in a name with its cause, if a template gave nothing for it: the ID counts then."""
        if draft.name not in {"", draft.id} or not issue.message.startswith("'name' of ") or draft.lines is None:
            return issue
        if not _NAME.search(self._written(draft.file, draft.lines.of(draft.id, draft.state, "name"))):
            return issue
        hint = "the template gave nothing for 'name'; give the value a default: pillar.get('key', '…')"
        return issue._replace(hint=hint)

    def _written(self, path: str, line: int) -> str:
        """Return the line of an argument and the lines of its text below it, as they stand in an SLS file."""
        if not path or not line:
            return ""
        try:
            first, *more = self._file_client.read(path).decode(errors="replace").splitlines()[line - 1 :]
        except (AsyncStateError, OSError, ValueError):
            return ""
        if first.rstrip()[-1:] not in {"|", ">", "-", "+", ":"}:
            return first
        indent = len(first) - len(first.lstrip())
        below = takewhile(lambda text: not text.strip() or len(text) - len(text.lstrip()) > indent, more)
        return "\n".join([first, *below])

    def _of_python(self, draft: Draft, path: str, text: str) -> Iterator[Issue]:
        try:
            compile(text, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            message = f"Python syntax error: {getattr(error, 'msg', error)}; {_rendered_by(draft)}"
            hint = "a run of the state would fail; mend the template"
            yield _issue("E424", message, path, getattr(error, "lineno", 0) or 0, hint)

    def _whole(self, draft: Draft, path: str, text: str, always: bool) -> Iterator[Issue]:
        """Yield the mistakes in a template and in those that every rendering imports or includes."""
        yield from self._read(draft, path, text, always=always)
        waiting, seen = [(path, text)], {path}
        while waiting:
            path, text = waiting.pop()
            for line, name in self._imported(text):
                found = self._file_client.find(name, draft.env)
                if found is None:
                    message = f"template '{name}' is in no file root of saltenv '{draft.env}'; {_rendered_by(draft)}"
                    near = nearest(name, self._file_client.list_files(draft.env))
                    hint = did_you_mean(near) or "correct the path, or add the file"
                    yield _issue("E407", message, path, line, hint)
                elif found not in seen:
                    seen.add(found)
                    waiting.append((found, self._file_client.read(found).decode(errors="replace")))
                    yield from self._read(draft, *waiting[-1], always=False)

    def _imported(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield line and path of each template that a template of the tree imports or includes, whatever its data."""
        source = read_header(text, self._options)
        try:
            tree = base_environment(source.options).parse(source.text)
        except (TemplateSyntaxError, AsyncStateError, RecursionError):
            return
        for node in tree.body:
            if isinstance(node, _IMPORTING) and isinstance(node.template, nodes.Const):
                name = str(node.template.value)
                if not (name.startswith(".") or "://" in name or getattr(node, "ignore_missing", False)):
                    yield source.line(node.lineno), name

    def _read(self, draft: Draft, path: str, text: str, *, always: bool) -> Iterator[Issue]:
        source = read_header(text, self._options)
        if not source.options.template_syntax_in(source.text):
            return
        of = _rendered_by(draft)
        environment = base_environment(source.options)
        try:
            tree = environment.parse(source.text, filename=path)
            environment.compile(source.text, filename=path)
        except TemplateSyntaxError as error:
            message = f"Jinja syntax error: {error.message}; {of}"
            hint = name_hint(error) or "a run of the state would fail; mend the template"
            yield _issue("E424", message, path, source.line(error.lineno), hint)
        except (AsyncStateError, RecursionError):
            return  # too large to be judged here; a run says so
        else:
            names = {*_keys(draft.args.get("context")), *_keys(draft.args.get("defaults"))}
            if not always or source.options.allow_undefined:
                return
            if "pillar" not in names:
                yield from self._lacking(tree, path, source, of)
            if all(isinstance(draft.args.get(each) or {}, dict) for each in ("context", "defaults")):
                known = {*_VARIABLES, *names, *draft.args, *environment.globals}
                yield from _undefined(tree, known, path, source, of)

    def _lacking(self, tree: nodes.Template, path: str, source: Source, of: str) -> Iterator[Issue]:
        if any(_changes_pillar(node) for node in tree.find_all((nodes.Name, nodes.Extends, nodes.ExprStmt))):
            return
        for expression in _reached(tree):
            keys = _keys_of_pillar(expression)
            data: Any = self._pillar
            for depth, key in enumerate(keys):
                if not isinstance(data, dict):
                    break
                if key not in data:
                    where = ":".join(["pillar", *map(str, keys[:depth])])
                    message = f"Jinja variable: {where} has no key '{key}'; {of}"
                    hint = did_you_mean(nearest(str(key), [name for name in data if isinstance(name, str)]))
                    hint = hint or f"give it in the pillar; for a key that may be missing, write {_call(keys)}"
                    yield _issue("E425", message, path, source.line(expression.lineno), hint)
                    break
                data = data[key]


def _undefined(tree: nodes.Template, known: set[str], path: str, source: Source, of: str) -> Iterator[Issue]:
    """Yield the variables that a template reads in any case, and that nothing gives it."""
    if any(tree.find_all(nodes.Extends)):
        return
    own = _own_names(tree)
    for expression in _reached(tree):
        name = _variable(expression)
        if not name or name.startswith("_") or name in known or name in own:
            continue
        own.add(name)  # once is enough
        message = f"Jinja variable: '{name}' is undefined; {of}"
        near = nearest(name, {*known, *own} - {name})
        hint = did_you_mean(near) or "give it under context, or set it above with {% set … %}"
        if name in _OF_SLS:
            hint = f"only SLS files have it: give it under context, {name}: {{{{ {name} }}}}"
        yield _issue("E428", message, path, source.line(expression.lineno), hint)


def _own_names(tree: nodes.Template) -> set[str]:
    """Return the names that a template gives itself, wherever it does."""
    own = {node.name for node in tree.find_all(nodes.Name) if node.ctx != "load"}
    own |= {node.name for node in tree.find_all(nodes.Macro)}
    own |= {node.target for node in tree.find_all(nodes.Import)}
    for node in tree.find_all(nodes.FromImport):
        own |= {name if isinstance(name, str) else name[1] for name in node.names}
    return own


def _variable(node: nodes.Node) -> str:
    """Return the variable with which ``a``, ``a.b``, ``a['b']`` and calls of them begin; "" for another expression."""
    while isinstance(node, (nodes.Getitem, nodes.Getattr, nodes.Call)):
        node = node.node
    return node.name if isinstance(node, nodes.Name) else ""


def _issue(code: str, message: str, path: str, line: int, hint: str) -> Issue:
    return Issue(message, path, line, hint, CODES[code], mistake=True, code=code)


def _rendered_by(draft: Draft) -> str:
    return f"rendered by '{draft.state}.{draft.fun}' (ID '{draft.id}' in SLS '{draft.sls}')"


def _keys(data: Any) -> list[Any]:
    return list(data) if isinstance(data, dict) else []


def _call(keys: list[Any]) -> str:
    return f"salt['pillar.get']('{':'.join(map(str, keys))}', DEFAULT)"


def _changes_pillar(node: nodes.Node) -> bool:
    """Return whether a template may have another pillar from here on, or be only a part of another template."""
    if isinstance(node, nodes.Name):
        return node.name == "pillar" and node.ctx != "load"
    return isinstance(node, nodes.Extends) or any(name.name == "pillar" for name in node.find_all(nodes.Name))


def _reached(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Yield the expressions that every rendering writes, or goes through."""
    for node in tree.body:
        found: list[Any] = node.nodes if isinstance(node, nodes.Output) else []
        if isinstance(node, nodes.For):
            found = [node.iter]
        elif isinstance(node, _IMPORTING):
            found = [node.template]
        for expression in found:
            yield from expression.nodes if isinstance(expression, nodes.Concat) else [expression]


def _keys_of_pillar(node: nodes.Node) -> list[Any]:
    """Return the keys of ``pillar['a'].b``; [] for any other expression."""
    keys: list[Any] = []
    while isinstance(node, (nodes.Getitem, nodes.Getattr)):
        if isinstance(node, nodes.Getattr):
            key: Any = node.attr
        elif isinstance(node.arg, nodes.Const):
            key = node.arg.value
        else:
            return []
        keys.append(key)
        node = node.node
    plain = isinstance(node, nodes.Name) and node.name == "pillar" and _METHODS.isdisjoint(map(str, keys))
    return keys[::-1] if plain else []
