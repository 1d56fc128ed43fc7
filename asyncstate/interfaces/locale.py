"""The interface of ``locale``: the system's languages."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface


class LocaleInterface(Interface):
    """The locales that are compiled, and the one programs start with."""

    __modulename__ = "locale"

    def list_avail(self) -> list[str]:
        """Return the compiled locales."""
        return [""]

    def avail(self, locale: str) -> bool:
        """Return whether a locale is compiled; case and hyphens of the codeset do not matter."""
        return True

    def get_locale(self) -> str:
        """Return the locale of the system, "" if none is set."""
        return ""

    def set_locale(self, locale: str) -> bool:
        """Set the locale of the system."""
        return True

    def gen_locale(self, locale: str, **kwargs: Any) -> Any:
        """Compile a locale and return whether that worked; with ``verbose`` the output of the program."""
        return None
