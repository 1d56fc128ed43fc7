import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from asyncstate.data.commands.programs import LOGIN
from asyncstate.effects.conditions import conditions_read

LOGIN_OF_U = [f"{name.removesuffix('/**').replace('~/', '~u/')}/**" for name in LOGIN]
"""What the shell of ``u`` reads at a login."""


@pytest.mark.parametrize("args", [{}, {"name": "/x", "require": [{"file": "/y"}]}])
def test_without_a_condition_there_is_nothing_to_read(args):
    assert conditions_read(args) is None


@pytest.mark.parametrize(
    ("args", "reads"),
    [
        ({"creates": "/a"}, {"path:/a/**"}),
        ({"creates": ["/a/", "b"]}, {"path:/a/**"}),
        ({"creates": ["file:///a", "~/b", "/X"]}, {"path:/a/**", "path:~/b/**", "path:/X/**"}),
        ({"unless": "false"}, {"environ:process"}),
        ({"unless": "test -e /a"}, {"environ:process", "path:/a/**"}),
        ({"check_cmd": "touch /a"}, {"environ:process", "path:/a/**"}),
        ({"unless": "false", "runas": ""}, {"environ:process"}),
        ({"unless": "false", "shell": "/bin/zsh"}, {"environ:process", "path:/bin/zsh/**"}),
        ({"unless": "false", "prepend_path": "/opt/bin"}, {"environ:process", "path:/opt/bin/**"}),
        ({"unless": "false", "root": "/chroot"}, {"environ:process", "path:/chroot/**"}),
        ({"unless": "touch a", "cwd": "/srv"}, {"environ:process", "path:/srv", "path:/srv/a/**"}),
        ({"check_cmd": "touch a", "cwd": "/srv"}, {"environ:process", "path:~/a/**"}),
        ({"onlyif": "ls $X", "env": {"X": "/srv"}}, {"environ:process", "path:/srv/**"}),
        ({"onlyif": ["cat x"], "runas": "u"}, {"environ:process", "user:u", "path:~u/x/**", *LOGIN_OF_U}),
        ({"onlyif": [{"fun": "file.contains", "path": "/b", "args": ["/c"]}]}, {"grains", "path:/b/**", "path:/c/**"}),
        ({"onlyif": [{"fun": "match.grain", "tgt": "a:b"}]}, {"grains"}),
        ({"onlyif": [{"fun": "service.status", "args": ["a"]}]}, {"grains", "service:a"}),
        ({"onlyif": [{"fun": "user.info", "name": "a"}]}, {"grains", "accounts", "user:a"}),
        ({"onlyif": [{"fun": "group.info", "kwargs": {"name": "g"}}]}, {"grains", "accounts", "group:g"}),
        ({"onlyif": [{"fun": "test.inner.ping"}]}, {"grains"}),
        ({"onlyif": [{"fun": "pkg.version", "args": ["a"]}]}, {"grains", "pkgdb"}),
        ({"unless": [{"fun": "cmd.retcode", "args": ["test -e /a"]}]}, {"grains", "environ:process", "path:/a/**"}),
    ],
)
def test_what_is_read(args, reads):
    tested = conditions_read(args)
    assert set(tested.reads) == reads
    assert tested.unknown == ""


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({"unless": "x --version"}, "in its unless, it names nothing that x touches"),
        ({"onlyif": ["ls $X"]}, "in its onlyif, it uses $X, which only a run knows"),
        ({"onlyif": [{"fun": "own.thing"}]}, "in its onlyif, what own.thing reads is not known"),
        (
            {"onlyif": [{"fun": "cmd.retcode", "args": ["x --version"]}]},
            "in its onlyif, it names nothing that x touches",
        ),
        (
            {"onlyif": [{"fun": "own.thing"}], "unless": "x --version"},
            "in its onlyif, what own.thing reads is not known; in its unless, it names nothing that x touches",
        ),
    ],
)
def test_what_is_not_known_has_a_reason(args, reason):
    assert conditions_read(args).unknown == reason


def test_a_function_that_nobody_knows_reads_the_grains_for_certain():
    assert conditions_read({"onlyif": [{"fun": "own.thing", "args": ["a"]}]}).reads == ("grains",)


def test_an_entry_of_a_file_has_nothing_below_it():
    reads = conditions_read({"unless": "command -v a#b"}).reads
    assert "path:/usr/bin/a#b" in reads
    assert "path:/usr/bin/a#b/**" not in reads


@rows(
    ("args", "programs"),
    [
        ({"creates": "/a"}, ()),
        ({"unless": ["test -e /a", "grep b /c"], "onlyif": "test -e /d"}, ("test", "grep")),
        ({"unless": "test -e /a", "root": "/chroot"}, None),
        ({"onlyif": ["test -e /a", "x --version"]}, None),
        ({"onlyif": ["x --version", "test -e /a"]}, None),
        ({"onlyif": [{"fun": "file.contains", "path": "/b"}], "unless": "test -e /a"}, ("test",)),
        ({"onlyif": [{"fun": "service.status", "args": ["a"]}]}, None),
        ({"onlyif": [{"fun": "own.thing"}]}, None),
        ({"onlyif": [{"fun": "cmd.retcode", "args": ["grep b /c"]}]}, ("grep",)),
        ({"onlyif": [{"fun": "cmd.retcode", "args": ["x --version"]}]}, None),
    ],
)
def test_which_programs_conditions_run(args, programs):
    found = conditions_read(args).programs
    assert found is None if programs is None else set(found) == set(programs)


_ODD = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from(["fun", "cmd.run", "cat /x", "/x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("fun"), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["onlyif", "unless", "creates", "check_cmd", "cwd", "runas", "env"]), _ODD))
def test_odd_conditions_never_raise(args):
    tested = conditions_read(args)
    assert tested is None or all(isinstance(name, str) for name in tested.reads)
