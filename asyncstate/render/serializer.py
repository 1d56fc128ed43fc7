"""Salt's serializer extension for Jinja: tags that read data, filters that read and write it.

Tags: ``load_yaml``, ``load_json``, ``load_text`` (a block becomes data), ``import_yaml``, ``import_json``,
``import_text`` (a rendered file becomes data) and ``profile``.
"""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from jinja2 import StrictUndefined, TemplateRuntimeError, nodes
from jinja2.environment import TemplateModule
from jinja2.ext import Extension
from markupsafe import Markup

from asyncstate.data.yaml import dump_yaml
from asyncstate.data.yaml import load_yaml as read_yaml
from asyncstate.errors import RenderError
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from jinja2 import Environment
    from jinja2.parser import Parser

logger: Final = get_logger(__name__)

_PROFILE_LEVEL: Final = 15
_FORMATS: Final = ("yaml", "json", "text")


def undefined_in(value: Any) -> list[StrictUndefined]:
    """Return every undefined value in nested containers."""
    found: list[StrictUndefined] = []
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, StrictUndefined):
            found.append(item)
        elif isinstance(item, str) or id(item) in seen:
            continue
        elif isinstance(item, Mapping):
            seen.add(id(item))
            waiting.extend(itertools.chain.from_iterable(reversed([*item.items()])))
        elif isinstance(item, Sequence):
            seen.add(id(item))
            waiting.extend(reversed(item))
    return found


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a filter pass undefined values on, so that the error names them and not the filter."""

    @functools.wraps(function)
    def wrapper(value: Any, *args: Any, **kwargs: Any) -> Any:
        undefined = undefined_in(value)
        if undefined:
            return StrictUndefined("\n".join(str(item._undefined_message) for item in undefined))  # noqa: SLF001 - Jinja keeps the text nowhere else
        return function(value, *args, **kwargs)

    return wrapper


def format_yaml(value: Any, flow_style: bool = True) -> Markup:
    """Write YAML: on one line, or in block style."""
    text = dump_yaml(value, flow=flow_style).strip()
    return Markup(text.removesuffix("\n..."))  # noqa: S704 - as in Salt; nothing here is HTML


def format_json(value: Any, sort_keys: bool = True, indent: int | str | None = None) -> Markup:
    """Write JSON with sorted keys."""
    return Markup(json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, indent=indent).strip())  # noqa: S704


def tojson(val: Any, indent: int | str | None = None, **options: Any) -> str:
    """Write JSON in the order of the data, safe inside HTML; takes the options of ``json.dumps``."""
    options.setdefault("ensure_ascii", True)
    text = json.dumps(val, indent=indent, **options)
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def format_python(value: Any) -> Markup:
    """Write the data as Python literals, on several lines if necessary."""
    import pprint  # noqa: PLC0415 - few templates print Python

    return Markup(pprint.pformat(value).strip())  # noqa: S704


def format_xml(value: Any) -> Markup:
    """Write XML: scalars of a dict become attributes, lists repeat their element."""
    from xml.dom import minidom  # noqa: PLC0415 - few templates print XML
    from xml.etree.ElementTree import tostring  # noqa: PLC0415

    root: Element | None = None
    for tag, content in _xml_items(value):
        root = _xml_add(None, tag, content)
    if root is None:
        raise TemplateRuntimeError("Value is empty. Cannot render as XML")
    return Markup(minidom.parseString(tostring(root)).toprettyxml(indent=" "))  # noqa: S318, S704 - made by ourselves


def _xml_items(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        return list(value) if value and isinstance(value[0], str) else []
    raise TemplateRuntimeError("Value is not a dict or list. Cannot render as XML")


def _xml_add(parent: Element | None, tag: str, content: Any) -> Element | None:
    from xml.etree.ElementTree import Element, SubElement  # noqa: PLC0415 - as above

    if isinstance(content, list):
        for item in content:
            _xml_add(parent, tag, item)
        return parent
    element = Element(tag) if parent is None else SubElement(parent, tag)
    if isinstance(content, (str, int, float)):
        element.text = str(content)
        return element
    if isinstance(content, Mapping):
        element.attrib = {key: str(item) for key, item in content.items() if not isinstance(item, (dict, list))}
    for name, item in _xml_items(content):
        if isinstance(item, (dict, list)):
            _xml_add(element, name, item)
    return element


def _text_of(value: Any) -> Any:
    """Return the output of an imported template as text, any other value unchanged."""
    return str(value) if isinstance(value, TemplateModule) else value


def load_yaml(value: Any) -> Any:
    """Read YAML text."""
    text = _text_of(value)
    if isinstance(text, bytes):
        text = text.decode()
    if not isinstance(text, str):
        raise TemplateRuntimeError(f"Unable to load yaml from {value}")
    try:
        return _decoded(read_yaml(text))
    except RenderError as error:
        said = str(error)
        if isinstance(value, TemplateModule):
            said = said.replace('"<unicode string>"', f'"{value.__name__}"')
        raise TemplateRuntimeError(f"Encountered error loading yaml: {said}") from None


def _decoded(data: Any) -> Any:
    """Return the data with bytes as text and tuples as lists."""
    if isinstance(data, dict):
        return {_decoded(key): _decoded(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_decoded(item) for item in data]
    return data.decode() if isinstance(data, bytes) else data


def load_json(value: Any) -> Any:
    """Read JSON text."""
    try:
        return json.loads(_text_of(value))
    except (ValueError, TypeError, AttributeError):
        raise TemplateRuntimeError(f"Unable to load json from {value}") from None


def load_text(value: Any) -> Any:
    """Return the text unchanged."""
    return _text_of(value)


def dict_to_sls_yaml_params(value: Mapping[Any, Any], flow_style: bool = False) -> Markup:
    """Write a dict as the arguments of a state: a list of dicts of one key."""
    return format_yaml([{key: item} for key, item in value.items()], flow_style)


class SerializerExtension(Extension):
    """The tags and filters of this module, for a Jinja environment."""

    identifier = "asyncstate.render.serializer.SerializerExtension"
    tags: set[str] = {*(f"{verb}_{form}" for verb in ("load", "import") for form in _FORMATS), "profile"}  # noqa: RUF012 - Jinja's way to declare tags

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.filters.update(FILTERS)

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """Parse one of these tags."""
        tag = parser.stream.current.value
        if tag == "profile":
            return self._profile(parser)
        verb, form = tag.split("_")
        return self._load(parser, tag) if verb == "load" else self._import(parser, f"load_{form}")

    def _load(self, parser: Parser, name: str) -> nodes.Node:
        lineno = next(parser.stream).lineno
        parser.stream.expect("name:as")
        target = parser.parse_assign_target(with_namespace=True)
        body = parser.parse_statements(("name:endload",), drop_needle=True)
        reader = nodes.Filter(None, name, [], [], None, None).set_lineno(lineno)
        return nodes.AssignBlock(target, reader, body).set_lineno(lineno)

    def _import(self, parser: Parser, reader: str) -> list[nodes.Node]:
        imported = parser.parse_import()
        lineno = imported.lineno
        module = nodes.Name(imported.target, "load").set_lineno(lineno)
        data = nodes.Filter(module, reader, [], [], None, None).set_lineno(lineno)
        return [imported, nodes.Assign(nodes.Name(imported.target, "store"), data).set_lineno(lineno)]

    def _profile(self, parser: Parser) -> list[nodes.Node]:
        lineno = next(parser.stream).lineno
        parser.stream.expect("name:as")
        label = parser.parse_expression()
        body = parser.parse_statements(("name:endprofile",), drop_needle=True)
        started = f"_profile_{parser.free_identifier().name}"
        start = nodes.Assign(nodes.Name(started, "store"), self.call_method("started")).set_lineno(lineno)
        report = self.call_method("report", [label, nodes.Name(started, "load")])
        return [start, *body, nodes.ExprStmt(report).set_lineno(lineno)]

    def started(self) -> float:
        """Return the start time of a profiled block."""
        return time.perf_counter()

    def report(self, label: Any, started: float) -> None:
        """Log how long a profiled block took."""
        seconds = time.perf_counter() - started
        logger.log(_PROFILE_LEVEL, "Time (in seconds) to render profile block '%s': %s", label, seconds)


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    name: strict(function)
    for name, function in (
        ("yaml", format_yaml),
        ("json", format_json),
        ("tojson", tojson),
        ("xml", format_xml),
        ("python", format_python),
        ("load_yaml", load_yaml),
        ("load_json", load_json),
        ("load_text", load_text),
        ("dict_to_sls_yaml_params", dict_to_sls_yaml_params),
        ("combinations", itertools.combinations),
        ("combinations_with_replacement", itertools.combinations_with_replacement),
        ("compress", itertools.compress),
        ("permutations", itertools.permutations),
        ("product", itertools.product),
        ("zip", zip),
        ("zip_longest", itertools.zip_longest),
    )
}
"""The extension's filters, each of which passes undefined values on."""
