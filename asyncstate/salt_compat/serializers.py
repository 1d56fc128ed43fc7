"""``__serializers__``: the formats a plugin may read and write, as ``json.serialize`` and ``json.deserialize``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_FORMATS = ("configparser", "json", "yaml")
_FUNCTIONS = ("serialize", "deserialize")


class Serializers(Mapping[str, "Callable[..., Any]"]):
    """The functions by name. A format is imported when one of its functions is looked up."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        form, _, function = name.partition(".")
        if form not in _FORMATS or function not in _FUNCTIONS:
            raise KeyError(name)
        from asyncstate.salt_compat.namespace import provide  # noqa: PLC0415 - few plugins use one

        found: Callable[..., Any] = getattr(provide(f"salt.serializers.{form}"), function)
        return found

    def __iter__(self) -> Iterator[str]:
        return (f"{form}.{function}" for form in _FORMATS for function in _FUNCTIONS)

    def __len__(self) -> int:
        return len(_FORMATS) * len(_FUNCTIONS)
