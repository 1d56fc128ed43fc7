"""Kinds of values: the values that an argument of a kind may have, and the expectation that an error names.

``kind:`` in an entry of ``arguments/`` names a kind, or one with its words behind a colon: ``one of: tar zip rar``. In
``regex if match_type=pcre`` the kind holds only with that value of another argument, or of several with ``and`` between
them. Of several kinds, with semicolons between them, the first that holds counts.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import ipaddress
import os
import re
import warnings
import zoneinfo
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.days import days_since_1970
from asyncstate.data.formats import yaml_data
from asyncstate.data.urls import SALT_SCHEME
from asyncstate.data.values import ATTRIBUTES, bytes_of, parse_key_line, unfit_account
from asyncstate.nearest import nearest
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOTHING = "None"
"""What a template writes for a value that is missing."""
TRUTHS = frozenset({"true", "yes", "on", "1"})
"""The words that Salt's states read as True."""
TRUE = frozenset({"true", "yes", "y", "on", "1", "t"})
FALSE = frozenset({"false", "no", "n", "off", "0", "f"})
DIGESTS = {
    name: 2 * hashlib.new(name, usedforsecurity=False).digest_size
    for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
}
"""The digests that a source may have, with the number of their digits."""

_ONE_SLASH = re.compile(r"(?:salt|https?|ftp|s3|swift):(?!//)", re.IGNORECASE)
_MODE = re.compile(r"o?[0-7]{0,4}|keep", re.IGNORECASE)
_WITH_REGEX = "E@"
_SPECIALS = tuple("@reboot @yearly @annually @monthly @weekly @daily @midnight @hourly".split())
_CRYPTED = re.compile(r"[!*x].*|!?\$[^:\s]+|!?_[./0-9A-Za-z]{19}|!?[./0-9A-Za-z]{13}")
_SPEC = r"\s*(?:~=|===?|!=|<=|>=|<|>)\s*[^\s,;)]+\s*"
_REQUIREMENT = re.compile(
    rf"\s*[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?\s*\(?\s*(?:{_SPEC}(?:,{_SPEC})*)?\)?\s*(?:;.*)?", re.DOTALL
)
_ARCHIVES = (".whl", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".xz", ".txz", ".tlz", ".lzma")
_NO_FOLDERS = frozenset({"none", "swap"})
"""What fstab has in place of a folder for swap space."""
_REGEX_FLAGS = tuple(re.RegexFlag.__members__)
_SOURCE_LINE = re.compile(r"deb(?:-src)?(?:\s*\[[^\[\]]*\]\s*|\s+)[a-z][a-z0-9+.-]*:\S+\s+\S+.*")
_BEGINS_AS_SOURCE_LINE = re.compile(r"deb(?:-src)?[\s\[]")
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
            return _hint_of_hash(str(value))
        if self.code == "E420":
            return f"{regex_error(str(value).removeprefix(_WITH_REGEX))}; {self.hint}"
        words = {word.lower(): word for word in (*self.words, *self.nearest_of())}
        text = str(value).lower()
        near = _MEANT[text] if _MEANT.get(text) in words else nearest(text, words)
        return f"did you mean '{words[near]}'?" if near else self.hint


def _is_absolute(value: Any) -> bool:
    return not value or (isinstance(value, str) and value.startswith(("/", "~")))


def _is_mount_point(value: Any) -> bool:
    text = str(value)
    return text in _NO_FOLDERS or (text.startswith("/") and "\n" not in text)


def _is_requirement(value: Any) -> bool:
    """Return whether pip might read a text as a package; only some versions of pip know what a path or URL means."""
    text = str(value).strip()
    named = "/" in text or text.startswith(".") or text.lower().endswith(_ARCHIVES)
    return named or _REQUIREMENT.fullmatch(text) is not None


def _are_requirements(value: Any) -> bool:
    return not isinstance(value, list) or all(isinstance(each, dict) or _is_requirement(each) for each in value)


def _is_key_line(value: Any) -> bool:
    return len(str(value).strip().splitlines()) == 1


def _is_public_key(value: Any) -> bool:
    try:
        return _is_key_line(value) and base64.b64decode(parse_key_line(str(value)).key, validate=True) is not None
    except ValueError:
        return False


def _told_of_key(value: Any) -> str:
    lines = len(str(value).strip().splitlines())
    return f"{lines} lines" if lines > 1 else "one whose base64 is cut off or mistyped"


def _is_zone(value: Any) -> bool:
    """Return whether there is a time zone of this name. All are right where no names are known."""
    text = str(value)
    if text in {"", "localtime"} or not _zones():
        return True
    folders = [folder for folder in zoneinfo.TZPATH if os.path.isdir(folder)]
    return text in _zones() or any(os.path.isfile(os.path.join(folder, text)) for folder in folders)


@cache
def _zones() -> frozenset[str]:
    """Return the names of the time zones of the machine, or of the package ``tzdata``, older names included."""
    names = zoneinfo.available_timezones()
    for folder in zoneinfo.TZPATH:
        try:
            text = filesystem.read_bytes(os.path.join(folder, "tzdata.zi")).decode()
        except OSError:
            continue
        names |= {line.split()[2] for line in text.splitlines() if line.startswith("L ")}
    return frozenset(names)


def _is_package_source(value: Any) -> bool:
    text = str(value).strip()
    return not _BEGINS_AS_SOURCE_LINE.match(text) or _SOURCE_LINE.fullmatch(text) is not None


def _is_environment(value: Any) -> bool:
    """Return whether a value names variables with one text each; a name alone has the empty text."""
    read = _read(value)
    parts = read if isinstance(read, list) else [read]
    variables = [each for part in parts if isinstance(part, dict) for each in part.values()]
    names = [name for part in parts if isinstance(part, dict) for name in part]
    return (
        (not read or isinstance(read, (list, dict)))
        and not any(name == "" or set(str(name)) & set("=\0") for name in names)
        and not any("\0" in str(each) for each in variables)
        and not any(isinstance(part, str) and "=" in part for part in parts)
        and not any(isinstance(each, (list, dict)) for each in variables)
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_limit(value: Any) -> bool:
    return _is_number(value) and float(value) >= 0


def _is_integer(value: Any) -> bool:
    return value == "" or re.fullmatch(r"\s*[+-]?\d+\s*", str(value)) is not None


def _is_natural(value: Any) -> bool:
    return value == "" or (isinstance(value, (int, str)) and str(value).strip().isdecimal())


def _is_span(value: Any) -> bool:
    try:
        return value == "" or bool(datetime.now() + timedelta(days=int(value)))  # noqa: DTZ005 - to a day
    except (ValueError, OverflowError):
        return False


def _is_moment(value: Any) -> bool:
    try:
        return not value or bool(datetime.strptime(str(value), "%Y-%m-%d %H:%M:%S"))  # noqa: DTZ007 - only read
    except ValueError:
        return False


def _is_day(value: Any) -> bool:
    try:
        return value == "" or days_since_1970(value) is not None
    except ValueError:
        return False


def _is_crypted(value: Any) -> bool:
    """Return whether a value can stand in /etc/shadow: what crypt(3) makes, or what no password matches."""
    return not value or (isinstance(value, str) and _CRYPTED.fullmatch(value) is not None)


def _are_integers(value: Any) -> bool:
    return all(_is_integer(part.strip()) for part in str(value).split(","))


def regex_error(value: Any) -> str:
    """Return why a value, as text, is no regular expression; "" if it is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(str(value))
        except (re.error, OverflowError, RecursionError) as error:
            return str(error)
    return ""


def _is_pattern(value: Any) -> bool:
    text = str(value)
    return not text.startswith(_WITH_REGEX) or not regex_error(text.removeprefix(_WITH_REGEX))


def _is_encoding(value: Any) -> bool:
    try:
        return not value or codecs.lookup(str(value)) is not None
    except LookupError:
        return False


def _is_address(value: Any) -> bool:
    try:
        return ipaddress.ip_address(str(value)) is not None
    except ValueError:
        return False


def _read(value: Any) -> Any:
    """Return the data in YAML text; any other value, and text that is no YAML, as it is."""
    try:
        return yaml_data(value) if isinstance(value, str) else value
    except ValueError:
        return value


def is_hash(text: str) -> bool:
    """Return whether a text is a digest, ``type=digest``, or the path or URL of a file of digests."""
    if text.startswith("/") or "://" in text:
        return True
    kind, equals, digits = (part.strip() for part in text.partition("="))
    if not equals:
        return len(kind) in DIGESTS.values() and re.fullmatch("[0-9a-fA-F]+", kind) is not None
    return len(digits) == DIGESTS.get(kind)


def _hint_of_hash(text: str) -> str:
    kind, equals, digits = (part.strip() for part in text.partition("="))
    near = nearest(kind.lower().replace("-", ""), DIGESTS) if equals and kind not in DIGESTS else ""
    if near:
        return f"did you mean '{near}'?"
    if kind in DIGESTS and equals:
        return f"{kind} has {DIGESTS[kind]} hexadecimal digits, not {len(digits)}; {kind}sum FILE prints them"
    return "write for example sha256= and its 64 digits, which sha256sum FILE prints, or the URL of a file with them"


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
        _is_absolute,
        "an absolute path",
        "write the whole path, from / on",
        strict=True,
    ),
    "file": Kind(
        "E411",
        lambda value: _is_absolute(value) and (not value or os.path.basename(value) not in {"", ".", ".."}),
        "the absolute path of a file",
        "write the whole path, from / on, without a slash at its end",
        strict=True,
    ),
    "place": Kind(
        "E411",
        _is_absolute,
        "an absolute path",
        "write the whole path, from / on: cwd does not count here",
        each=True,
        strict=True,
        doubt=True,
    ),
    "mount point": Kind(
        "E411",
        _is_mount_point,
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
        lambda value: _is_absolute(value) or str(value).startswith(SALT_SCHEME),
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
        _is_public_key,
        "a public key in one line",
        "write what stands in the .pub file that ssh-keygen made; several keys are a list under names",
        strict=True,
        told=_told_of_key,
    ),
    "key line": Kind(
        "E419", _is_key_line, "a public key in one line", "several keys are a list under names", strict=True
    ),
    "requirement": Kind(
        "E419", _is_requirement, "a package, perhaps with versions", "write for example requests >= 2.31", strict=True
    ),
    "requirements": Kind(
        "E419",
        _are_requirements,
        "a list of packages, perhaps with versions",
        "write each in a line of its own, for example - requests >= 2.31",
        whole=True,
    ),
    "time zone": Kind(
        "E419",
        _is_zone,
        "a time zone",
        "timedatectl list-timezones prints their names, such as Europe/Berlin",
        nearest_of=_zones,
    ),
    "package source": Kind(
        "E419",
        _is_package_source,
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
    "number": Kind("E417", _is_number, "a number", "write digits"),
    "integer": Kind("E417", _is_integer, "a whole number", "write digits"),
    "natural": Kind("E417", _is_natural, "a whole number from 0 on", "write digits", strict=True),
    "day": Kind("E417", _is_day, "days since 1970 or a date", "write for example 22000 or '2030-03-27'"),
    "days": Kind("E417", _is_span, "a number of days that ends by the year 9999", "write for example 365"),
    "moment": Kind("E417", _is_moment, "YYYY-MM-DD HH:MM:SS", "write for example '2030-12-31 23:59:59'"),
    "port": Kind(
        "E417",
        lambda value: value == "" or (_is_natural(value) and 0 < int(value) < 1 << 16),
        "a number of a port, 1 to 65535",
        "write digits",
        strict=True,
    ),
    "key size": Kind(
        "E417",
        lambda value: value == "" or (_is_natural(value) and int(value) >= 1024),
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
    "integers": Kind("E417", _are_integers, "whole numbers", "write digits: [1, 2]", each=True),
    "seconds": Kind("E418", _is_limit, "a number of seconds", "write seconds, without a unit"),
    "regex": Kind(
        "E420",
        lambda value: not regex_error(value),
        "a regular expression",
        "a bracket that stands for itself has a backslash before it",
        each=True,
    ),
    "pattern": Kind(
        "E420",
        _is_pattern,
        "a glob, or E@ and a regular expression",
        "a bracket that stands for itself has a backslash before it",
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
        _is_encoding,
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
    "address": Kind("E422", _is_address, "an IP address", "write for example 192.0.2.10 or 2001:db8::10", each=True),
    "variable": Kind(
        "E405",
        lambda value: isinstance(value, (str, dict)) or value is False,
        "a text, a mapping of variables or False",
        "put it in quotes",
        whole=True,
    ),
    "digest of a password": Kind(
        "E419",
        _is_crypted,
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
        lambda value: not value or isinstance(_read(value), list),
        "a list",
        "write each in a line of its own behind '- ', or in brackets",
        whole=True,
    ),
    "environment": Kind(
        "E405",
        _is_environment,
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
        lambda value: not value or isinstance(_read(value), (list, dict)),
        "a list of 'name: value'",
        "write each in a line of its own: - name: value",
        whole=True,
    ),
}
"""Kinds without words. Only texts and numbers are judged, unless a kind says otherwise: `E405` is about shapes."""

_CRON_RANGES = {"minute": (0, 59), "hour": (0, 23), "daymonth": (1, 31), "month": (1, 12), "dayweek": (0, 7)}
_CRON_NAMES = {
    "month": frozenset("jan feb mar apr may jun jul aug sep oct nov dec".split()),
    "dayweek": frozenset("sun mon tue wed thu fri sat".split()),
}
_CRON_PART = re.compile(r"(\w+)(?:[-~:](\w+))?(?:/\d+)?")


def _is_cron_time(field: str, value: Any) -> bool:
    """Return False for what every crontab refuses. What only some of them know is right."""
    text = str(value).lower()
    low, high = _CRON_RANGES[field]
    if text == "random":
        return True
    for part in text.split(","):
        match = _CRON_PART.fullmatch(part)
        for end in filter(None, match.groups() if match else ()):
            if not (low <= int(end) <= high if end.isdecimal() else end in _CRON_NAMES.get(field, ())):
                return False
    return len(text.split()) == 1


@cache
def kind_of(text: str) -> Kind | None:
    """Return the kind that ``kind:`` names, None for ``any`` and where nothing is written."""
    name, colon, behind = text.partition(": ")
    if not colon:
        return KINDS.get(text)
    words = tuple(behind.split())
    listed = f"one of {', '.join(words)}"
    if name == "cron time":
        low, high = _CRON_RANGES[behind]
        names = tuple(sorted(_CRON_NAMES.get(behind, ())))
        expected = ", ".join([f"{low} to {high}", *([f"a name such as {names[0]}"] if names else []), "* or random"])
        return Kind("E419", lambda value: _is_cron_time(behind, value), expected, f"write {expected}")
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
