"""The ``mount`` states: active mounts, entries of fstab, and swap space, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.data.mounts import field as _field
from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change

from .. import _resources  # noqa: TID252 - as `states` for type checkers
from ._entries import fstab_absent, fstab_present
from ._entries import refused_entry as _refused_entry
from ._foretold import stuck as _stuck
from ._mounted import mounted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["fstab_absent", "fstab_present", "mod_footprint", "mod_watch", "mounted", "swap", "unmounted"]

_KINDS = {"uid": "user", "gid": "group"}
_LARGEST_PAGE = 1 << 16
_SWAP_MARKS = (b"SWAP", b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB")


def __virtual__() -> Any:
    if "mount.active" in __salt__:
        return True
    return False, "mount module could not be loaded"


def unmounted(
    name: str,
    device: str | None = None,
    config: str = "/etc/fstab",
    persist: bool = False,
    user: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that nothing is mounted at ``name``, and with ``persist`` that fstab has no entry for it.

    ``device`` names one of several devices that are mounted there. ::

        /mnt/old:
          mount.unmounted:
            - persist: True
    """
    if not name:
        return failed(name, "Must provide name to mount.unmounted")
    if _field(name) not in __salt__["mount.active"](extended=True):
        row = unchanged(name, "Target was already unmounted")
    elif filesystem.foretells() and (problem := _stuck(name)):
        return failed(name, problem)
    elif is_dry_run():
        return would_change(name, f"Mount point {name} is mounted but should not be")
    else:
        done = __salt__["mount.umount"](name, device, user=user)
        __salt__["mount.delete_mount_cache"](name)
        succeeded = done is True
        row = changed(name, "Target was successfully unmounted", {"umount": True}) if succeeded else failed(name, done)
    return _purge(row, name, device, config) if persist else row


def swap(name: str, persist: bool = True, config: str = "/etc/fstab") -> Row:
    """Make sure that the device or file ``name`` is active swap space, and with ``persist`` also at boot.

    ::

        /swapfile:
          mount.swap
    """
    if name.startswith("/"):
        filesystem.require_unshared(name, "swapon")
    if persist and filesystem.judges():
        trouble = _refused_entry(("none", name, "swap", ["defaults"], 0, 0, config))
        if trouble:
            return failed(name, trouble)
    active = __salt__["mount.swaps"]()
    device = _swap_device(name)
    if device in active:
        row = unchanged(name, f"Swap {name} already active")
    elif filesystem.foretells() and (problem := _no_swap(device)):
        return failed(name, f"Swap {name} failed to activate: {problem}")
    elif is_dry_run():
        row = would_change(name, f"Swap {name} is set to be activated")
    else:
        __salt__["mount.swapon"](device)
        active = __salt__["mount.swaps"]()
        row = (
            changed(name, f"Swap {name} activated", active[device])
            if device in active
            else failed(name, f"Swap {name} failed to activate")
        )
    return _persist_swap(row, name, config, is_active=name in active) if persist else row


def mod_watch(name: str, user: str | None = None, **kwargs: Any) -> Row:
    """Mount again after a change of a watched state."""
    if kwargs["sfun"] != "mounted":
        return unchanged(name, f"Watch not supported in {kwargs['sfun']} at this time")
    if is_dry_run():  # Salt mounts even in a dry run
        return would_change(name, f"{name} is set to be remounted")
    options = kwargs.get("opts", "defaults")
    done = __salt__["mount.remount"](name, kwargs["device"], False, kwargs["fstype"], options, user=user)
    if done is True:
        return unchanged(name, f"{name} remounted")
    return failed(name, f"{name} failed to remount: {done}")


def mod_footprint(low: Mapping[str, Any]) -> dict[str, Any]:
    """Return the footprint of a mount: the tree below it and fstab; the device and the folder above.

    Paths in a bound folder have two names, as if the mount point were a link. Processes keep a mount from being undone.
    """
    fun, name = low.get("fun"), os.path.normpath(str(low.get("name", "")))
    config = f"path:{os.path.normpath(str(low.get('config') or '/etc/fstab'))}"
    persists = low.get("persist", fun != "unmounted")
    if fun == "swap":
        reads = [f"path:{name}"]
        return {"reads": reads, "writes": [f"swap:{name}", *([config] if persists else [])]}
    device, options = low.get("device"), low.get("opts")
    if fun in {"fstab_present", "fstab_absent"}:
        if fun == "fstab_absent" or not low.get("mount", True):
            return {"reads": [], "writes": [config]}
        device, options, name = low.get("name"), low.get("fs_mntops"), os.path.normpath(str(low.get("fs_file", "")))
    makes = [_resources.folder(name)] if low.get("mkmnt") else []
    reads = [*_resources.accounts(low), *([] if makes else [f"path:{os.path.dirname(name)}"])]
    reads += [*_resources.files(device), *_named_in(options), *_reached(str(device or ""))]
    reads += [_resources.PROCESSES] if fun in {"mounted", "unmounted"} and low.get("mount", True) else []
    writes = [f"path:{name}", f"path:{name.rstrip('/')}/**", f"mount:{name}", *([config] if persists else [])]
    links = {name: str(device)} if str(device or "").startswith("/") and _binds(low) else {}
    footprint: dict[str, Any] = {"reads": reads, "writes": writes, "makes": makes, "links": links}
    return {key: value for key, value in footprint.items() if value or key in {"reads", "writes"}}


def _named_in(options: Any) -> list[str]:
    """Return the files and accounts named by options such as ``credentials=/etc/smb`` and ``uid=www``."""
    texts = options if isinstance(options, list) else str(options or "").split(",")
    pairs = [str(each).partition("=") for each in texts]
    accounts = [
        f"{_KINDS[key]}:{value}" for key, _, value in pairs if key in _KINDS and value and not value.isdecimal()
    ]
    return [*_resources.files([value for _, _, value in pairs]), *accounts]


def _reached(device: str) -> tuple[str, ...]:
    """Return the resources read to reach the host of a share, such as ``nas:/srv`` or ``//nas/srv``."""
    return _resources.NETWORK if device.startswith("//") or ":/" in device else ()


def _binds(low: Mapping[str, Any]) -> bool:
    given = low.get("opts") or ""
    words = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else []
    return low.get("fun") == "mounted" and not {"bind", "rbind"}.isdisjoint([*map(str, words), str(low.get("fstype"))])


def _purge(row: Row, name: str, device: str | None, config: str) -> Row:
    """Remove an unmounted entry from fstab, and add the result to the row."""
    if not __salt__["mount.in_fstab"](name, config=config):
        return row | {"comment": f"{row['comment']}. fstab entry not found"}
    if device and not __salt__["mount.in_fstab"](name, device, config):
        return row | {"comment": f"{row['comment']}. fstab entry for device {device} not found"}
    if is_dry_run():
        comment = f"Mount point {name} is unmounted but needs to be purged from {config} to be made persistent"
        return would_change(name, comment, row["changes"])
    __salt__["mount.rm_fstab"](name, device, config)
    changes = {**row["changes"], "persist": "purged"}
    return row | {"comment": f"{row['comment']}. Removed target from fstab", "changes": changes}


def _swap_device(name: str) -> str:
    """Return the kernel's name of a swap device: the target of a link such as device-mapper's."""
    if not os.path.islink(name):
        return name
    target = os.readlink(name)
    return target if target.startswith("/") else f"/dev/{os.path.basename(target)}"


def _no_swap(device: str) -> str:
    """Return the reason why a path is no swap space, "" if it may be; for dry runs."""
    if device.startswith("/") and not os.path.exists(device):
        return f"{device} does not exist"
    if not device.startswith("/") and "=" not in device:
        return f"{device} is no absolute path"
    if not filesystem.is_file(device):
        return ""
    with filesystem.open_read(device) as file:
        head = file.read(_LARGEST_PAGE)
    pages = [1 << bits for bits in range(12, _LARGEST_PAGE.bit_length())]
    has_header = any(head[page - 10 : page].startswith(_SWAP_MARKS) for page in pages)
    return "" if has_header else f"{device} has no header, which mkswap writes"


def _persist_swap(row: Row, name: str, config: str, *, is_active: bool) -> Row:
    known = __salt__["mount.fstab"](config)
    if is_dry_run():
        if name not in known and name not in [each["device"] for each in known.values()]:
            row["result"] = None
            if is_active:
                row["comment"] = f"Swap {name} is set to be added to the fstab and to be activated"
        return row
    other = known.get("none")
    if other and other["device"] == name and other["fstype"] != "swap":
        return row
    done = __salt__["mount.set_fstab"]("none", name, "swap", ["defaults"], 0, 0, config)
    if done == "new":
        row["changes"]["persist"] = "new"
        row["comment"] += ". Added new entry to the fstab."
    elif done == "change":
        row["changes"]["persist"] = "update"
        row["comment"] += ". Updated the entry in the fstab."
    return row
