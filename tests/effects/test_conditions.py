import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import beside, rows

from asyncstate.data.commands.programs import LOGIN
from asyncstate.effects.conditions import conditions_read

TABLES = beside(__file__)
LOGIN_OF_U = [f"{name.removesuffix('/**').replace('~/', '~u/')}/**" for name in LOGIN]
"""What the shell of ``u`` reads at a login."""


@pytest.mark.parametrize("args", [{}, {"name": "/x", "require": [{"file": "/y"}]}])
def test_without_a_condition_there_is_nothing_to_read(args):
    assert conditions_read(args) is None


@pytest.mark.parametrize(("args", "reads"), TABLES["what is read"])
def test_what_is_read(args, reads):
    tested = conditions_read(args)
    shell = "what the shell of u reads at a login"
    assert set(tested.reads) == {*reads} - {shell} | ({*LOGIN_OF_U} if shell in reads else set())
    assert tested.unknown == ""


@pytest.mark.parametrize(("args", "reason"), TABLES["what is not known"])
def test_what_is_not_known_has_a_reason(args, reason):
    assert conditions_read(args).unknown == reason


def test_a_function_that_nobody_knows_reads_the_grains_for_certain():
    assert conditions_read({"onlyif": [{"fun": "own.thing", "args": ["a"]}]}).reads == ("grains",)


def test_an_entry_of_a_file_has_nothing_below_it():
    reads = conditions_read({"unless": "command -v a#b"}).reads
    assert "path:/usr/bin/a#b" in reads
    assert "path:/usr/bin/a#b/**" not in reads


@rows(("args", "programs"), TABLES["programs"])
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
