"""What two claims to one thing say: the same, something else, or what only a run can tell (None)."""

from tables import rows

from asyncstate.effects.declared import Footprint
from asyncstate.effects.places import GONE, LINK, THERE
from asyncstate.extras.contradictions.claim_values import NEEDED, PERHAPS, Marked, differ, files_written, plain


@rows(
    ("argument", "value", "expected"),
    [
        ("value", "a  b\n", "a b"),
        ("value", "/x/", "/x/"),
        ("value", ["a"], None),
        ("value", True, None),
        ("commented", True, "True"),
        ("opts", "ro,bind", frozenset({"ro", "bind"})),
        ("fs_mntops", ["ro", 1], frozenset({"ro", "1"})),
        ("opts", 1, None),
        ("mode", "0755", "755"),
        ("mode", "keep", None),
        ("mode", "0798", None),
        ("mode", "", None),
        ("version", ">=1.2", None),
        ("version", "latest", None),
        ("user", 0, "root"),
        ("group", "0", "root"),
        ("uid", 0, "0"),
        ("home", "/X/", "/X"),
        ("target", "/x/", "/x"),
        ("device", "/x/", "/x"),
    ],
)
def test_settings_that_mean_the_same_are_spelled_alike(argument, value, expected):
    assert plain(argument, value) == expected


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@rows(
    ("one", "other", "expected"),
    [
        (("user", "app"), ("user", "7"), None),
        (("rev", "v1"), ("rev", "v10"), True),
        (("rev", "HEAD"), ("rev", "v1"), None),
        (("rev", COMMIT[:7]), ("rev", "v1"), None),
        (("rev", COMMIT[:7]), ("rev", COMMIT), None),
        (("rev", COMMIT), ("rev", COMMIT[::-1]), True),
        (("version", "1"), ("no version", "1"), True),
        (("version", "1"), ("no version", "2"), False),
        (("no version", "1"), ("no version", "1"), False),
        (Marked(GONE, PERHAPS), Marked(THERE, NEEDED), None),
        (Marked("/x", LINK), Marked("/y", LINK), True),
        (Marked("/x", LINK), Marked("", LINK), None),
    ],
)
def test_what_two_claims_say(one, other, expected):
    assert differ(one, other) is differ(other, one) is expected


@rows(
    ("writes", "files"),
    [
        (("path:/etc/hosts#a", "path:/etc/hosts#b#c", "user:x"), ("/etc/hosts",)),
        (("path:/etc/passwd", "path:/etc/passwd.old"), ("/etc/passwd",)),
        (("path:/etc/aliases#a", "path:/etc/aliases.db"), ("/etc/aliases",)),
        (("path:/proc/sys/a", "path:/sys/b", "path:/etc/sysctl.conf"), ("/etc/sysctl.conf",)),
    ],
)
def test_files_are_what_states_write_themselves(writes, files):
    assert files_written(Footprint(writes=writes)) == files
