"""A writer of YAML with the line breaks, order and quoting of Salt's ``yaml`` filter."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    _Base = yaml.SafeDumper
else:
    _Base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class SafeOrderedDumper(_Base):
    """A safe dumper that also writes ordered mappings, and ``NULL`` for types that YAML does not know."""


def represent_ordered(dumper: Any, data: Mapping[Any, Any]) -> yaml.Node:
    """Represent a mapping in its own order."""
    node: yaml.Node = dumper.represent_dict(list(data.items()))  # PyYAML leaves pairs unsorted
    return node


def _mapping(dumper: yaml.SafeDumper, data: Mapping[Any, Any]) -> yaml.Node:
    return dumper.represent_dict(dict(data))


def _unknown(dumper: yaml.SafeDumper, _data: Any) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:null", "NULL")


SafeOrderedDumper.add_representer(OrderedDict, represent_ordered)
SafeOrderedDumper.add_representer(defaultdict, _mapping)
SafeOrderedDumper.add_multi_representer(dict, _mapping)
SafeOrderedDumper.add_multi_representer(list, yaml.SafeDumper.represent_list)
SafeOrderedDumper.add_multi_representer(set, yaml.SafeDumper.represent_set)
SafeOrderedDumper.add_multi_representer(Mapping, _mapping)  # type: ignore[type-abstract]  # it asks for a base, not an instance
SafeOrderedDumper.add_representer(None, _unknown)  # type: ignore[arg-type]  # PyYAML's name for "anything else"


def dump(data: Any, flow: bool | None) -> str:
    """Return ``data`` as YAML text with its final newline."""
    return str(yaml.dump(data, Dumper=SafeOrderedDumper, allow_unicode=True, default_flow_style=flow))


def double_quoted(text: str) -> str:
    """Return ``text`` as a double-quoted scalar on one line."""
    return str(
        yaml.dump(text, Dumper=SafeOrderedDumper, default_style='"', allow_unicode=True, width=2**31 - 1)
    ).rstrip("\n")
