"""Judgements of values: the predicates of the kinds of arguments, and the hints for values that fail them."""

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
from typing import Any

from asyncstate import filesystem
from asyncstate.data.date import days_since_1970
from asyncstate.data.formats import yaml_data
from asyncstate.data.values import parse_key_line
from asyncstate.nearest import did_you_mean, nearest

DIGESTS = {
    name: 2 * hashlib.new(name, usedforsecurity=False).digest_size
    for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
}
"""The digests that a source may have, with the number of their digits."""
WITH_REGEX = "E@"
_CRYPTED = re.compile(r"[!*x].*|!?\$[^:\s]+|!?_[./0-9A-Za-z]{19}|!?[./0-9A-Za-z]{13}")
_SPEC = r"\s*(?:~=|===?|!=|<=|>=|<|>)\s*[^\s,;)]+\s*"
_REQUIREMENT = re.compile(
    rf"\s*[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?\s*\(?\s*(?:{_SPEC}(?:,{_SPEC})*)?\)?\s*(?:;.*)?", re.DOTALL
)
_ARCHIVES = (".whl", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".xz", ".txz", ".tlz", ".lzma")
_NO_FOLDERS = frozenset({"none", "swap"})
"""The mount points of swap space in fstab, which are no folders."""
_SOURCE_LINE = re.compile(r"deb(?:-src)?(?:\s*\[[^\[\]]*\]\s*|\s+)[a-z][a-z0-9+.-]*:\S+\s+\S+.*")
_BEGINS_AS_SOURCE_LINE = re.compile(r"deb(?:-src)?[\s\[]")
CRON_RANGES = {"minute": (0, 59), "hour": (0, 23), "daymonth": (1, 31), "month": (1, 12), "dayweek": (0, 7)}
CRON_NAMES = {
    "month": frozenset("jan feb mar apr may jun jul aug sep oct nov dec".split()),
    "dayweek": frozenset("sun mon tue wed thu fri sat".split()),
}
_CRON_PART = re.compile(r"(\w+)(?:[-~:](\w+))?(?:/\d+)?")


def is_absolute(value: Any) -> bool:
    """Return whether a value is an absolute path, one below a home, or empty."""
    return not value or (isinstance(value, str) and value.startswith(("/", "~")))


def is_mount_point(value: Any) -> bool:
    """Return whether a value is an absolute path on one line, or fstab's word for swap space."""
    text = str(value)
    return text in _NO_FOLDERS or (text.startswith("/") and "\n" not in text)


def is_requirement(value: Any) -> bool:
    """Return whether pip might read a text as a package; only some versions of pip know what a path or URL means."""
    text = str(value).strip()
    named = "/" in text or text.startswith(".") or text.lower().endswith(_ARCHIVES)
    return named or _REQUIREMENT.fullmatch(text) is not None


def are_requirements(value: Any) -> bool:
    """Return whether each entry of a list is a requirement of pip, or a mapping; other values are not judged."""
    return not isinstance(value, list) or all(isinstance(each, dict) or is_requirement(each) for each in value)


def is_key_line(value: Any) -> bool:
    """Return whether a value has one line."""
    return len(str(value).strip().splitlines()) == 1


def is_public_key(value: Any) -> bool:
    """Return whether a value is one line with a public key whose base64 is whole."""
    try:
        return is_key_line(value) and base64.b64decode(parse_key_line(str(value)).key, validate=True) is not None
    except ValueError:
        return False


def told_of_key(value: Any) -> str:
    """Describe a wrong public key without showing it."""
    lines = len(str(value).strip().splitlines())
    return f"{lines} lines" if lines > 1 else "one whose base64 is cut off or mistyped"


def is_zone(value: Any) -> bool:
    """Return whether there is a time zone of this name. All are right where no names are known."""
    text = str(value)
    if text in {"", "localtime"} or not zones():
        return True
    folders = [folder for folder in zoneinfo.TZPATH if os.path.isdir(folder)]
    return text in zones() or any(os.path.isfile(os.path.join(folder, text)) for folder in folders)


@cache
def zones() -> frozenset[str]:
    """Return the names of the time zones of the machine, or of the package ``tzdata``, older names included."""
    names = zoneinfo.available_timezones()
    for folder in zoneinfo.TZPATH:
        try:
            text = filesystem.read_bytes(os.path.join(folder, "tzdata.zi")).decode()
        except OSError:
            continue
        names |= {line.split()[2] for line in text.splitlines() if line.startswith("L ")}
    return frozenset(names)


def is_package_source(value: Any) -> bool:
    """Return whether a value that begins as a line of sources.list is one."""
    text = str(value).strip()
    return not _BEGINS_AS_SOURCE_LINE.match(text) or _SOURCE_LINE.fullmatch(text) is not None


def is_environment(value: Any) -> bool:
    """Return whether a value names variables with one text each; a name alone has the empty text."""
    data = read(value)
    parts = data if isinstance(data, list) else [data]
    variables = [each for part in parts if isinstance(part, dict) for each in part.values()]
    names = [name for part in parts if isinstance(part, dict) for name in part]
    return (
        (not data or isinstance(data, (list, dict)))
        and not any(name == "" or set(str(name)) & set("=\0") for name in names)
        and not any("\0" in str(each) for each in variables)
        and not any(isinstance(part, str) and "=" in part for part in parts)
        and not any(isinstance(each, (list, dict)) for each in variables)
    )


def is_number(value: Any) -> bool:
    """Return whether a value is a number, as text or not."""
    try:
        float(value)
    except ValueError:
        return False
    return True


def is_limit(value: Any) -> bool:
    """Return whether a value is a number that is not negative."""
    return is_number(value) and float(value) >= 0


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, as text or not, or empty."""
    return value == "" or re.fullmatch(r"\s*[+-]?\d+\s*", str(value)) is not None


def is_natural(value: Any) -> bool:
    """Return whether a value is an integer that is not negative, or empty."""
    return value == "" or (isinstance(value, (int, str)) and str(value).strip().isdecimal())


def is_span(value: Any) -> bool:
    """Return whether a value is a number of days that a date can be away from now, or empty."""
    try:
        return value == "" or bool(datetime.now() + timedelta(days=int(value)))  # noqa: DTZ005 - to a day
    except (ValueError, OverflowError):
        return False


def is_moment(value: Any) -> bool:
    """Return whether a value is a date and time such as 2026-01-31 12:00:00, or empty."""
    try:
        return not value or bool(datetime.strptime(str(value), "%Y-%m-%d %H:%M:%S"))  # noqa: DTZ007 - only read
    except ValueError:
        return False


def is_day(value: Any) -> bool:
    """Return whether a value is a day that has a number since 1970, or empty."""
    try:
        return value == "" or days_since_1970(value) is not None
    except ValueError:
        return False


def is_crypted(value: Any) -> bool:
    """Return whether a value can stand in /etc/shadow: what crypt(3) makes, or what no password matches."""
    return not value or (isinstance(value, str) and _CRYPTED.fullmatch(value) is not None)


def are_integers(value: Any) -> bool:
    """Return whether a value is one or more integers, with commas between them."""
    return all(is_integer(part.strip()) for part in str(value).split(","))


def regex_error(value: Any) -> str:
    """Return why a value, as text, is no regular expression; "" if it is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(str(value))
        except (re.error, OverflowError, RecursionError) as error:
            return str(error)
    return ""


def is_pattern(value: Any) -> bool:
    """Return whether a value is a glob, or a valid regular expression after ``E@``."""
    text = str(value)
    return not text.startswith(WITH_REGEX) or not regex_error(text.removeprefix(WITH_REGEX))


def is_encoding(value: Any) -> bool:
    """Return whether Python knows a value as an encoding; an empty one counts as known."""
    try:
        return not value or codecs.lookup(str(value)) is not None
    except LookupError:
        return False


def is_address(value: Any) -> bool:
    """Return whether a value is an IP address."""
    try:
        return ipaddress.ip_address(str(value)) is not None
    except ValueError:
        return False


def read(value: Any) -> Any:
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


def hint_of_hash(text: str) -> str:
    """Return the next step for a text that is no hash: the nearest type, or the number of its digits."""
    kind, equals, digits = (part.strip() for part in text.partition("="))
    near = nearest(kind.lower().replace("-", ""), DIGESTS) if equals and kind not in DIGESTS else ""
    if near:
        return did_you_mean(near)
    if kind in DIGESTS and equals:
        return f"{kind} has {DIGESTS[kind]} hexadecimal digits, not {len(digits)}; {kind}sum FILE prints them"
    return "write for example sha256= and its 64 digits, which sha256sum FILE prints, or the URL of a file with them"


def is_cron_time(field: str, value: Any) -> bool:
    """Return False for what every crontab refuses. What only some of them know is right."""
    text = str(value).lower()
    low, high = CRON_RANGES[field]
    if text == "random":
        return True
    for part in text.split(","):
        match = _CRON_PART.fullmatch(part)
        for end in filter(None, match.groups() if match else ()):
            if not (low <= int(end) <= high if end.isdecimal() else end in CRON_NAMES.get(field, ())):
                return False
    return len(text.split()) == 1
