"""The ``host`` states: names in the static host table, with Salt's arguments and rows."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.values import BLANKS_OF_C as _BLANKS
from asyncstate.data.values import fields_of as _fields_of
from asyncstate.dunders import Row, __salt__, changed, entry_of, failed, is_dry_run, unchanged, would_change

from . import _resources
from ._paths import unwritable as _unwritable

if TYPE_CHECKING:
    from collections.abc import Mapping

_FUNCTIONS = {"added": "hosts.add_host", "comment_added": "hosts.set_comment", "removed": "hosts.rm_host"}
_SENTENCES = {
    "added": (
        "Host {value} ({address}) would be added",
        "Added host {value} ({address})",
        "Failed to add host {value} ({address})",
    ),
    "comment_added": (
        "Comment for {address} ({value}) would be added",
        "Set comment for host {address} ({value})",
        "Failed to add comment for host {address} ({value})",
    ),
    "removed": (
        "Host {value} ({address}) would be removed",
        "Removed host {value} ({address})",
        "Failed to remove host {value} ({address})",
    ),
}


def present(name: str, ip: Any, comment: str = "", clean: bool = False) -> Row:
    """Make sure that ``name`` belongs to an address, or to all of several; with ``clean`` to no other.

    A ``name`` with blanks is several names, as in the file.
    ``comment`` is put at the end of the address's line. As in Salt, a new name has it among its changes, even if the
    line has it already.
    """
    wanted = [str(each) for each in (ip if isinstance(ip, list) else [ip])]
    comment = comment.strip()
    for address in wanted if filesystem.judges() else ():
        if _is_address(address) and (problem := __salt__["hosts.unfit"](address, name, comment)):
            return failed(name, problem)
    row = unchanged(name)
    table = {key: entry for key, entry in __salt__["hosts.list_hosts"]().items() if isinstance(entry, dict)}
    comments = []
    to_add = [address for address in wanted if address not in table]
    to_remove = []
    to_comment = [address for address in to_add if comment]
    for address, entry in table.items():
        named = __salt__["hosts.has_pair"](address, name)
        if address not in wanted:
            if named and clean:
                to_remove.append(address)
            elif named:
                row.setdefault("warnings", []).append(_elsewhere(name, address))
            continue
        commented = bool(comment) and not (named and entry.get("comment") == comment)
        if not named:
            to_add.append(address)
        elif not commented:
            comments.append(f"Host {name} ({address}) already present")
        if commented:
            to_comment.append(address)
    invalid = [address for address in to_add if not _is_address(address)]
    if invalid:
        sentences = [f"Invalid IP Address for {name} ({address})" for address in invalid]
        return row | {"result": False, "comment": "\n".join([*comments, *sentences])}
    comments += _each(row, to_add, "added", name)
    comments += _each(row, to_comment, "comment_added", comment)
    comments += _each(row, to_remove, "removed", name)
    row["comment"] = "\n".join(comments)
    return _foretold(row)


def absent(name: str, ip: str | list[str]) -> Row:
    """Make sure that ``name`` does not belong to an address, or to any of several."""
    row = unchanged(name)
    comments = []
    for address in ip if isinstance(ip, list) else [ip]:
        if not __salt__["hosts.has_pair"](address, name):
            comments.append(f"Host {name} ({address}) already absent")
        elif is_dry_run():
            row["result"] = None
            comments.append(f"Host {name} ({address}) needs to be removed")
        elif __salt__["hosts.rm_host"](address, name):
            row["changes"] = {"host": name}
            comments.append(f"Removed host {name} ({address})")
        else:
            row["result"] = False
            comments.append("Failed to remove host")
    row["comment"] = "\n".join(comments)
    return _foretold(row)


def only(name: str, hostnames: str | list[str]) -> Row:
    """Make sure that the address ``name`` has these names, in this order, and no others."""
    given = hostnames if isinstance(hostnames, list) else [hostnames]
    old = " ".join(__salt__["hosts.get_alias"](name))
    new = " ".join(field for each in given for field in _fields_of(each, _BLANKS))
    if old == new:
        return unchanged(name, f'IP address {name} already set to "{new}"')
    if new and filesystem.judges() and (problem := __salt__["hosts.unfit"](name, new)):
        return failed(name, problem)
    if is_dry_run():
        return _foretold(would_change(name, f'Would change {name} from "{old}" to "{new}"'))
    if not __salt__["hosts.set_host"](name, new):
        comment = f'hosts.set_host failed to change {name} from "{old}" to "{new}"'
        return failed(name, comment)
    changes = {name: {"old": old, "new": new}}
    return changed(name, f'successfully changed {name} from "{old}" to "{new}"', changes)


def _foretold(row: Row) -> Row:
    """Return the row, or that of a dry run whose run cannot write the table."""
    if row["result"] is not None:
        return row
    problem = _unwritable(str(__salt__["config.option"]("hosts.file") or "/etc/hosts"))
    return row | {"result": False, "comment": problem} if problem else row


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint: the entries of the name and the addresses; the whole file if other entries matter."""
    file = _resources.option("hosts.file", "/etc/hosts")
    if low.get("fun") not in {"present", "absent"} or low.get("clean"):
        return {"reads": [], "writes": [file]}
    ip = low.get("ip")
    addresses = [entry_of(file, "ip", address) for address in (ip if isinstance(ip, list) else [ip])]
    names = [entry_of(file, "name", each) for each in str(low.get("name", "")).split()]
    return {"reads": [], "writes": [*names, *addresses]}


def _each(row: Row, addresses: list[str], action: str, value: str) -> list[str]:
    """Do one action for every address, and return a sentence on the result, or the forecast, of each."""
    function = _FUNCTIONS[action]
    would, did, failed = _SENTENCES[action]
    comments = []
    for address in addresses:
        if is_dry_run():
            row["result"] = None
            comments.append(would.format(value=value, address=address))
        elif __salt__[function](address, value):
            comments.append(did.format(value=value, address=address))
        else:
            row["result"] = False
            comments.append(failed.format(value=value, address=address))
            continue
        row["changes"].setdefault(action, {}).setdefault(address, []).append(value)
    return comments


def _elsewhere(name: str, address: str) -> str:
    return (
        f"Host {name} present for IP address {address}. To get rid of this warning, either run this state with 'clean'"
        f" set to True to remove {name} from {address}, or add {address} to the 'ip' argument."
    )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
