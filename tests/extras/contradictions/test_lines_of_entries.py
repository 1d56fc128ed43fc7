"""What states of single entries make of a text, as far as the tree tells."""

import pytest
from tables import rows

from asyncstate.extras.contradictions.lines_of_entries import CRON_MARKER, OnlyARunKnows, edit_of, sample_of
from asyncstate.model.chunk import LowChunk

JOBS = f"{CRON_MARKER}\n5 4 * * * /bin/true\n"
MOUNT = "/dev/x /m ext4 defaults 0 0\n"


def chunk(function, name, **args):
    state, _, fun = function.partition(".")
    return LowChunk(0, state, fun, "i", name, "s", "base", 0, args)


EDITS = [
    # aliases: the last one of a name counts
    (chunk("alias.absent", "root"), "root: ada\n# root: ada\neva: root\n", "# root: ada\neva: root\n"),
    (chunk("alias.present", "root", target="ada"), "root:  ada # her\n", "root:  ada # her\n"),
    (chunk("alias.present", "root", target=["ada", "eva"]), "root: ada, eva\n", "root: ada, eva\n"),
    (chunk("alias.present", "list", target=":include:/l"), "list: :include:/l\n", "list: :include:/l\n"),
    (chunk("alias.present", "root", target="ada"), "root: ada\nroot: eva", "root: ada\nroot: eva\nroot\nada"),
    (chunk("alias.present", "root", target=["ada", "eva"]), "", "\nroot\nada\neva"),
    (chunk("alias.present", "a.b", target="c/d"), "", "\na.b\nc/d"),
    # kernel modules
    (chunk("kmod.absent", "x", mods=["a", "z n=1", ""]), "a\n# a\nx\n\n b\n", "# a\nx\n\n b\n"),
    (chunk("kmod.present", "x", mods=["a", "b"]), "b\nc\na\n", "b\nc\na\n"),
    (chunk("kmod.present", "x", mods=["a", "b"]), "a\nb\n", "a\nb\n"),
    (chunk("kmod.present", "x", mods=["a", "b"]), "a\n", "a\n\na\nb"),
    # jobs stand below the line of Salt
    (chunk("cron.present", "/bin/true"), JOBS, None),
    (chunk("cron.absent", "/bin/true"), JOBS, None),
    (chunk("cron.absent", "/bin/false"), JOBS, JOBS),
    (chunk("cron.absent", "/bin/true"), f"{CRON_MARKER}X\n{CRON_MARKER} \n/bin/true\n", f"{CRON_MARKER}X\n{CRON_MARKER} \n/bin/true\n"),
    (chunk("cron.present", "/bin/true -x"), "5 4 * * * /bin/true -x", f"5 4 * * * /bin/true -x\n{CRON_MARKER}\n/bin/true\n-x"),
    # kernel settings: the last one of a name counts
    (chunk("sysctl.present", "a.b", value="1  2"), "a.b=1\t2\n", "a.b=1\t2\n"),
    (chunk("sysctl.present", "a.b", value="c=d"), "a.b = c=d\n", "a.b = c=d\n"),
    (chunk("sysctl.present", "a.b", value=1), "a.b = 1\na.b = 2\n", None),
    (chunk("sysctl.present", "net/x/y.0/b", value=1), "0/c = 1", "0/c = 1\nb"),
    # mounts
    (chunk("mount.fstab_absent", "/dev/x", fs_file="/m"), "/dev/x /m ext4 defaults\n", ""),
    (chunk("mount.fstab_absent", "/dev/x", fs_file="/m"), "/dev/x /m ext4\n", None),
    (chunk("mount.fstab_absent", "#/dev/x", fs_file="/m"), f"#{MOUNT}", None),
    (chunk("mount.unmounted", "/m", persist=True), MOUNT, ""),
    (chunk("mount.unmounted", "/m", persist=True, device="/dev/y"), MOUNT, None),
    # keys of hosts
    (chunk("ssh_known_hosts.absent", "h"), "|1|a|b ed25519 k\n", None),
    (chunk("ssh_known_hosts.absent", "h"), "@revoked h ssh-rsa k\nh ssh-rsa l\n", None),
    (chunk("ssh_auth.present", "ssh-rsa k me"), "ssh-rsa l\n", "ssh-rsa l\n\nk\nme"),
    (chunk("ssh_auth.present", "ssh-rsa k me"), "k ssh-rsa me\n", None),
    # sources of packages
    (chunk("pkgrepo.absent", "deb http://x stable main"), "deb http://x/ stable main extra # b\n", ""),
    (chunk("pkgrepo.absent", "deb http://x stable main"), "deb [arch=arm64] http://x stable main\n", None),
    (chunk("pkgrepo.absent", "deb http://x stable main", dist="a"), "deb http://x stable main\n", None),
    (chunk("pkgrepo.absent", "ppa:x/y"), "ppa:x/y\n", None),
    (chunk("pkgrepo.managed", "deb http://x stable main", file="/f"), "", "\nhttp://x"),
    # settings of git
    (chunk("git.config_set", "a.B.c.d", value=1), '[A "B.c"]\nD = 1\n', '[A "B.c"]\nD = 1\n'),
    (chunk("git.config_set", "a.b.c", value=1), '[a "B"]\nc = 1\n', '[a "B"]\nc = 1\n\n1'),
    (chunk("git.config_set", "a.b", value="x=y"), '# c = "d"\n ; e = "f"\n[a]\nb = x=y\n', '# c = "d"\n ; e = "f"\n[a]\nb = x=y\n'),
    (chunk("git.config_set", "a.b", value=True), "[a]\nb = True", "[a]\nb = True\ntrue"),
    (chunk("git.config_unset", "^user\\..*$"), "[user]\na = 1\n[other]\na = 1\n", "[user]\n[other]\na = 1\n"),
    (chunk("git.config_unset", "user.a", value_regex="1"), "[user]\na = 1\n", None),
    # options
    (chunk("ini.options_present", "/x", sections={"a": {"b": 1}}, separator=":"), "[a]\nb : 1\n", "[a]\nb : 1\n"),
    (chunk("ini.options_present", "/x", sections={"a": {"b": 1}}), "[a]\nb=1\n", None),
    (chunk("ini.options_present", "/x", sections={"a": {"b": 1}}), "[a]\nb = 1\nc = 2\\\n", None),
    (chunk("ini.options_present", "/x", sections={"": {"b": 1}}), "b = 1\n", "b = 1\n"),
    (chunk("ini.options_present", "/x", sections={"a": {"b": 1}}, strict=True), "[a]\nb = 1\n", None),
    (chunk("ini.options_present", "/x", sections={"a": {"b": 1}}), "[a]\nb = 1\n  c\n", None),
    (chunk("ini.options_present", "/x", sections={"a": {"b": 1}}), "[a]\nb = 1\n\tc\n", None),
    (chunk("ini.options_present", "/x", sections={"a": {"b": 1}, "c": None}), "[a]\nb = 2\n", "[a]\nb = 2\n\nb"),
    (chunk("ini.sections_present", "/x", sections={"a": {"b": 1}}), "[c]", "[c]\na"),
]  # fmt: skip


@rows(("state", "before", "after"), EDITS)
def test_what_a_state_makes_of_a_text(state, before, after):
    edit = edit_of(state)
    if after is None:
        with pytest.raises(OnlyARunKnows):
            edit(before)
    else:
        assert edit(before) == after


@rows(
    ("state", "lines"),
    [
        (chunk("host.present", "h", ip=["192.0.2.7", "192.0.2.8"]), "192.0.2.7\th\n192.0.2.8\th\n"),
        (chunk("host.present", "h", ip=[None]), ""),
        (chunk("mount.mounted", "/m", device="/dev/x"), "/dev/x\t/m\n"),
        (chunk("mount.fstab_present", "/dev/x", fs_file="/m"), "/dev/x\t/m\n"),
        (chunk("sysctl.present", "a.b", value=1), "a.b = 1\n"),
        (chunk("ini.options_present", "/x", sections={"a": {"b": 1, "c": 2}, "d": None}), "b = 1\nc = 2\n"),
        (chunk("ini.sections_present", "/x", sections={"a": {"b": 1}}), ""),
        (chunk("ini.options_present", "/x", sections=["a"]), ""),
    ],
)
def test_the_lines_of_entries(state, lines):
    assert sample_of(state) == lines
