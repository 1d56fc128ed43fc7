"""Parsing of strace's output. The texts are strace's own (6.1, ``-f -y``), shortened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.proof.trace import strace
from asyncstate.extras.proof.trace.touched import ABSENT, ENSURED, LISTED, LOOKED, MADE, NAMED, REMOVED, WRITTEN


def read(text, folder="/w"):
    found = {}

    def note(path, what, _mark):
        if path:
            found[path] = found.get(path, 0) | what

    strace.read(text.splitlines(keepends=True), folder, note)
    return found


CALLS = {
    'openat(AT_FDCWD</w>, "g", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</w/g>': {"/w/g": WRITTEN | NAMED},
    'openat(AT_FDCWD</w>, "x", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</w/x>': {"/w/x": MADE | WRITTEN},
    'openat(AT_FDCWD</w>, "x", O_RDONLY|O_CLOEXEC) = 3</real/x>': {"/w/x": LOOKED, "/real/x": LOOKED},
    'openat(AT_FDCWD</w>, "x", O_WRONLY) = -1 EACCES (Permission denied)': {"/w/x": LOOKED},
    'openat(AT_FDCWD</w>, "x", O_RDONLY) = -1 ENOENT (No such file or directory)': {"/w/x": ABSENT},
    'openat2(5</a>, "b", {flags=O_RDONLY|O_CLOEXEC, resolve=RESOLVE_NO_SYMLINKS}, 24) = 7</a/b>': {"/a/b": LOOKED},
    'open("/w/O_CREAT", O_RDWR) = 3': {"/w/O_CREAT": LOOKED | WRITTEN},
    'creat("n", 0666) = 3</w/n>': {"/w/n": WRITTEN | NAMED},
    'newfstatat(AT_FDCWD</w>, "/bin/mkdir", 0x7ffc5272ebd0, 0) = -1 ENOENT (No such file or directory)': {
        "/bin/mkdir": ABSENT
    },
    'newfstatat(3</w/g>, "", {st_mode=S_IFREG|0444, st_size=0, ...}, AT_EMPTY_PATH) = 0': {"/w/g": LOOKED},
    'statx(AT_FDCWD</w>, "d", AT_STATX_SYNC_AS_STAT, STATX_MODE, {stx_mode=S_IFDIR|0755, ...}) = 0': {"/w/d": LOOKED},
    "statx(0, NULL, AT_STATX_SYNC_AS_STAT, STATX_ALL, NULL) = -1 EFAULT (Bad address)": {},
    'readlink("/w/l", "/somewhere/else", 4095) = 15': {"/w/l": LOOKED},
    'execve("/usr/bin/sh", [...], 0x7ffd7b895978 /* 35 vars */) = 0': {"/usr/bin/sh": LOOKED},
    'mkdir("d", 0777)                  = 0': {"/w/d": MADE | ENSURED},
    'mkdir("d", 0777)                  = -1 EEXIST (File exists)': {"/w/d": ENSURED | LOOKED},
    'mkdirat(4</a>, "d", 0777) = 0': {"/a/d": MADE | ENSURED},
    "getdents64(3</w/d>, 0x55be3f65c2a0 /* 3 entries */, 32768) = 72": {"/w/d": LISTED},
    'rename("a", "b") = 0': {"/w/a": REMOVED, "/w/b": WRITTEN | NAMED},
    'renameat2(AT_FDCWD</w>, "e/x", 5</o>, "y", RENAME_NOREPLACE) = 0': {"/w/e/x": REMOVED, "/o/y": WRITTEN | NAMED},
    'rename("a", "b") = -1 ENOENT (No such file or directory)': {"/w/a": ABSENT, "/w/b": LOOKED},
    'link("a", "b") = 0': {"/w/a": LOOKED, "/w/b": WRITTEN | NAMED},
    'symlinkat("y", AT_FDCWD</w>, "e/l") = 0': {"/w/e/l": MADE | WRITTEN},
    'symlink("/target", "/w/l") = 0': {"/w/l": MADE | WRITTEN},
    'unlinkat(4</w/d/e>, "l", 0)  = 0': {"/w/d/e/l": REMOVED},
    'unlinkat(AT_FDCWD</w/d>, "e", AT_REMOVEDIR) = 0': {"/w/d/e": REMOVED},
    'rmdir("d") = -1 ENOTEMPTY (Directory not empty)': {"/w/d": LOOKED},
    "fchmod(3</w/g>, 0644) = 0": {"/w/g": WRITTEN},
    'fchmodat(AT_FDCWD</w>, "g", 0600) = 0': {"/w/g": WRITTEN},
    "utimensat(0</w/t>, NULL, NULL, 0) = 0": {"/w/t": WRITTEN},
    'utimensat(AT_FDCWD</w>, "t", NULL, 0) = 0': {"/w/t": WRITTEN},
    "ftruncate(3</w/g (deleted)>, 0) = 0": {"/w/g": WRITTEN},
    'access("/etc/a) = -1 b", F_OK) = -1 ENOENT (No such file or directory)': {"/etc/a) = -1 b": ABSENT},
    'openat(AT_FDCWD</w>, "a", O_RDONLY) = 3</w/a\\76 \\303\\244>': {"/w/a": LOOKED, "/w/a> ä": LOOKED},
    'openat(AT_FDCWD</w>, "sock", O_RDONLY) = 3<socket:[123]>': {"/w/sock": LOOKED},
    "exit_group(0) = ?": {},
    "+++ exited with 0 +++": {},
    "--- SIGCHLD {si_signo=SIGCHLD} ---": {},
    "": {},
}


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    assert read(f"77 {call}\n") == CALLS[call]


def test_a_call_that_another_process_interrupted():
    text = (
        '77 openat(AT_FDCWD</w>, "a", O_RDONLY <unfinished ...>\n'
        '78 openat(AT_FDCWD</v>, "b", O_RDONLY) = 3</v/b>\n'
        "77 <... openat resumed>)             = 3</w/a>\n"
    )
    assert read(text) == {"/w/a": LOOKED, "/v/b": LOOKED}


def test_relative_names_follow_the_working_directory_of_their_process():
    text = (
        '1 chdir("/x") = 0\n'
        '1 mkdir("d", 0777) = 0\n'
        '2 openat(AT_FDCWD</y>, "/etc/ld.so.cache", O_RDONLY) = 3</etc/ld.so.cache>\n'
        '2 mkdir("d", 0777) = 0\n'
        "2 fchdir(4</y/d>) = 0\n"
        '2 mkdir("e", 0777) = 0\n'
        '1 chdir("no") = -1 ENOENT (No such file or directory)\n'
        '1 mkdir("f", 0777) = 0\n'
        '3 mkdir("g", 0777) = 0\n'
    )
    made = {path for path, what in read(text, folder="/first").items() if what & MADE}
    assert made == {"/x/d", "/y/d", "/y/d/e", "/x/f", "/first/g"}


def escaped(path):
    """Return a name as strace prints it."""
    plain = set(range(0x20, 0x7F)) - set(b'"\\<>')
    return "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in path.encode("utf-8", "surrogateescape"))


names = st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name and b"/" not in name)


@given(names.map(lambda name: name.decode("utf-8", "surrogateescape")))
def test_any_name_is_read_back(name):
    path = f"/d/{name}"
    if not name.endswith(" (deleted)"):
        line = f'1 openat(3</d>, "{escaped(name)}", O_WRONLY|O_TRUNC) = 4<{escaped(path)}>\n'
        assert read(line) == {path: WRITTEN}


@given(st.lists(st.text(alphabet=st.sampled_from('1 (),"<>\\=-mkdiropena/tsumd.ENOT_FDCW'), max_size=60), max_size=8))
def test_odd_lines_are_no_error(lines):
    for path in read("\n".join(lines)):
        assert isinstance(path, str)


MARKS = {
    'mkdir("d", 0777) = 0': "made 0755",
    'mkdir("d", 0755) = -1 EEXIST (File exists)': "made 0755",
    'mkdirat(AT_FDCWD</w>, "d", 0700) = 0': "made 0700",
    'mkdir("d", 0777) = -1 EACCES (Permission denied)': "",
    'chmod("d", 0750) = 0': "mode 0750",
    'fchmodat(AT_FDCWD</w>, "d", 0750) = 0': "mode 0750",
    'fchmodat2(AT_FDCWD</w>, "d", 01777, AT_SYMLINK_NOFOLLOW) = 0': "mode 01777",
    "fchmod(3</w/d>, 0750) = 0": "mode 0750",
    'chown("d", 33, 33) = 0': "owner 33 33",
    'fchownat(AT_FDCWD</w>, "d", 33, -1, AT_SYMLINK_NOFOLLOW) = 0': "owner 33 -1",
    "fchown(3</w/d>, 0, 0) = 0": "owner 0 0",
    'utimensat(AT_FDCWD</w>, "d", [{tv_sec=1, tv_nsec=0} /* 1970-01-01 */, UTIME_OMIT], 0) = 0': "time",
    'fsetxattr(3</w/d>, "user.x", "1", 1, 0) = 0': "",
    'openat(AT_FDCWD</w>, "d", O_RDONLY) = 3</w/d>': "",
}


@pytest.mark.parametrize("call", MARKS)
def test_marks_of_folders(call):
    marks = {}
    strace.read([f"7 {call}\n"], "/w", lambda path, _what, mark: marks.update({path: mark}))
    assert marks == {"/w/d": MARKS[call]}


def test_the_mode_that_a_maker_sets_is_its_first():
    marks = []
    lines = ['7 mkdir("d", 0700) = 0', '7 chmod("/w/d", 0750) = 0', '8 chmod("d", 0755) = 0']
    strace.read([f"{line}\n" for line in lines], "/w", lambda _path, _what, mark: marks.append(mark))
    assert marks == ["made 0700", "first 0750", "mode 0755"]
