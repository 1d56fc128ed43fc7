"""JSON Schemas of the files people write and programs read: the configuration, plans, events and reports.

They are made from the types that the program itself reads and writes with, so they cannot say anything else.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate import extend
from asyncstate.config import EXTRA_TEXTS
from asyncstate.config.settings import FIELDS, FIXED_OPTIONS
from asyncstate.config.values import ROOT_OPTIONS, is_list_of_texts
from asyncstate.data.formats import yaml_data
from asyncstate.model.event import AnyEvent
from asyncstate.plans.record import VERSION, PlanRecord

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TAG = r"_\|-"
"""Every tag has Salt's separator, and no name of a host has."""
_HOST: Schema = {"type": "string", "description": "The host, of a run across hosts."}
_MISTAKES: Schema = {
    "description": "Why the tree does not compile.",
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
}
_TEXTS: Schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


class RowOfEvent(
    msgspec.Struct, rename={"id": "__id__", "sls": "__sls__", "ran": "__state_ran__", "not_told": "__not_told__"}
):
    """The row of a state, in Salt's shape.

    ``result`` is true, false, or null: a dry run would change something. ``changes`` is empty if nothing changed.
    ``start_time`` is the time of day, ``duration`` is in milliseconds. ``__state_ran__`` is there, and false, if a
    requisite or a condition kept the state from being called. ``__not_told__`` is there, and true, if a dry run cannot
    tell what the state would do before an earlier one has run. Low data that names nothing callable has no ID and no
    SLS. ``name`` and ``comment`` are texts, unless a state function gave something else. It may add keys, too.
    """

    name: Any
    changes: dict[str, Any]
    result: bool | None
    comment: Any
    start_time: str
    duration: float
    id: str | None
    sls: str | None
    ran: bool = msgspec.UNSET  # type: ignore[assignment]
    not_told: bool = msgspec.UNSET  # type: ignore[assignment]
    warnings: list[str] = msgspec.UNSET  # type: ignore[assignment]


class Row(RowOfEvent, rename={"run_num": "__run_num__"}, kw_only=True):
    """The row of a state, in Salt's shape; ``__run_num__`` is its place in the serial order, from 0."""

    run_num: int


def schema(name: str, *, strict: bool = False) -> Schema:
    """Return the schema of ``config``, ``plan``, ``events`` (one event) or ``report``.

    With ``strict``, the configuration may have no options but those that asyncstate or Salt has.
    """
    title, make = SCHEMAS[name]
    made = _config(strict=strict) if name == "config" else make()
    return {"$schema": _DIALECT, "$id": f"urn:asyncstate:schema:{name}", "title": title, **_tidy(made)}


def _plan() -> Schema:
    made = msgspec.json.schema(PlanRecord)
    definitions = made["$defs"]
    definitions["PlanRecord"]["properties"]["version"] = {"const": VERSION}
    for each in ("EdgeRecord", "ContingentRecord"):
        definitions[each]["items"] = False
    return made


def _event() -> Schema:
    """Return the schema of one event, or of why there are none: of a line of ``--out jsonl``."""
    made = msgspec.json.schema(AnyEvent)
    del made["discriminator"]  # OpenAPI's: `event` of each is constant
    definitions = made["$defs"] | _definitions(RowOfEvent, Row)
    rows = {"type": "object", "additionalProperties": {"$ref": "#/$defs/RowOfEvent"}}
    definitions["ChunkFinished"]["properties"] |= {"row": {"$ref": "#/$defs/RowOfEvent"}, "sub_rows": rows}
    definitions["StateEvent"]["properties"]["row"] = {"$ref": "#/$defs/RowOfEvent"}
    definitions["RunFinished"]["properties"]["rows"] = {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Row"},
    }
    for kind in AnyEvent.__args__:
        definitions[kind.__name__]["properties"]["host"] = _HOST
    return made | {"anyOf": [*made["anyOf"], _MISTAKES], "$defs": definitions}


def _report() -> Schema:
    """Return the schema of ``--out json``: rows by tag, of a fleet by host, or why the tree does not compile."""
    rows = {
        "title": "Rows",
        "description": "The row of each state by its tag, in the serial order.",
        "type": "object",
        "patternProperties": {_TAG: {"$ref": "#/$defs/Row"}},
        "additionalProperties": False,
    }
    return {
        "anyOf": [
            {"$ref": "#/$defs/Rows"},
            {
                "description": "The rows of each host, of a run across hosts.",
                "type": "object",
                "propertyNames": {"not": {"pattern": _TAG}},
                "additionalProperties": {"$ref": "#/$defs/Rows"},
            },
            _MISTAKES,
        ],
        "$defs": {"Rows": rows, **_definitions(Row)},
    }


def _definitions(*types: type[msgspec.Struct]) -> Schema:
    return dict(msgspec.json.schema_components(types, ref_template="#/$defs/{name}")[1])


def _config(*, strict: bool = False) -> Schema:
    """Return the schema of a configuration file. As in the program, an empty value stands for the default."""
    meanings = yaml_data((Path(__file__).parent / "options.yaml").read_text(encoding="utf-8"))
    properties: dict[str, Schema] = {
        "include": _TEXTS | {"description": "other files, by globs; they win over this one"},
        "default_include": {"type": "string", "description": "files that are read even if `include` names others"},
    }
    types: dict[str, type[msgspec.Struct]] = {}
    fields = dict(FIELDS)
    for extra in extend.extras():
        if extra.settings:
            kind = extend.load(extra.settings)
            types |= kind.schemas()
            fields |= {field.name: field for field in msgspec.structs.fields(kind)}
        if extra.options:
            meanings |= yaml_data(extend.text_of(extra.options))
    for name, field in fields.items():
        made = _or_nothing(_option(name, field.type, types.get(name))) | _said(meanings, name)
        if isinstance(field.default, (bool, int, float, str)) and field.default != "":
            made["default"] = field.default
        properties[name] = made
    properties["grains_override"] = _or_nothing({"type": "object"}) | _said(meanings, "grains_override")
    for name in sorted({*FIXED_OPTIONS, *EXTRA_TEXTS} - {*properties} - {"__cli", "__role"}):
        of_type = _or_nothing({"type": "string"}) if name in EXTRA_TEXTS else {}
        properties[name] = of_type | {"description": "Salt's: kept for state modules and templates"}
    return {
        "description": "Options of a configuration file. Others than these are kept, for state modules and templates.",
        "type": "object",
        "properties": properties,
        **({"additionalProperties": False} if strict else {}),
    }


def _said(meanings: dict[str, str], name: str) -> Schema:
    return {"description": meanings[name]} if name in meanings else {}


def _option(name: str, wanted: Any, read_as: type[msgspec.Struct] | None = None) -> Schema:
    """Return the schema of one option, as a file may say it; ``read_as`` is a type that its value is read as later."""
    if name in ROOT_OPTIONS:
        return {"type": "object", "additionalProperties": _or_nothing(_TEXTS)}
    if read_as is not None:
        made: Schema = _definitions(read_as)[read_as.__name__]
        made["properties"].pop("where", None)
        return made
    made = msgspec.json.schema(wanted)
    return {"anyOf": [made["items"], made]} if is_list_of_texts(wanted) else made


def _or_nothing(made: Schema) -> Schema:
    """Return the schema of what may be empty, too."""
    if set(made) == {"type"}:
        return {"type": [made["type"], "null"]}
    return {"anyOf": [*made.get("anyOf", [made]), {"type": "null"}]}


def _tidy(made: Schema) -> Schema:
    """Return a schema with the text of docstrings as one reads it: without indentation, in single backquotes."""
    return {key: _tidied(key, value) for key, value in made.items()}


def _tidied(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _tidy(value)
    if isinstance(value, list):
        return [_tidied("", each) for each in value]
    return inspect.cleandoc(value).replace("``", "`") if key == "description" else value


SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "config": ("asyncstate: a configuration file", _config),
    "plan": ("asyncstate: a saved plan", _plan),
    "events": ("asyncstate: an event of a run, a line of --out jsonl", _event),
    "report": ("asyncstate: the report of a run, --out json", _report),
}
"""The title and the maker of each schema, by the words of ``asyncstate schema``."""
