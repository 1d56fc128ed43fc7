"""The Salt release whose behaviour asyncstate follows."""

from __future__ import annotations

from functools import total_ordering

from asyncstate.data import SALT_VERSION
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else


@total_ordering
class SaltStackVersion:
    """A release such as 3008.3: compares with versions, tuples, numbers and text."""

    def __init__(self, *parts: int) -> None:
        self.info = parts
        self.major: int = parts[0] if parts else 0
        self.minor: int = parts[1] if len(parts) > 1 else 0
        self.string: str = ".".join(map(str, parts))
        self.formatted_version: str = self.string

    @classmethod
    def parse(cls, text: str) -> SaltStackVersion:
        """Read ``"3006.1"``. Raises ValueError."""
        try:
            return cls(*(int(part) for part in text.lstrip("v").split("+")[0].split(".")))
        except ValueError:
            raise ValueError(f"Unable to parse version string: '{text}'") from None

    def __eq__(self, other: object) -> bool:
        return self._padded() == _version(other)._padded()

    def __lt__(self, other: object) -> bool:
        return self._padded() < _version(other)._padded()

    def __hash__(self) -> int:
        return hash(self._padded())

    def __str__(self) -> str:
        return self.string

    def __repr__(self) -> str:
        return f"<SaltStackVersion version={self.string!r}>"

    def _padded(self) -> tuple[int, ...]:
        return (*self.info, 0, 0, 0)[:3]


def _version(value: object) -> SaltStackVersion:
    if isinstance(value, SaltStackVersion):
        return value
    if isinstance(value, (tuple, list)):
        return SaltStackVersion(*(int(part) for part in value))
    return SaltStackVersion.parse(str(value))


__saltstack_version__: SaltStackVersion = SaltStackVersion(*SALT_VERSION)
__version__ = __saltstack_version__.string
__version_info__: tuple[int, ...] = __saltstack_version__.info

__getattr__: ModuleGetattr = nothing_else(__name__)
