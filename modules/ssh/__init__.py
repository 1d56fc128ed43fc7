"""The ``ssh`` execution module: keys of users and hosts, the authorized keys and the known hosts of users."""

from __future__ import annotations

import shutil

from .authorized import (
    auth_keys,
    check_key,
    check_key_file,
    rm_auth_key,
    rm_auth_key_from_file,
    set_auth_key,
    set_auth_key_from_file,
)
from .known import (
    check_known_host,
    get_known_host_entries,
    hash_known_hosts,
    recv_known_host_entries,
    rm_known_host,
    set_known_host,
)
from .pairs import host_keys, key_is_encrypted, user_keys

__all__ = [
    "auth_keys",
    "check_key",
    "check_key_file",
    "check_known_host",
    "get_known_host_entries",
    "hash_known_hosts",
    "host_keys",
    "key_is_encrypted",
    "recv_known_host_entries",
    "rm_auth_key",
    "rm_auth_key_from_file",
    "rm_known_host",
    "set_auth_key",
    "set_auth_key_from_file",
    "set_known_host",
    "user_keys",
]


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the program is installed."""
    if shutil.which("ssh"):
        return True
    return False, "The module requires the ssh binary."
