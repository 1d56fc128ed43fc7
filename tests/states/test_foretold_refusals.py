"""Refusals for reasons of the machine (accounts, services, modules, devices) appear in the dry run, too."""

from __future__ import annotations

import shutil

import pytest
from plugin_harness import PluginHarness
from recorded_states import recorded, replay
from tables import beside

TABLES = beside(__file__)

NOWHERE = "/no/such/place"
NOBODY_HAS_IT = 54321
"""A number that no account and no group of a test machine has."""

GROUPS = [{"name": "taken", "gid": 7, "members": []}]


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path, foresight=True)
    for name in ("file", "mount", "http"):
        harness.load("modules", name)
    for name in (
        "user",
        "group",
        "kmod",
        "service",
        "alternatives",
        "mount",
        "timezone",
        "sysctl",
        "cron",
        "locale",
        "http",
    ):
        harness.load("states", name)
    harness.load("states", "file")
    harness.salt |= {
        "user.info": lambda name, **_: {"uid": 0, "home": "/root"} if name == "root" else {},
        "user.getent": lambda: [{"name": "root", "gid": 0}],
        "user.list_groups": lambda name: [],
        "user.delete": lambda *_, **__: False,
        "user.add": lambda **_: False,
        "group.info": lambda name, **_: {"gid": 0} if name in {"root", "bot"} else {},
        "group.delete": lambda name, **_: False,
        "group.getent": lambda: GROUPS,
        "group.add": lambda name, **_: False,
        "kmod.mod_list": lambda only_persist=False: [],
        "kmod.available": lambda: ["loop"],
        "kmod.load": lambda mod, persist: [mod],
        "service.available": lambda name: False,
        "alternatives.check_exists": lambda name, path: False,
        "alternatives.install": lambda *_: "there is no such path",
        "mount.active": lambda **_: {},
        "mount.mount": lambda *_, **__: "no such device",
        "mount.set_fstab": lambda *_, **__: "new",
        "mount.swaps": dict,
        "mount.swapon": lambda device: None,
        "locale.get_locale": lambda: "C",
        "locale.avail": lambda name: False,
        "locale.gen_locale": lambda name: False,
        "timezone.zone_compare": lambda name: False,
        "timezone.get_hwclock": lambda: "UTC",
        "timezone.set_zone": lambda name: "Zone does not exist",
        "sysctl.default_config": lambda: str(tmp_path / "sysctl.conf"),
        "sysctl.show": lambda config_file=False: {},
        "sysctl.get": lambda name: "",
        "sysctl.persist": lambda *_: "Updated",
    }
    return harness


REFUSED = {
    "a group that does not exist": ("user.present", {"groups": ["none"]}),
    "a primary group that does not exist": ("user.present", {"gid": "asyncstate-none"}),
    "a number that no group has": ("user.present", {"gid": NOBODY_HAS_IT}),
    "a number that another user has": ("user.present", {"uid": 0}),
    "a number that another group has": ("group.present", {"gid": 7}),
    "members that do not exist": ("group.present", {"members": ["asyncstate-none"]}),
    "a user to add that does not exist": ("group.present", {"addusers": ["asyncstate-none"]}),
    "a kernel module that does not exist": ("kmod.present", {"mods": ["loop", "none"]}),
    "a name that no user can have": ("user.present", {"name": "-x"}),
    "a name that no group can have": ("group.present", {"name": "a b"}),
    "a home with the separator of its file": ("user.present", {"home": "/a:b"}),
    "a number that no group can have": ("group.present", {"gid": 10**10}),
    "a group that has the name of the user": ("user.present", {"name": "bot", "usergroup": True}),
    "a home where only the kernel makes folders": ("user.present", {"home": "/proc/x"}),
    "a user whose processes run": ("user.absent", {"name": "root"}),
    "a primary group": ("group.absent", {"name": "root"}),
    "a service to start that does not exist": ("service.running", {}),
    "a service to enable that does not exist": ("service.enabled", {}),
    "a program that does not exist": ("alternatives.install", {"link": "/usr/bin/x", "path": NOWHERE, "priority": 1}),
    "a folder that does not exist": ("mount.mounted", {"name": NOWHERE, "device": "none", "fstype": "tmpfs"}),
    "a device that does not exist": ("mount.mounted", {"name": NOWHERE, "device": NOWHERE, "fstype": "ext4", "mkmnt": True, "persist": False}),
    "a file where a file system is to be": ("mount.mounted", {"name": __file__, "device": "none", "fstype": "tmpfs", "persist": False}),
    "a file system of an unknown type": ("mount.mounted", {"name": "/", "device": "none", "fstype": "oddfs", "persist": False}),
    "a mount at a relative path": ("mount.mounted", {"name": "mnt", "device": "none", "fstype": "tmpfs"}),
    "an entry for a relative path": ("mount.fstab_present", {"fs_file": "mnt", "fs_vfstype": "tmpfs"}),
    "swap space at a relative path": ("mount.swap", {"name": "swapfile", "persist": False}),
    "a URL that is not one of a web server": ("http.query", {"name": "ftp://localhost/x", "status": 200}),
    "a device without its number": ("mount.fstab_present", {"name": "UUID=", "fs_file": "/mnt", "fs_vfstype": "ext4"}),
    "a locale without a source": ("locale.present", {"name": "xx_YY.zz"}),
    "swap space that does not exist": ("mount.swap", {"name": NOWHERE, "persist": False}),
    "swap space without a header": ("mount.swap", {"name": __file__, "persist": False}),
    "a time zone that does not exist": ("timezone.system", {"name": "No/Such"}),
}  # fmt: skip


@pytest.mark.feature("F112")
@pytest.mark.parametrize("what", REFUSED)
def test_a_dry_run_refuses_what_the_run_refuses(plugins, what):
    function, arguments = REFUSED[what]
    arguments = {"name": "none", **arguments}
    dry, done = (plugins.state(function, test=test, **arguments) for test in (True, False))
    assert (dry["result"], done["result"]) == (False, False), dry["comment"]


RECORDED = recorded("refused")


@pytest.mark.feature("F112")
@pytest.mark.parametrize("what", RECORDED)
def test_a_dry_run_foretells_what_salt_does_later_unless_it_is_refused_here(plugins, what):
    case = RECORDED[what]
    _, *done = [False if "refused_here" in case else result for result, *_ in case["rows"]]
    wanted = [None if done[0] else False, *done]
    assert [result for result, *_ in replay(plugins, case)[0]] == wanted
    plugins.opts["foresight"] = False
    shutil.rmtree(plugins.tmp_path / "root")
    assert replay(plugins, case)[0][0][:1] == case["rows"][0][:1]


@pytest.mark.parametrize("function", ["user.present", "group.present"])
def test_a_dry_run_refuses_a_local_account_without_the_tools_for_one(plugins, monkeypatch, function):
    monkeypatch.setattr(shutil, "which", lambda program: None if program.startswith("l") else f"/sbin/{program}")
    program = f"l{function.removesuffix('.present')}add"
    for test in (True, False):
        row = plugins.state(function, test=test, name="none", local=True)
        assert (row["result"], row["comment"]) == (False, f"Command '{program}' cannot be found")


@pytest.mark.parametrize(("function", "arguments"), TABLES["a dry run refuses what is no entry of its file"])
def test_a_dry_run_refuses_what_is_no_entry_of_its_file(plugins, function, arguments):
    plugins.salt |= {"cron.list_tab": lambda user: {"crons": [], "special": [], "env": []}}
    row = plugins.state(function, test=True, **arguments)
    assert row["result"] is False
    assert "is one line" in row["comment"] or "must be one word" in row["comment"]


def test_a_dry_run_refuses_what_the_kernel_lets_nobody_set(plugins):
    plugins.salt["sysctl.get"] = lambda name: "Linux"
    row = plugins.state("sysctl.present", test=True, name="kernel.ostype", value="x")
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].endswith("/proc/sys/kernel/ostype may not be written")


def test_a_dry_run_refuses_a_kernel_setting_that_does_not_exist(plugins):
    row = plugins.state("sysctl.present", test=True, name="no.such", value=1)
    assert (row["result"], row["comment"]) == (False, "Failed to set no.such to 1: sysctl no.such does not exist")


@pytest.mark.parametrize("what", [what for what, (function, _) in REFUSED.items() if function != "mount.swap"])
def test_without_foresight_the_dry_run_is_salts(plugins, what):
    plugins.opts["foresight"] = False
    function, arguments = REFUSED[what]
    assert plugins.state(function, test=True, **{"name": "none", **arguments})["result"] is None


@pytest.mark.parametrize(
    "arguments",
    [{"gid": 0}, {"gid": "root"}, {"uid": NOBODY_HAS_IT}, {"uid": 0, "unique": False}, {"gid": ""}, {}],
)
def test_numbers_that_an_account_can_have_are_no_reason(plugins, arguments):
    assert plugins.state("user.present", test=True, name="none", **arguments)["result"] is None
