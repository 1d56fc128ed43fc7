import pytest
from trees import ids, messages, plan

from asyncstate.compile.high.declarations import exclusion, fits_nothing

TREE = {
    "s": "include: [t.a, t.b]\nmine: test.nop\n",
    "t.a": "a1: test.nop\na2: {test.nop: [{require_in: [{test: mine}]}]}\n",
    "t.b": "b: test.nop\n",
}


def with_exclude(exclude):
    return {**TREE, "s": f"exclude: {exclude}\n{TREE['s']}"}


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        ("[t.b]", ["a1", "a2", "mine"]),
        ("[{sls: t.b}]", ["a1", "a2", "mine"]),
        ("[{sls: 't.?'}, {id: nothing}]", None),
        ("[{id: a1}, {id: b}]", ["a2", "mine"]),
        ("[5, {id: a1, sls: t.b}]", ["a1", "a2", "b", "mine"]),
    ],
)
def test_by_id_and_by_sls(exclude, left):
    if left is None:
        assert messages(with_exclude(exclude)) == [
            "Referenced state does not exist for requisite [require: (test: a2)] in state [mine] in SLS [s]"
        ]
    else:
        assert ids(plan(with_exclude(exclude))) == left


def test_what_an_excluded_sls_requires_in_others_goes_with_it():
    assert ids(plan(with_exclude("[t.a]"))) == ["b", "mine"]


def test_on_the_command_line():
    assert ids(plan(TREE, exclude=["t.b", {"id": "a1"}])) == ["a2", "mine"]
    assert ids(plan(TREE, exclude="t.b,t.a")) == ["mine"]


def test_an_excluded_state_cannot_be_required():
    tree = {"s": "exclude: [t]\ninclude: [t]\na: {test.nop: [{require: [{sls: t}]}]}\n", "t": "b: test.nop\n"}
    assert messages(tree) == [
        "Referenced state does not exist for requisite [require: (sls: t)] in state [a] in SLS [s]"
    ]


@pytest.mark.parametrize("value", ["[b]", "{b: 1}"])
def test_a_list_is_no_id(value):
    (message,) = messages(with_exclude(f"[{{id: {value}}}]"))
    assert message.startswith("The exclude of ID ")


def test_what_a_command_line_excludes():
    assert exclusion("web") == "web"
    assert exclusion("sls:web") == {"sls": "web"}
    assert exclusion("id:a:b") == {"id": "a:b"}
    assert exclusion("other:x") == "other:x"
    assert exclusion({"id": "x"}) == {"id": "x"}


@pytest.mark.parametrize(
    ("exclude", "warned"),
    [
        (["t.b", {"id": "b"}, {"sls": "t.[b]"}], []),
        (["t.c"], [("There is no SLS 't.c' that could be excluded", "did you mean 't.a'?")]),
        (["mine"], [("There is no SLS 'mine' that could be excluded", "it is an ID: id:mine")]),
        ([{"id": "min"}], [("There is no ID 'min' that could be excluded", "did you mean 'mine'?")]),
    ],
)
def test_what_a_command_line_excludes_and_the_tree_does_not_have_is_told(exclude, warned):
    assert [(issue.message, issue.hint) for issue in plan(TREE, exclude=exclude).warnings] == warned
    assert warned == [] or warned[0][0] == fits_nothing(exclude[0], typed=True)


@pytest.mark.parametrize("exclude", ["other", "o*", {"id": "far"}])
def test_what_the_tree_has_and_a_run_does_not_use_may_be_excluded(exclude):
    assert plan({**TREE, "other": "far: test.nop\n"}, ["s"], exclude=[exclude]).warnings == ()


@pytest.mark.parametrize(
    ("exclude", "said"),
    [
        ("[nope]", ("There is no SLS 'nope' that could be excluded", "correct the name, or remove it from exclude")),
        ("[t.c]", ("There is no SLS 't.c' that could be excluded", "did you mean 't.a'?")),
        (
            "[{sls: 'u.*'}]",
            ("There is no SLS 'u.*' that could be excluded", "correct the name, or remove it from exclude"),
        ),
        (
            "[{id: nope}]",
            ("There is no ID 'nope' that could be excluded", "correct the name, or remove it from exclude"),
        ),
        ("[{id: mne}]", ("There is no ID 'mne' that could be excluded", "did you mean 'mine'?")),
        ("[mine]", ("There is no SLS 'mine' that could be excluded", "it is an ID: write '- id: mine'")),
        (
            "['id:mine']",
            ("There is no SLS 'id:mine' that could be excluded", "correct the name, or remove it from exclude"),
        ),
        ("[t.b, 't.*', other, {id: far}]", None),
    ],
)
def test_an_exclude_of_a_file_that_fits_nothing_is_a_warning(exclude, said):
    made = plan({**with_exclude(exclude), "t.a": "a1: test.nop\n", "other": "far: test.nop\n"}, ["s"])
    found = [(issue.message, issue.hint, issue.line, issue.code) for issue in made.warnings]
    assert found == ([(*said, 1, "W111")] if said else [])
