"""Regular expressions that are compiled on first use, so that importing a module compiles none of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr

if TYPE_CHECKING:

    def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Return what ``re.compile`` returns, compiled when its first attribute is read.

        It has the methods and attributes of a pattern, but functions of `re` do not take it as an argument.
        """

else:

    class lazy_pattern:  # noqa: D101, N801 - as declared above
        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._text, self._flags = text, flags

        def __getattr__(self, name: str) -> Any:
            found = getattr(re.compile(self._text, self._flags), name)
            setattr(self, name, found)
            return found
