"""Versions and version specifiers of Python packages (PEP 440): parsing and comparing."""

from __future__ import annotations

import re
from typing import Any

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_number>\d*))?"
    r"(?:-(?P<implicit_post>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_PHASES = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL = 3
"""The phase of a release: after its candidates."""
_BEFORE = -1
"""The phase of a development release without another phase: before everything else of that release."""

SpecList = list[tuple[str, str]]


class Version:
    """A version; `parsed` returns one. ``key`` orders versions."""

    def __init__(self, match: re.Match[str]) -> None:
        self.epoch = int(match["epoch"] or 0)
        self.release = tuple(int(part) for part in match["release"].split("."))
        self.is_pre = bool(match["pre"] or match["dev"])
        self.has_post = bool(match["post"] or match["implicit_post"])
        phase = _PHASES[match["pre"].lower()] if match["pre"] else _FINAL
        post = int(match["implicit_post"] or match["post_number"] or 0) if self.has_post else -1
        dev = (0, int(match["dev_number"] or 0)) if match["dev"] else (1, 0)
        if match["dev"] and not match["pre"] and not self.has_post:
            phase = _BEFORE
        self.local = tuple(
            (1, int(part), "") if part.isdigit() else (0, 0, part.lower())
            for part in re.split(r"[-_.]", match["local"] or "")
            if part
        )
        self._rest = (phase, int(match["pre_number"] or 0), post, dev)

    @property
    def key(self) -> tuple[Any, ...]:
        """The sort key of a version."""
        return (*self.public_key, self.local)

    @property
    def public_key(self) -> tuple[Any, ...]:
        """The sort key without the local part."""
        return (self.epoch, trimmed(self.release), *self._rest)


def trimmed(release: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of a release without trailing zeros."""
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    return release


def parsed(text: str) -> Version | None:
    """Return the version in ``text``, None if it is not a version."""
    match = _VERSION.fullmatch(text.strip())
    return Version(match) if match else None


def satisfies(version: str, specs: SpecList) -> bool:
    """Return whether a version meets all specifiers, such as ``[(">=", "1.2"), ("<", "2")]``."""
    return all(_meets(version, operator, wanted.strip()) for operator, wanted in specs)


def _meets(text: str, operator: str, wanted: str) -> bool:
    if operator == "===":
        return text.lower() == wanted.lower()
    have, want = parsed(text), parsed(wanted.removesuffix(".*"))
    if have is None or want is None:
        return text == wanted if operator == "==" else operator == "!=" and text != wanted
    if operator in {"==", "!="}:
        equal = _begins(have, want) if wanted.endswith(".*") else _equal(have, want)
        return equal == (operator == "==")
    if operator == "~=":
        return have.public_key >= want.public_key and _same_series(have, want)
    if operator == ">=":
        return have.public_key >= want.public_key
    if operator == "<=":
        return have.public_key <= want.public_key
    if operator == ">":
        # A post release or a local build of a version does not count as later than that version.
        same = trimmed(have.release) == trimmed(want.release) and have.epoch == want.epoch
        return have.public_key > want.public_key and not (same and have.has_post and not want.has_post)
    same = trimmed(have.release) == trimmed(want.release) and have.epoch == want.epoch
    return have.public_key < want.public_key and not (same and have.is_pre and not want.is_pre)


def _equal(have: Version, want: Version) -> bool:
    return have.key == want.key if want.local else have.public_key == want.public_key


def _begins(have: Version, want: Version) -> bool:
    padded = have.release + (0,) * (len(want.release) - len(have.release))
    return have.epoch == want.epoch and padded[: len(want.release)] == want.release


def _same_series(have: Version, want: Version) -> bool:
    length = max(len(want.release) - 1, 1)
    padded = have.release + (0,) * (length - len(have.release))
    return have.epoch == want.epoch and padded[:length] == want.release[:length]
