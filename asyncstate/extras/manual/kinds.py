"""Kinds of values: the values that an argument of a kind may have, and the expectation that an error names.

``kind:`` in an entry of ``arguments/`` names a kind, or one with its words behind a colon: ``one of: tar zip rar``. In
``regex if match_type=pcre`` the kind holds only with that value of another argument, or of several with ``and`` between
them. Of several kinds, with semicolons between them, the first that holds counts.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from asyncstate.data.urls import SALT_SCHEME
from asyncstate.data.values import ATTRIBUTES, bytes_of, unfit_account
from asyncstate.extras.manual.judgements import (
    CRON_NAMES,
    CRON_RANGES,
    WITH_REGEX,
    are_integers,
    are_requirements,
    hint_of_hash,
    is_absolute,
    is_address,
    is_cron_time,
    is_crypted,
    is_day,
    is_encoding,
    is_environment,
    is_hash,
    is_integer,
    is_key_line,
    is_limit,
    is_moment,
    is_mount_point,
    is_natural,
    is_number,
    is_package_source,
    is_pattern,
    is_public_key,
    is_requirement,
    is_span,
    is_zone,
    read,
    regex_error,
    told_of_key,
    zones,
)
from asyncstate.nearest import did_you_mean, nearest
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOTHING = "None"
"""The text that a template writes for a missing value."""
TRUTHS = frozenset({"true", "yes", "on", "1"})
"""The words that Salt's states read as True."""
TRUE = frozenset({"true", "yes", "y", "on", "1", "t"})
FALSE = frozenset({"false", "no", "n", "off", "0", "f"})
_ONE_SLASH = re.compile(r"(?:salt|https?|ftp|s3|swift):(?!//)", re.IGNORECASE)
_MODE = re.compile(r"o?[0-7]{0,4}|keep", re.IGNORECASE)
_SPECIALS = tuple("@reboot @yearly @annually @monthly @weekly @daily @midnight @hourly".split())
_REGEX_FLAGS = tuple(re.RegexFlag.__members__)
_MEANT = dict.fromkeys("tgz tbz tbz2 txz tlz tar.gz".split(), "tar")
"""Words that are usual elsewhere, and the word that stands for each."""


class Kind(Value):
    """The code of a wrong value, the values that are right, and the words for the expected value.

    ``each``: a list may have several such values; ``container``: they have to stand in a list, or be the keys of a
    mapping. ``whole``: a list or a mapping is judged as one value, and none is shown. ``strict``: no truth value is
    one. ``filled``: nor is nothing. ``doubt``: a run takes a wrong value, too. The nearest of ``words`` is the hint.
    ``nearest_of`` returns more of them. ``told`` describes a wrong value that need not be shown.
    """

    code: str
    fits: Callable[[Any], bool]
    expected: str
    hint: str = ""
    each: bool = False
    container: type | None = None
    whole: bool = False
    words: tuple[str, ...] = ()
    strict: bool = False
    filled: bool = False
    doubt: bool = False
    nearest_of: Callable[[], Iterable[str]] = tuple
    told: Callable[[Any], str] | None = None

    def next_step(self, value: Any) -> str:
        """Return what to write in place of a wrong value; "" if that is not known."""
        if self.code == "E414" and not self.hint:
            return hint_of_hash(str(value))
        if self.code == "E420":
            return f"{regex_error(str(value).removeprefix(WITH_REGEX))}; {self.hint}"
        words = {word.lower(): word for word in (*self.words, *self.nearest_of())}
        text = str(value).lower()
        near = _MEANT[text] if _MEANT.get(text) in words else nearest(text, words)
        return did_you_mean(words.get(near, "")) or self.hint


KINDS = {
    "mode": Kind(
        "E410",
        lambda value: _MODE.fullmatch(str(value).strip("\"'").lstrip("0")) is not None,
        "octal digits in quotes",
        "write the rights as a number: rw-r--r-- is '0644', rwxr-xr-x is '0755'",
        strict=True,
    ),
    "path": Kind(
        "E411",
        is_absolute,
        "an absolute path",
        "write the whole path, from / on",
        strict=True,
    ),
    "file": Kind(
        "E411",
        lambda value: is_absolute(value) and (not value or os.path.basename(value) not in {"", ".", ".."}),
        "the absolute path of a file",
        "write the whole path, from / on, without a slash at its end",
        strict=True,
    ),
    "place": Kind(
        "E411",
        is_absolute,
        "an absolute path",
        "write the whole path, from / on: cwd does not count here",
        each=True,
        strict=True,
        doubt=True,
    ),
    "mount point": Kind(
        "E411",
        is_mount_point,
        "the absolute path of a folder",
        "write the whole path, from / on; for swap space: none",
        strict=True,
    ),
    "swap space": Kind(
        "E411",
        lambda value: str(value).startswith("/") or "=" in str(value),
        "an absolute path, or LABEL= or UUID= with a value",
        "write the whole path, from / on",
        strict=True,
    ),
    "key file": Kind(
        "E411",
        lambda value: is_absolute(value) or str(value).startswith(SALT_SCHEME),
        "an absolute path or a salt:// URL",
        "write the whole path, from / on",
        each=True,
        strict=True,
    ),
    "web address": Kind(
        "E413",
        lambda value: re.match(r"https?://", str(value), re.IGNORECASE) is not None,
        "a URL of http or https",
        "write for example https://example.org/health",
        strict=True,
    ),
    "public key": Kind(
        "E419",
        is_public_key,
        "a public key in one line",
        "write what stands in the .pub file that ssh-keygen made; several keys are a list under names",
        strict=True,
        told=told_of_key,
    ),
    "key line": Kind(
        "E419", is_key_line, "a public key in one line", "several keys are a list under names", strict=True
    ),
    "requirement": Kind(
        "E419", is_requirement, "a package, perhaps with versions", "write for example requests >= 2.31", strict=True
    ),
    "requirements": Kind(
        "E419",
        are_requirements,
        "a list of packages, perhaps with versions",
        "write each in a line of its own, for example - requests >= 2.31",
        whole=True,
    ),
    "time zone": Kind(
        "E419",
        is_zone,
        "a time zone",
        "timedatectl list-timezones prints their names, such as Europe/Berlin",
        nearest_of=zones,
    ),
    "package source": Kind(
        "E419",
        is_package_source,
        "a line of sources.list",
        "write for example deb [signed-by=/etc/apt/keyrings/app.gpg] https://deb.example.org/app stable main",
    ),
    "runner": Kind(
        "E412",
        lambda value: value is not None and value != "",
        "an account",
        "name the account, or remove it: without one, the command runs as the user of asyncstate, as a rule root",
        whole=True,
        filled=True,
        doubt=True,
    ),
    "name": Kind("E412", lambda value: value != NOTHING, "a name"),
    "source": Kind(
        "E413",
        lambda value: not isinstance(value, str) or not _ONE_SLASH.match(value),
        "a URL with two slashes, or a path",
        "write salt://path for a file of the tree, https://host/path for one elsewhere",
        each=True,
        strict=True,
    ),
    "hash": Kind("E414", lambda value: not isinstance(value, str) or is_hash(value), "a digest or a file of digests"),
    "attributes": Kind(
        "E419",
        lambda value: not isinstance(value, str) or not set(value) - set(ATTRIBUTES),
        "letters of chattr",
        f"the letters are {ATTRIBUTES}; chattr(1) says what they mean",
    ),
    "boolean": Kind(
        "E416",
        lambda value: value in {"", 0, 1} or str(value).lower() in TRUE | FALSE,
        "True or False",
        "write True or False, without quotes",
    ),
    "truth": Kind(
        "E416",
        lambda value: value in {"", 0, 1} or str(value).strip().lower() in TRUTHS | FALSE,
        "True or False",
        "write True or False, without quotes",
    ),
    "number": Kind("E417", is_number, "a number", "write digits"),
    "integer": Kind("E417", is_integer, "a whole number", "write digits"),
    "natural": Kind("E417", is_natural, "a whole number from 0 on", "write digits", strict=True),
    "day": Kind("E417", is_day, "days since 1970 or a date", "write for example 22000 or '2030-03-27'"),
    "days": Kind("E417", is_span, "a number of days that ends by the year 9999", "write for example 365"),
    "moment": Kind("E417", is_moment, "YYYY-MM-DD HH:MM:SS", "write for example '2030-12-31 23:59:59'"),
    "port": Kind(
        "E417",
        lambda value: value == "" or (is_natural(value) and 0 < int(value) < 1 << 16),
        "a number of a port, 1 to 65535",
        "write digits",
        strict=True,
    ),
    "key size": Kind(
        "E417",
        lambda value: value == "" or (is_natural(value) and int(value) >= 1024),
        "a number of bits, at least 1024 for rsa",
        "write for example 4096",
        strict=True,
    ),
    "curve size": Kind(
        "E417", lambda value: str(value) in {"", "256", "384", "521"}, "256, 384 or 521 for ec", strict=True
    ),
    "bytes": Kind(
        "E417",
        lambda value: not isinstance(value, str) or bytes_of(value) is not None,
        "a number of bytes, perhaps with a unit",
        "write for example 10K or 3MB",
    ),
    "integers": Kind("E417", are_integers, "whole numbers", "write digits: [1, 2]", each=True),
    "seconds": Kind("E418", is_limit, "a number of seconds", "write seconds, without a unit"),
    "regex": Kind(
        "E420",
        lambda value: not regex_error(value),
        "a regular expression",
        "escape a literal bracket with a backslash",
        each=True,
    ),
    "pattern": Kind(
        "E420",
        is_pattern,
        "a glob, or E@ and a regular expression",
        "escape a literal bracket with a backslash",
        each=True,
    ),
    "flags": Kind(
        "E419",
        lambda value: isinstance(value, int) or str(value).upper() in _REGEX_FLAGS,
        "flags of regular expressions",
        "write names, such as [MULTILINE, IGNORECASE], or their sum",
        each=True,
        words=tuple(flag for flag in _REGEX_FLAGS if len(flag) > 1),
    ),
    "encoding": Kind(
        "E419",
        is_encoding,
        "an encoding that Python knows",
        "write for example utf-8",
        words=("utf-8", "latin-1", "ascii"),
    ),
    "cron special": Kind(
        "E419",
        lambda value: str(value) in _SPECIALS or str(value).startswith("@every"),
        f"one of {', '.join(_SPECIALS)}",
        words=_SPECIALS,
    ),
    "address": Kind("E422", is_address, "an IP address", "write for example 192.0.2.10 or 2001:db8::10", each=True),
    "variable": Kind(
        "E405",
        lambda value: isinstance(value, (str, dict)) or value is False,
        "a text, a mapping of variables or False",
        "put it in quotes",
        whole=True,
    ),
    "digest of a password": Kind(
        "E419",
        is_crypted,
        "the digest of a password",
        "mkpasswd and openssl passwd -6 print it; hash_password: True takes the password itself",
        whole=True,
    ),
    "version": Kind(
        "E405",
        lambda value: not isinstance(value, float),
        "a text",
        "put it in quotes: YAML reads 1.20 as the number 1.2",
        doubt=True,
    ),
    "word": Kind(
        "E419",
        lambda value: len(str(value).split()) == 1 and str(value) == str(value).strip(),
        "one word",
        "remove the blanks",
    ),
    "account": Kind(
        "E419",
        lambda value: not unfit_account(str(value)),
        "a name for an account",
        "write one word of at most 32 letters, without : , / and no dash first",
    ),
    "line": Kind("E419", lambda value: "\n" not in str(value), "one line", "remove the line break", each=True),
    "filled": Kind(
        "E419",
        lambda value: value is not None and str(value).strip() != "",
        "a value",
        "write the value",
        filled=True,
    ),
    "passphrase": Kind("E419", lambda value: value != "", "a passphrase", "remove it: without one, there is none"),
    "stateful": Kind(
        "E405",
        lambda value: not value or value is True or isinstance(value, list),
        "True, False or a list with test_name",
        "write True or False, without quotes",
        whole=True,
    ),
    "list": Kind(
        "E405",
        lambda value: not value or isinstance(read(value), list),
        "a list",
        "write each in a line of its own behind '- ', or in brackets",
        whole=True,
    ),
    "texts": Kind(
        "E405",
        lambda value: (
            not any(isinstance(each, (dict, list)) for each in (value if isinstance(value, list) else [value]))
        ),
        "a text or a list of texts",
        "put a text with a colon in quotes; file.serialize writes data",
        whole=True,
        doubt=True,
    ),
    "environment": Kind(
        "E405",
        is_environment,
        "variables that have one text each",
        "write each in a line of its own: - NAME: value",
        whole=True,
    ),
    "mapping": Kind(
        "E405",
        lambda value: not value or isinstance(value, dict),
        "a mapping",
        "write 'key: value' below it",
        whole=True,
    ),
    "lane": Kind(
        "E405",
        lambda value: not value or (isinstance(value, (str, int, list)) and value is not True),
        "a name or a list of names",
        "write a word",
        whole=True,
    ),
    "aggregate": Kind(
        "E405",
        lambda value: isinstance(value, (bool, str, list, dict)),
        "True, False or a list of state modules",
        "write True or False, without quotes",
        whole=True,
    ),
    "commands": Kind(
        "E405",
        lambda value: isinstance(value, (str, list)) and value != "",
        "a command or a list of commands",
        "write the command",
        whole=True,
        filled=True,
    ),
    "entries": Kind(
        "E405",
        lambda value: not value or isinstance(read(value), (list, dict)),
        "a list of 'name: value'",
        "write each in a line of its own: - name: value",
        whole=True,
    ),
}
"""Kinds without words. Only texts and numbers are judged, unless a kind says otherwise: `E405` is about shapes."""


@cache
def kind_of(text: str) -> Kind | None:
    """Return the kind that ``kind:`` names, None for ``any`` and where nothing is written."""
    name, colon, behind = text.partition(": ")
    if not colon:
        return KINDS.get(text)
    words = tuple(behind.split())
    listed = f"one of {', '.join(words)}"
    if name == "cron time":
        low, high = CRON_RANGES[behind]
        names = tuple(sorted(CRON_NAMES.get(behind, ())))
        expected = ", ".join([f"{low} to {high}", *([f"a name such as {names[0]}"] if names else []), "* or random"])
        return Kind("E419", lambda value: is_cron_time(behind, value), expected, f"write {expected}")
    if name == "pairs":
        return Kind(
            "E414",
            lambda value: (
                re.fullmatch(rf"(?:[0-9a-f]{{2}}:){{{int(behind) - 1}}}[0-9a-f]{{2}}", str(value)) is not None
            ),
            f"{behind} pairs of hexadecimal digits with colons between them",
            "fingerprint_hash_type says which digest it is: sha256, which has 32 pairs, or md5, which has 16",
        )
    if name == "one of":
        return Kind("E419", lambda value: value == "" or str(value) in words, listed, f"write {listed}", words=words)
    if name == "each one of":
        return Kind("E419", lambda value: str(value) in words, listed, f"write {listed}", words=words, each=True)
    if name == "one word of":
        return Kind(
            "E419", lambda value: value == "" or str(value).lower() in words, listed, f"write {listed}", words=words
        )
    if name == "switch or one of":
        expected = f"True, False or {', '.join(words)}"
        any_case = {word.lower() for word in words}
        return Kind(
            "E419", lambda value: str(value).lower() in any_case, expected, "write it without quotes", words=words
        )
    if name in {"some of", "keys of"}:
        container = list if name == "some of" else dict
        fits = lambda value: str(value) in words  # noqa: E731 - as above
        return Kind("E419", fits, listed, f"write {listed}", words=words, each=True, container=container)
    raise ValueError(f"there is no kind {text!r}")
