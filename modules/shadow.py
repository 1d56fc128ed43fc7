"""The ``shadow`` execution module: passwords and their ages, in /etc/shadow.

The file is changed here, in one step and under the system's lock; no other program receives a hash.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from asyncstate.data.date import days_since_1970
from asyncstate.dunders import __grains__
from asyncstate.errors import CommandExecutionError

from . import _account_files
from ._account_files import SHADOW
from ._crypt import hashed

if TYPE_CHECKING:
    from ._account_files import Row

_FIELDS = {"passwd": 1, "lstchg": 2, "min": 3, "max": 4, "warn": 5, "inact": 6, "expire": 7}
_WIDTH = 9
_DAY = 86400


def __virtual__() -> bool:
    """Load on Linux."""
    return bool(__grains__.get("kernel") == "Linux")


def default_hash() -> str:
    """Return the value in place of a hash if no password is set."""
    return "!"


def info(name: str, root: str | None = None) -> dict[str, Any]:
    """Return passwd, lstchg, min, max, warn, inact and expire of a user; all of them "" for an unknown one.

    Numbers are days, -1 where none is set.
    """
    row = _row(name, root)
    if row is None:
        return {"name": "", **dict.fromkeys(_FIELDS, "")}
    numbers = {key: int(row[place] or -1) for key, place in _FIELDS.items() if key != "passwd"}
    return {"name": name, "passwd": row[1], **numbers}


def list_users(root: str | None = None) -> list[str]:
    """Return the names of all users that have an entry, sorted."""
    return sorted(row[0] for row in _account_files.read_rows(SHADOW, root))


def set_password(name: str, password: str, use_usermod: bool = False, root: str | None = None) -> bool:
    """Set a password given as a hash, and today as the day of the change. False for an unknown user."""
    return _set(name, root, passwd=password, lstchg=int(time.time()) // _DAY)


def del_password(name: str, root: str | None = None) -> bool:
    """Remove a user's password, so that no password is needed to log in."""
    return _set(name, root, passwd="")


def lock_password(name: str, root: str | None = None) -> bool:
    """Lock a password, keeping it."""
    row = _row(name, root)
    return row is not None and (row[1].startswith("!") or _set(name, root, passwd=f"!{row[1]}"))


def unlock_password(name: str, root: str | None = None) -> bool:
    """Unlock a password. False if there would be none at all, as passwd(1) does."""
    row = _row(name, root)
    if row is None:
        return False
    if not row[1].startswith("!"):
        return True
    unlocked = row[1].removeprefix("!")
    return bool(unlocked) and _set(name, root, passwd=unlocked)


def gen_password(password: str, crypt_salt: str | None = None, algorithm: str = "sha512") -> str:
    """Hash a password. ``algorithm``: sha512, sha256, md5 or blowfish, if the system's libcrypt has it."""
    return hashed(password, crypt_salt, algorithm)


def set_date(name: str, date: Any, root: str | None = None) -> bool:
    """Set the day of the last password change: days since 1970, or YYYY-MM-DD."""
    return _set(name, root, lstchg=date)


def set_mindays(name: str, mindays: Any, root: str | None = None) -> bool:
    """Set how many days must pass between password changes."""
    return _set(name, root, min=mindays)


def set_maxdays(name: str, maxdays: Any, root: str | None = None) -> bool:
    """Set how many days a password is valid."""
    return _set(name, root, max=maxdays)


def set_warndays(name: str, warndays: Any, root: str | None = None) -> bool:
    """Set how many days before its end a password's user is warned."""
    return _set(name, root, warn=warndays)


def set_inactdays(name: str, inactdays: Any, root: str | None = None) -> bool:
    """Set how many days after the end of the password the account is locked."""
    return _set(name, root, inact=inactdays)


def set_expire(name: str, expire: Any, root: str | None = None) -> bool:
    """Set the day the account ends: days since 1970, or YYYY-MM-DD; -1 for never."""
    return _set(name, root, expire=expire)


def _set(name: str, root: str | None, **values: Any) -> bool:
    texts = {key: value if key == "passwd" else _days(value) for key, value in values.items()}
    if any(mark in text for text in texts.values() for mark in ":\n"):
        raise CommandExecutionError(f"{', '.join(texts)}: neither a colon nor a line break can stand in /etc/shadow")

    def change(row: Row) -> Row:
        full = [*row[:_WIDTH], *[""] * (_WIDTH - len(row))]
        for key, text in texts.items():
            full[_FIELDS[key]] = text
        return full

    if _row(name, root) is None:
        return False
    _account_files.change_row(SHADOW, name, change, root)
    return True


def _row(name: str, root: str | None) -> Row | None:
    if not os.path.exists(_account_files.path_of(SHADOW, root)):
        return None
    row = next((row for row in _account_files.read_rows(SHADOW, root) if row[0] == name), None)
    return [*row, *[""] * (_WIDTH - len(row))] if row else None


def _days(value: Any) -> str:
    """Return a number of days as in the file; a date becomes the days since 1970, -1 becomes ""."""
    try:
        days = days_since_1970(value)
    except ValueError as error:
        raise CommandExecutionError(str(error)) from error
    return "" if days < 0 else str(days)
