"""The mount states on the real execution module, held against the rows and files of Salt; the kernel is a fake."""

from __future__ import annotations

import ctypes
import os

import pytest
from asyncstate.modules import mount as module
from asyncstate.states import mount
from fake_mounts import FakeMounts
from plugin_harness import PluginHarness
from recorded_states import expected, recorded, replay
from tables import beside

from asyncstate.errors import CommandExecutionError

TABLES = beside(__file__)

CASES = recorded("mount", but=("match on nonsense", "other device"))


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.salt["file.mkdir"] = lambda path, user=None: os.makedirs(path)
    harness.salt["user.info"] = lambda name: {"uid": 33} if name == "www" else {}
    harness.load("modules", "mount")
    harness.load("states", "mount")
    return harness


@pytest.fixture
def kernel(plugins, monkeypatch):
    return FakeMounts(plugins, module, monkeypatch)


@pytest.fixture
def fstab(tmp_path):
    path = tmp_path / "fstab"
    path.write_text("# first\n")
    return path


@pytest.fixture
def place(tmp_path, fstab):
    """Arguments that most tests share."""
    (tmp_path / "mnt").mkdir()
    return {"name": str(tmp_path / "mnt"), "device": "tmpfs", "fstype": "tmpfs", "config": str(fstab)}


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_salt(plugins, kernel, case):
    kernel.broken.add(str(plugins.tmp_path / "root/swapfile"))
    assert replay(plugins, CASES[case], kernel.run) == expected(CASES[case])


def test_another_device_makes_room(plugins, kernel, place):
    kernel.run(f"mount -t tmpfs /dev/one {place['name']}")
    row = plugins.state("mount.mounted", **{**place, "device": "two"})
    assert row["changes"] == {
        "umount": "Forced unmount because devices don't match. Wanted: two, current: /dev/one, /dev/one",
        "mount": True,
        "persist": "new",
    }
    assert kernel.mounts[place["name"]][0] == "two"
    kernel.broken.add(place["name"])
    row = plugins.state("mount.mounted", **{**place, "device": "three"})
    assert (row["result"], row["comment"]) == (False, "Unable to unmount")


def test_an_option_that_is_gone_is_remembered(plugins, kernel, place, tmp_path):
    plugins.state("mount.mounted", **place, opts=["size=64k", "noexec"])
    assert plugins.call("mount.read_mount_cache", place["name"])["opts"] == ["size=64k", "noexec"]
    assert (tmp_path / "cache/mounts").stat().st_mode & 0o777 == 0o600
    dry, real, again = plugins.three_runs("mount.mounted", **place, opts=["noexec"])
    assert (dry["result"], dry["comment"]) == (None, "Remount would be forced because options (size=64k)changed")
    assert real["changes"]["umount"] == "Forced remount because options (noexec) changed"
    assert again["changes"] == {}
    assert plugins.call("mount.delete_mount_cache", place["name"]) is True
    assert plugins.call("mount.read_mount_cache", place["name"]) == {}


@pytest.mark.parametrize("stuck", [False, True])
def test_some_types_have_to_be_unmounted_first(plugins, kernel, place, stuck):
    nfs = {**place, "device": "srv:/x", "fstype": "nfs"}
    plugins.state("mount.mounted", **nfs)
    if stuck:
        kernel.stuck.add(place["name"])
    row = plugins.state("mount.mounted", **nfs, opts="soft-x")
    how = "a lazy unmount and mount because the previous unmount failed and because the" if stuck else ""
    how = how or "unmount and mount because"
    assert row["changes"]["umount"] == f"Forced {how} options (soft-x) changed"
    assert kernel.calls[-1] == ["mount", "-o", "soft-x", "-t", "nfs", "srv:/x", place["name"]]
    kernel.broken.add(place["name"])
    row = plugins.state("mount.mounted", **nfs, opts="soft-y")
    assert (row["result"], row["comment"]) == (
        False, f"Unable to unmount {place['name']}: umount: {place['name']}: target is busy..",
    )  # fmt: skip


def test_a_remount_that_fails(plugins, kernel, place):
    plugins.state("mount.mounted", **place)
    kernel.broken.add(place["name"])
    row = plugins.state("mount.mounted", **place, opts="noexec")
    assert (row["result"], row["comment"].startswith("mount: ")) == (False, True)


@pytest.mark.parametrize("case", TABLES["options that are in force"])
def test_options_that_are_in_force(plugins, kernel, place, case):
    opts, shown, fstype, extra = case
    kernel.run(f"mount -t {fstype} -o {shown} tmpfs {place['name']}")
    row = plugins.state("mount.mounted", **{**place, "fstype": fstype}, opts=opts, test=True, **extra)
    assert row["comment"].startswith("Target was already mounted. ")


def test_a_label(plugins, kernel, place, tmp_path):
    device = str(tmp_path / "sda1")
    kernel.labels["DATA"] = device
    row = plugins.state("mount.mounted", **{**place, "device": "LABEL=NONE"})
    assert (row["result"], row["comment"]) == (False, "Unable to find device with label NONE.")
    kernel.run(f"mount -t ext4 {device} {place['name']}")
    row = plugins.state("mount.mounted", **{**place, "device": "LABEL=DATA", "fstype": "ext4"})
    assert row["comment"] == "Target was already mounted. Added new entry to the fstab."


def test_a_bind_mount(plugins, kernel, place):
    kernel.run("mount -t ext4 -o noatime /dev/sdb /data")
    kernel.run(f"mount -t ext4 -o noatime /dev/sdb {place['name']}")
    row = plugins.state("mount.mounted", **{**place, "device": "/data/in here", "fstype": "none"}, opts="bind")
    assert row["comment"] == "Target was already mounted. Added new entry to the fstab."
    entry = plugins.call("mount.fstab", place["config"])[place["name"]]
    assert entry["device"] == "/data/in\\040here"
    assert {"bind", "noatime"} <= set(entry["opts"])


@pytest.mark.feature("F195")
def test_a_path_with_a_blank(plugins, kernel, place):
    place["name"] += "/a b"
    arguments = {**place, "mkmnt": True}
    _, real, again = plugins.three_runs("mount.mounted", **arguments)
    assert (real["changes"], again["changes"]) == ({"mount": True, "persist": "new"}, {})
    gone = {"name": place["name"], "config": place["config"], "persist": True}
    row = plugins.state("mount.unmounted", **gone)
    assert row["changes"] == {"umount": True, "persist": "purged"}


def test_a_device_whose_name_would_begin_a_comment(plugins, fstab):
    entry = {"name": "#dev", "fs_file": "/mnt", "fs_vfstype": "ext4", "config": str(fstab)}
    _, real, again = plugins.three_runs("mount.fstab_present", **entry, mount=False)
    assert (real["changes"], again["changes"]) == ({"persist": "new"}, {})
    assert fstab.read_text() == "# first\n\\043dev\t\t/mnt\text4\tdefaults\t0 0\n"
    assert plugins.call("mount.set_fstab", "/mnt", "#dev", "ext4", config=str(fstab)) == "present"
    gone = {"name": "#dev", "fs_file": "/mnt", "mount_by": "device", "config": str(fstab)}
    assert plugins.state("mount.fstab_absent", **gone)["changes"] == {"persist": "removed"}
    assert fstab.read_text() == "# first\n"


def test_other_names_of_devices(plugins, kernel, place):
    kernel.run(f"mount -t fuse.sshfs me@host:/x {place['name']}")
    row = plugins.state("mount.mounted", **{**place, "device": "sshfs#me@host:/x", "fstype": "fuse"})
    assert row["comment"].startswith("Target was already mounted")


def test_swap(plugins, kernel, fstab):
    dry, real, again = plugins.three_runs("mount.swap", name="/swapfile", config=str(fstab))
    assert (dry["result"], dry["comment"]) == (None, "Swap /swapfile is set to be activated")
    assert real["comment"] == "Swap /swapfile activated. Added new entry to the fstab."
    stats = {"type": "file", "size": "1020", "used": "0", "priority": "-2"}
    assert real["changes"] == {**stats, "persist": "new"}
    assert (again["comment"], again["changes"]) == ("Swap /swapfile already active", {})
    assert fstab.read_text() == "# first\n/swapfile\t\tnone\tswap\tdefaults\t0 0\n"
    fstab.write_text("/swapfile none swap pri=5 0 0")
    dry = plugins.state("mount.swap", name="/swapfile", config=str(fstab), test=True)
    assert dry["result"] is True
    row = plugins.state("mount.swap", name="/swapfile", config=str(fstab))
    assert row["changes"] == {"persist": "update"}
    fstab.write_text("")
    dry = plugins.state("mount.swap", name="/swapfile", config=str(fstab), test=True)
    assert dry["comment"] == "Swap /swapfile is set to be added to the fstab and to be activated"
    assert plugins.call("mount.swapon", "/swapfile") == {"stats": stats, "new": False}
    assert plugins.call("mount.swapoff", "/swapfile") is True
    assert plugins.call("mount.swapoff", "/swapfile") is None


def test_unmounting_that_fails(plugins, kernel, place):
    row = plugins.state("mount.unmounted", name="")
    assert (row["result"], row["comment"]) == (False, "Must provide name to mount.unmounted")
    plugins.state("mount.mounted", **place)
    kernel.broken.add(place["name"])
    row = plugins.state("mount.unmounted", name=place["name"])
    assert (row["result"], row["comment"]) == (False, f"umount: {place['name']}: target is busy.")


def test_watch(plugins, kernel, place):
    what = {key: place[key] for key in ("name", "device", "fstype")}
    plugins.state("mount.mounted", **place)
    with plugins.calling():
        assert mount.mod_watch(**what, opts=["noexec"], sfun="mounted")["comment"] == f"{place['name']} remounted"
        assert kernel.calls[-1][:3] == ["mount", "-o", "noexec,remount"]
        kernel.broken.add(place["name"])
        assert mount.mod_watch(**what, sfun="mounted")["result"] is False
        row = mount.mod_watch(place["name"], sfun="swap")
    calls = list(kernel.calls)
    with plugins.calling(test=True):
        dry = mount.mod_watch(**what, sfun="mounted")
    assert (dry["result"], dry["comment"]) == (None, f"{place['name']} is set to be remounted")
    assert kernel.calls == calls
    assert (row["result"], row["comment"]) == (True, "Watch not supported in swap at this time")


def test_a_new_entry_is_mounted(plugins, kernel, fstab):
    arguments = {"name": "/dev/a", "fs_file": "/mnt", "fs_vfstype": "ext4", "config": str(fstab)}
    dry = plugins.state("mount.fstab_present", **arguments, test=True)
    assert dry["comment"] == f"/mnt entry will be written in {fstab}.\nWill mount /dev/a on /mnt"
    row = plugins.state("mount.fstab_present", **arguments)
    assert (row["result"], row["changes"]) == (False, {"persist": "new"})
    assert row["comment"].endswith("Error while mounting  /mnt: can't find in /etc/fstab.")


@pytest.mark.parametrize("wrong", [{"fs_file": "mnt"}, {"fs_mntops": "a b"}, {"fs_vfstype": ""}])
def test_an_entry_that_cannot_be_mounted_is_refused_before_it_is_written(plugins, kernel, fstab, wrong):
    plugins.opts["foresight"] = True
    arguments = {"name": "/dev/a", "fs_file": "/mnt", "fs_vfstype": "ext4", "config": str(fstab), **wrong}
    for test in (True, False):
        assert plugins.state("mount.fstab_present", test=test, **arguments)["result"] is False
        assert fstab.read_text() == "# first\n"


def test_fstab(plugins, kernel, fstab):
    fstab.chmod(0o640)
    for bad in ({"match_on": "colour"}, {"match_on": 5}, {"opts": "a\nb"}, {"config": str(fstab.parent)}):
        with pytest.raises(CommandExecutionError):
            plugins.call("mount.set_fstab", "/a", "/dev/a", "ext4", **{"config": str(fstab), **bad})
    assert fstab.read_text() == "# first\n"
    fstab.write_text("proc /proc proc a,b\nproc /proc proc a\nrubbish\n/dev/b /b ext4 x")
    known = plugins.call("mount.fstab", str(fstab))
    assert known["/proc"] == {"device": "proc", "fstype": "proc", "opts": ["a", "b"], "dump": "0", "pass": "0"}
    assert list(known) == ["/proc", "/proc_", "/b"]
    assert plugins.call("mount.set_fstab", "/proc", "proc", "proc", ["b", "a"], config=str(fstab)) == "change"
    assert plugins.call("mount.set_fstab", "/c d", "/dev/c", "ext4", config=str(fstab), test=True) == "new"
    assert plugins.call("mount.set_fstab", "/c", "/dev/c", "ext4", config=str(fstab)) == "new"
    assert fstab.read_text().endswith("rubbish\n/dev/b /b ext4 x\n/dev/c\t\t/c\text4\tdefaults\t0 0\n")
    assert plugins.call("mount.rm_fstab", "/c", "/dev/c", str(fstab)) is True
    assert "/dev/c" not in fstab.read_text()
    assert fstab.stat().st_mode & 0o777 == 0o640


ENTRIES = (
    "/dev/a /mnt ext4 ro 0 0\nLABEL=b /mnt ext4 ro 0 0\n/dev/c\\040d /m\\040n ext4 ro 0 0\n"
    "/dev/e /mnt_ ext4 ro 0 0\n/dev/f\\011g /b\\134c\\012d ext4 ro 0 0\n/dev/h /b\\c\u00a0d ext4 ro 0 0\n"
)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("case", TABLES["the entry of one device is removed once"])
@pytest.mark.parametrize(
    ("state", "arguments"),
    [
        ("mount.fstab_absent", lambda device, folder: {"name": device, "fs_file": folder}),
        ("mount.unmounted", lambda device, folder: {"name": folder, "device": device, "persist": True}),
    ],
)
def test_the_entry_of_one_device_is_removed_once(plugins, fstab, state, arguments, case):
    device, folder, gone = case
    fstab.write_text(ENTRIES)
    dry, real, again = plugins.three_runs(state, **arguments(device, folder), config=str(fstab))
    left = [f"{line}\n" for index, line in enumerate(ENTRIES.split("\n")[:-1]) if index != gone]
    assert fstab.read_text() == "".join(left)
    assert dry["result"] is (True if gone is None else None)
    assert (bool(real["changes"]), real["result"]) == (gone is not None, True)
    assert (again["changes"], again["result"]) == ({}, True)


def test_what_is_mounted(plugins, kernel, place, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    kernel.run(f"mount -t vfat -o uid=www,gid=5 /dev/sdc '{tmp_path}/a b'")
    name = f"{tmp_path}/a\\040b"
    known = plugins.call("mount.active", extended=True)[name]
    assert (known["device"], known["fstype"], known["superopts"]) == ("/dev/sdc", "vfat", ["rw", "uid=33", "gid=5"])
    assert known["alt_device"] is None
    assert plugins.call("mount.active")["/"]["alt_device"] == "/dev/vda1"
    assert plugins.call("mount.is_mounted", name) is True
    assert plugins.call("mount.get_mount_from_path", "/proc/self/status") == "/proc"
    assert plugins.call("mount.get_device_from_path", "/") == "/dev/vda1"
    assert plugins.call("mount.mount", "/x", util="guestfs") is False
    assert plugins.call("mount.umount", "/x") == "/x does not have anything mounted"
    assert plugins.call("mount.is_fuse_exec", "sshfs") is False


@pytest.mark.usefixtures("kernel")
def test_a_folder_that_was_made_for_a_mount_that_fails_goes_again(plugins, tmp_path):
    plugins.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 32, "stdout": "", "stderr": "no such device"}
    row = plugins.state("mount.mounted", name=str(tmp_path / "a" / "b"), device="/dev/x", fstype="ext4", mkmnt=True)
    assert (row["result"], row["comment"]) == (False, "no such device")
    assert not (tmp_path / "a").exists()


@pytest.mark.timeout(20)
@pytest.mark.usefixtures("kernel")
def test_a_mount_point_that_is_no_absolute_path_ends_with_a_message(plugins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plugins.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 32, "stdout": "", "stderr": "no such device"}
    row = plugins.state("mount.mounted", name="a/b", device="/dev/x", fstype="ext4", mkmnt=True)
    assert row["result"] is False
    assert "Traceback" not in row["comment"]
    assert not (tmp_path / "a").exists()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("wrong", "told"), TABLES["what fstab cannot have is refused before anything is mounted"])
def test_what_fstab_cannot_have_is_refused_before_anything_is_mounted(plugins, fstab, tmp_path, wrong, told):
    plugins.salt["file.user_to_uid"] = lambda user: ""
    wanted = {"name": str(tmp_path / "new"), "device": "tmpfs", "fstype": "tmpfs", "mkmnt": True, "config": str(fstab)}
    row = plugins.state("mount.mounted", **{**wanted, **wrong})
    assert (row["result"], row["changes"]) == (False, {})
    assert told in row["comment"]
    assert not (tmp_path / "new").exists()
    assert fstab.read_text() == "# first\n"


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    "name", ["/a", "/a b", "/a\tb", "/a\nb", "/a\\b", "/a\\\\b", "/a#b", "/a_", "/a\u00a0b", "/a\udcffb", "/\u00e4"]
)
def test_fstab_names_any_folder_and_device_once(plugins, fstab, name):
    """getmntent(3) reads the names as they were given, and no entry is added, or taken for another's, twice."""
    fstab.write_text("/dev/x /a ext4 ro 0 0\n  # /dev/y /a ext4 ro 0 0\n")
    arguments = {"name": f"/dev{name}", "fs_file": name, "config": str(fstab)}
    common = {"fs_vfstype": "ext4", "mount": False, **arguments}
    dry, real, again = plugins.three_runs("mount.fstab_present", **common)
    assert (dry["result"], real["result"]) == (None, True), real
    assert (again["result"], again["changes"]) == (True, {})
    library = ctypes.CDLL(None)
    library.setmntent.restype = library.getmntent.restype = ctypes.c_void_p
    file = ctypes.c_void_p(library.setmntent(os.fsencode(fstab), b"r"))
    entries = []
    while found := library.getmntent(file):
        entries.append(tuple(map(os.fsdecode, (ctypes.c_char_p * 2).from_address(found))))
    library.endmntent(file)
    assert entries == [("/dev/x", "/a"), (f"/dev{name}", name)]
    dry, real, again = plugins.three_runs("mount.fstab_absent", **arguments)
    assert (dry["result"], real["changes"], again["changes"]) == (None, {"persist": "removed"}, {})
    assert fstab.read_text() == "/dev/x /a ext4 ro 0 0\n  # /dev/y /a ext4 ro 0 0\n"


def test_the_kernels_list_is_read_whatever_a_folder_is_called(plugins, monkeypatch, tmp_path):
    listed = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /a\x0cb\u00a0\\040\x85c rw - ext4 /dev/b rw\n"
    (tmp_path / "mountinfo").write_text(listed)
    monkeypatch.setattr(module, "_MOUNTINFO", str(tmp_path / "mountinfo"))
    plugins.salt["cmd.run_stdout"] = lambda *_, **__: ""
    plugins.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 0, "stdout": "", "stderr": ""}
    assert list(plugins.call("mount.active", extended=True)) == ["/", "/a\x0cb\u00a0\\040\x85c"]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("wrong", [{"fs_file": ""}, {"name": ""}])
def test_an_entry_without_a_name_is_refused(plugins, fstab, wrong):
    plugins.opts["foresight"] = True
    common = {"name": "/dev/a", "fs_file": "/mnt", "fs_vfstype": "ext4", "mount": False, "config": str(fstab), **wrong}
    for row in plugins.three_runs("mount.fstab_present", **common):
        assert (row["result"], row["changes"]) == (False, {})
    assert fstab.read_text() == "# first\n"


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("mkmnt", [True, False])
def test_an_entry_without_a_mount_is_made_once(plugins, place, tmp_path, mkmnt):
    plugins.opts["foresight"] = True
    plugins.salt["file.mkdir"] = lambda path, user=None: os.makedirs(path)
    common = {**place, "name": str(tmp_path / "m 4"), "mount": False, "mkmnt": mkmnt}
    dry, real, again = plugins.three_runs("mount.mounted", **common)
    assert (dry["result"], real["result"], real["changes"]) == (None, True, {"persist": "new"})
    assert (again["result"], again["changes"]) == (True, {})
