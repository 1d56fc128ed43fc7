"""Quoting of one value for YAML."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

from yaml import ScalarNode
from yaml.emitter import Emitter
from yaml.representer import SafeRepresenter

if TYPE_CHECKING:
    from collections.abc import Callable


def _written(write: Callable[[Emitter], None]) -> str:
    stream = io.StringIO()
    write(Emitter(stream, width=sys.maxsize))
    return stream.getvalue()


def yaml_dquote(text: Any) -> str:
    """Return the text as a double-quoted YAML scalar on one line."""
    return _written(lambda emitter: emitter.write_double_quoted(str(text)))


def yaml_squote(text: Any) -> str:
    """Return the text as a single-quoted YAML scalar."""
    return _written(lambda emitter: emitter.write_single_quoted(str(text)))


def yaml_encode(data: Any) -> str:
    """Return one value as YAML: text in double quotes, ``true``, ``null``, a number. Containers raise TypeError."""
    node = SafeRepresenter().represent_data(data)
    if not isinstance(node, ScalarNode):
        raise TypeError(f"yaml_encode() only works with YAML scalar data; failed for {type(data)}")
    value = str(node.value)
    return yaml_dquote(value) if node.tag.endswith(":str") else value
