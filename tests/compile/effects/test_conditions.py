import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.compile.effects.conditions import conditions_read
from asyncstate.data.commands.programs import LOGIN

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
        ({"unless": "false"}, {"environ:process"}),
        ({"unless": "test -e /a"}, {"environ:process", "path:/a/**"}),
        ({"check_cmd": "touch /a"}, {"environ:process", "path:/a/**"}),
        ({"unless": "touch a", "cwd": "/srv"}, {"environ:process", "path:/srv", "path:/srv/a/**"}),
        ({"check_cmd": "touch a", "cwd": "/srv"}, {"environ:process", "path:~/a/**"}),
        ({"onlyif": "ls $X", "env": {"X": "/srv"}}, {"environ:process", "path:/srv/**"}),
        ({"onlyif": ["cat x"], "runas": "u"}, {"environ:process", "user:u", "path:~u/x/**", *LOGIN_OF_U}),
        ({"onlyif": [{"fun": "file.contains", "path": "/b", "args": ["/c"]}]}, {"grains", "path:/b/**", "path:/c/**"}),
        ({"onlyif": [{"fun": "match.grain", "tgt": "a:b"}]}, {"grains"}),
        ({"onlyif": [{"fun": "service.status", "args": ["a"]}]}, {"grains", "service:a"}),
        ({"onlyif": [{"fun": "user.info", "name": "a"}]}, {"grains", "accounts", "user:a"}),
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
    ],
)
def test_what_is_not_known_has_a_reason(args, reason):
    assert conditions_read(args).unknown == reason


_ODD = st.recursive(
    st.none() | st.integers() | st.text() | st.sampled_from(["fun", "cmd.run", "cat /x", "/x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("fun"), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["onlyif", "unless", "creates", "check_cmd", "cwd", "runas", "env"]), _ODD))
def test_odd_conditions_never_raise(args):
    tested = conditions_read(args)
    assert tested is None or all(isinstance(name, str) for name in tested.reads)
