"""YAML in Salt's dialect: no octal numbers, no dates, no repeated keys; ordered dicts keep their order."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import IO, TYPE_CHECKING, Any

import yaml
from yaml import YAMLError, parser, scanner

from asyncstate.data.yaml import load_yaml
from asyncstate.data.yaml.write import SafeOrderedDumper, represent_ordered
from asyncstate.errors import RenderError
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

__all__ = [
    "IndentedSafeOrderedDumper",
    "OrderedDumper",
    "SafeOrderedDumper",
    "SaltYamlSafeLoader",
    "YAMLError",
    "dump",
    "get_dumper",
    "load",
    "parser",
    "safe_dump",
    "safe_load",
    "scanner",
]

if TYPE_CHECKING:
    from yaml import Dumper as _Dumper
else:
    _Dumper = getattr(yaml, "CDumper", yaml.Dumper)


class SaltYamlSafeLoader(yaml.SafeLoader):
    """For ``yaml.load(text, Loader=SaltYamlSafeLoader)``: reads the one document of a stream."""

    def __init__(self, stream: Any, dictclass: type[dict[Any, Any]] = dict) -> None:
        self._source = stream.read() if hasattr(stream, "read") else stream
        self._mapping = dictclass
        super().__init__("")

    def get_single_data(self) -> Any:
        """Return the data. Raises YAMLError."""
        return _read(self._source, self._mapping)


class OrderedDumper(_Dumper):
    """Writes any Python object; ordered dicts in their order."""


class IndentedSafeOrderedDumper(SafeOrderedDumper):
    """The same as the base class. In Salt it is meant to indent lists, but libyaml, used in both, ignores that."""


OrderedDumper.add_representer(OrderedDict, represent_ordered)
OrderedDumper.add_representer(defaultdict, yaml.representer.SafeRepresenter.represent_dict)


def get_dumper(dumper_name: str) -> type | None:
    """Return a dumper class of this module by its name."""
    return {
        "OrderedDumper": OrderedDumper,
        "SafeOrderedDumper": SafeOrderedDumper,
        "IndentedSafeOrderedDumper": IndentedSafeOrderedDumper,
    }.get(dumper_name)


def load(stream: str | bytes | IO[Any], Loader: Any = SaltYamlSafeLoader) -> Any:  # noqa: N803 - PyYAML's name
    """Return the data of the one document in text, bytes or an open file. Raises YAMLError."""
    return yaml.load(stream, Loader=Loader)  # noqa: S506 - a safe loader, unless the caller passes another


safe_load = load


def _read(text: str | bytes, mapping: type[dict[Any, Any]]) -> Any:
    if isinstance(text, (bytes, bytearray)):
        text = bytes(text).decode("utf-8")
    try:
        return load_yaml(text, mapping=mapping)
    except RenderError as error:
        problem = error.__context__
        raise (problem if isinstance(problem, YAMLError) else YAMLError(str(error))) from None


def dump(data: Any, stream: IO[Any] | None = None, **kwargs: Any) -> Any:
    """Write any Python object: to a file, or return text."""
    kwargs.setdefault("allow_unicode", True)
    kwargs.setdefault("default_flow_style", None)
    return yaml.dump(data, stream, **kwargs)


def safe_dump(data: Any, stream: IO[Any] | None = None, **kwargs: Any) -> Any:
    """Write plain data: to a file, or return text."""
    return dump(data, stream, Dumper=SafeOrderedDumper, **kwargs)


__getattr__: ModuleGetattr = nothing_else(__name__)
