"""The state ``mount.mounted``."""

from __future__ import annotations

import os
import re
from typing import Any

from asyncstate import filesystem
from asyncstate.data.mounts import field
from asyncstate.dunders import Row, __salt__, failed, is_dry_run, unchanged, would_change

from ._entries import refused_entry
from ._foretold import refused_options, stuck, unmountable
from ._options import Tolerance, outdated

_MUST_BE_UNMOUNTED = ("nfs", "cvfs")
_LVM_NAME = re.compile(r"^/dev/([^/]+)/([^/]+)$")
_FUSE_PREFIX = re.compile(r"^\w+#(.+)")


def mounted(
    name: str,
    device: str,
    fstype: str,
    mkmnt: bool = False,
    opts: str | list[str] = "defaults",
    dump: Any = 0,
    pass_num: Any = 0,
    config: str = "/etc/fstab",
    persist: bool = True,
    mount: bool = True,
    user: str | None = None,
    match_on: Any = "auto",
    device_name_regex: Any = None,
    extra_mount_invisible_options: Any = None,
    extra_mount_invisible_keys: Any = None,
    extra_mount_ignore_fs_keys: Any = None,
    extra_mount_translate_options: Any = None,
    hidden_opts: Any = None,
    bind_mount_copy_active_opts: bool = True,
    **kwargs: Any,
) -> Row:
    """Make sure that ``device`` is mounted at ``name`` with these options, now and, with ``persist``, by fstab.

    ``mkmnt`` makes the folder; ``mount`` False only edits fstab. ``match_on`` names the fields that identify an entry
    of fstab (``auto``: the mount point for types such as nfs and tmpfs, else the device). Options that the kernel does
    not show, and that are no reason to mount again, go into ``hidden_opts`` or the ``extra_mount_…`` lists;
    ``device_name_regex`` matches other names of the device. ::

        /srv/data:
          mount.mounted:
            - device: /dev/sdb1
            - fstype: ext4
            - opts: noatime,nodev
            - mkmnt: True
    """
    for what, value in (("name", name), ("device", device), ("fstype", fstype)):
        if not value:
            return failed(name, f"Must provide {what} to mount.mounted")
    if mount:
        filesystem.require_own_place(name, "mount", user)
    tolerance = Tolerance(
        extra_mount_invisible_options,
        extra_mount_invisible_keys,
        extra_mount_ignore_fs_keys,
        extra_mount_translate_options,
        hidden_opts.split(",") if isinstance(hidden_opts, str) else hidden_opts,
    )
    options = opts.split(",") if isinstance(opts, str) else list(opts)
    here = _Mount(name if name == "/" else name.rstrip("/"), device, fstype, options, mkmnt=mkmnt, user=user)
    trouble = here.find_device(copy_options=bind_mount_copy_active_opts)
    if not trouble and filesystem.judges():
        entry = (here.name, device, fstype, here.options, dump, pass_num, config)
        trouble = f"{name} is no absolute path" if mount and not name.startswith("/") else ""
        trouble = trouble or _refused(user) or (refused_entry(entry, match_on=match_on) if persist else "")
    if trouble:
        return failed(name, trouble)
    row = unchanged(name)
    is_final = mount and here.is_active and here.adjust(row, tolerance, device_name_regex or [])
    if is_final or (not here.is_active and (here.mount(row) if mount else here.leave(row))):
        return row
    if not persist:
        return row
    entry = (here.name, device, fstype, here.options, dump, pass_num, config)
    if is_dry_run():
        status = __salt__["mount.set_fstab"](*entry, test=True, match_on=match_on)
        return _would_persist(row, here.name, status, mount=mount)
    status = __salt__["mount.set_fstab"](*entry, match_on=match_on)
    here.remember()
    return _persisted(row, status)


def _refused(user: str | None) -> str:
    return f"User '{user}' is not available" if user and __salt__["file.user_to_uid"](user) == "" else ""


class _Mount:
    """The wanted mount, and the active one at its mount point."""

    def __init__(
        self, name: str, device: str, fstype: str, options: list[str], *, mkmnt: bool, user: str | None
    ) -> None:
        self.name, self.device, self.fstype, self.options = name, device, fstype, options
        self._mkmnt, self._user = mkmnt, user
        self._path = os.path.realpath(name)
        self._key = field(self._path)
        self._active: dict[str, Any] = __salt__["mount.active"](extended=True)
        self._real_device = device
        self._labelled: list[str] = []
        self._to_remember = False

    @property
    def is_active(self) -> bool:
        """Whether something is mounted there."""
        return self._key in self._active

    def find_device(self, *, copy_options: bool) -> str:
        """Find the kernel's name of the device; return the error."""
        kind, _, value = self.device.partition("=")
        if self.device.startswith("/"):
            bound = "bind" in self.options and self.is_active
            self._real_device = self._bound_device(copy_options) if bound else os.path.realpath(self.device)
        elif kind.upper() == "UUID":
            self._real_device = value.strip('"').lower()
        elif kind.upper() == "LABEL":
            answer = __salt__["cmd.run_all"](["blkid", "-t", f"LABEL={value}", "-o", "device"], python_shell=False)
            self._labelled = answer["stdout"].split()
            if answer["retcode"] > 0 or not self._labelled:
                return f"Unable to find device with label {value}."
            self._real_device = self._labelled[0]
        lvm = _LVM_NAME.match(self.device)
        if lvm:
            mapped = "/dev/mapper/{}-{}".format(*(part.replace("-", "--") for part in lvm.groups()))
            self._real_device = mapped if os.path.exists(mapped) else self._real_device
        fuse = _FUSE_PREFIX.match(self.device)
        if fuse:
            self._real_device = fuse[1]
        return ""

    def _bound_device(self, copy_options: bool) -> str:
        """Return the device that a bind mount is part of; the bind mount takes over its options."""
        mine = self._active[self._key]
        source = self.device
        if mine["device"].startswith("/"):
            while field(source) not in self._active and source != "/":
                source = os.path.dirname(source)
        origin = self._active.get(field(source))
        if origin is not None:
            if copy_options:
                self.options = sorted({*self.options, *origin["opts"], *origin.get("superopts", [])})
            mine["opts"].append("bind")
        return str(origin["device"] if origin is not None and mine["device"].startswith("/") else mine["device"])

    def adjust(self, row: Row, tolerance: Tolerance, same_devices: list[str]) -> bool:
        """Mount again if options differ, unmount another device; return whether the row is final."""
        mine = self._active[self._key]
        if self.options and self._adjust_options(row, mine, tolerance):
            return True
        first = [*self._labelled, mine["device"]]
        names = [*first, os.path.realpath(first[0])]
        also = (mine.get(key) for key in ("alt_device", "device_uuid", "device_label"))
        names += [each for each in dict.fromkeys(also) if each and each not in names]
        if field(self._real_device) in map(field, names):
            row["comment"] = "Target was already mounted"
            return False
        ignored = next((each for regex in same_devices for each in names if re.match(regex, each)), None)
        if ignored is not None:
            comment = "An umount will not be forced because device matched device_name_regex: "
            row["comment"] = comment + ignored
            return False
        if is_dry_run():
            comment = "An umount would have been forced because devices do not match.  Watched: "
            row.update(result=None, comment=comment + self.device)
            problem = (filesystem.foretells() and stuck(self._path)) or self._foretold()
            if problem:
                row.update(result=False, comment=problem)
            return bool(problem)
        return self._unmount_other(row, names)

    def _adjust_options(self, row: Row, mine: dict[str, Any], tolerance: Tolerance) -> bool:
        new = outdated(self.options, mine, self.fstype, tolerance)
        remembered = __salt__["mount.read_mount_cache"](self._path).get("opts")
        gone = [opt for opt in remembered or [] if opt not in self.options]
        self._to_remember = bool(new or gone or remembered is None)
        if not new and not gone:
            return False
        if is_dry_run():
            because = f"({','.join(sorted(new))}) changed" if new else f"({','.join(gone)})changed"
            row.update(result=None, comment=f"Remount would be forced because options {because}")
            problem = refused_options(self.fstype, self.options) if filesystem.foretells() else ""
            if problem:
                row.update(result=False, comment=problem)
            return True
        return self._mount_again(row, ",".join(sorted(new)) if new else self.options[-1])

    def _mount_again(self, row: Row, why: str) -> bool:
        """Apply the options; return whether the row is final."""
        arguments = {"mkmnt": self._mkmnt, "fstype": self.fstype, "opts": list(self.options)}
        if self.fstype not in _MUST_BE_UNMOUNTED and not self.fstype.startswith("fuse"):
            row["changes"]["umount"] = f"Forced remount because options ({why}) changed"
            done = __salt__["mount.remount"](self._path, self.device, **arguments)
        else:
            row["changes"]["umount"] = f"Forced unmount and mount because options ({why}) changed"
            if __salt__["mount.umount"](self._path) is not True:
                row["changes"]["umount"] = (
                    "Forced a lazy unmount and mount because the previous unmount failed and because the options"
                    f" ({why}) changed"
                )
                complaint = __salt__["mount.umount"](self._path, lazy=True)
                if complaint is not True:
                    row.update(result=False, comment=f"Unable to unmount {self._path}: {complaint}.")
                    return True
            done = __salt__["mount.mount"](self._path, self.device, **arguments)
        if done is not True:
            row.update(result=False, comment=str(done))
        return done is not True

    def _unmount_other(self, row: Row, names: list[str]) -> bool:
        other = f" ({self._real_device})" if self._real_device != self.device else ""
        row["changes"]["umount"] = (
            f"Forced unmount because devices don't match. Wanted: {self.device}{other}, current: {', '.join(names)}"
        )
        __salt__["mount.umount"](self._path, user=self._user)
        self._active = __salt__["mount.active"](extended=True)
        if self.is_active:
            row.update(result=False, comment="Unable to unmount")
        self._to_remember = True
        return self.is_active

    def mount(self, row: Row) -> bool:
        """Mount the device; return whether the row is final."""
        exists = os.path.exists(self.name)
        if problem := self._foretold():
            row.update(result=False, comment=problem)
            return True
        if is_dry_run():
            missing = "would be created and mounted" if self._mkmnt else "does not exist and would not be created"
            row.update(result=None, comment=f"{self.name} {'would be mounted' if exists else missing}")
            return True
        if not exists and not self._mkmnt:
            row.update(result=False, comment="Mount directory is not present")
            return True
        done = __salt__["mount.mount"](
            self.name, self.device, self._mkmnt, self.fstype, list(self.options), user=self._user
        )
        self._active = __salt__["mount.active"](extended=True)
        self._to_remember = True
        if done is not True:
            row.update(result=False, comment=str(done))
            return True
        if self.is_active:
            row["comment"] = "Target was successfully mounted"
            row["changes"]["mount"] = True
        return False

    def _foretold(self) -> str:
        """Return the error of a run that will mount, "" if it may not fail; for dry runs that foretell."""
        if not filesystem.foretells():
            return ""
        return unmountable(self.name, self.device, self.fstype, self.options, mkmnt=self._mkmnt)

    def leave(self, row: Row) -> bool:
        """Report that nothing is mounted, and make the folder if that is wanted; the row is never final."""
        if os.path.exists(self.name):
            row["comment"] = f"{self.name} {'would not be mounted' if is_dry_run() else 'not mounted'}"
        elif is_dry_run():
            what = "be created, but not mounted" if self._mkmnt else "neither be created nor mounted"
            row["result"] = None if self._mkmnt or not filesystem.foretells() else True
            row["comment"] = f"{self.name} {'' if self._mkmnt else 'does not exist and '}would {what}"
        elif self._mkmnt:
            __salt__["file.mkdir"](self.name, user=self._user)
            row["comment"] = f"{self.name} was created, not mounted"
        else:
            row["comment"] = f"{self.name} not present and not mounted"
        return False

    def remember(self) -> None:
        """Store the options, so that the next run sees which of them were removed."""
        if self._to_remember:
            __salt__["mount.write_mount_cache"](
                self._path, self.device, mkmnt=self._mkmnt, fstype=self.fstype, mount_opts=list(self.options)
            )


def _would_persist(row: Row, name: str, status: str, *, mount: bool) -> Row:
    if status == "present":
        return _persisted(row, status)
    if status == "new":
        what = f"{name} is mounted, but needs" if mount else f"{name} needs"
        comment = f"{what} to be written to the fstab in order to be made persistent."
    elif mount:
        comment = f"{name} is mounted, but its fstab entry must be updated."
    else:
        comment = f"The {name} fstab entry must be updated."
    return would_change(row["name"], f"{row['comment']}. {comment}", row["changes"])


def _persisted(row: Row, status: str) -> Row:
    word, sentence = {
        "present": ("", "Entry already exists in the fstab."),
        "new": ("new", "Added new entry to the fstab."),
        "change": ("update", "Updated the entry in the fstab."),
    }[status]
    if word:
        row["changes"]["persist"] = word
    return row | {"comment": f"{row['comment']}. {sentence}"}
