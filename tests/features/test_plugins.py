"""State and execution modules of the tree: what they see, how they are found, loaded and called."""

import pytest
from tables import beside

TABLES = beside(__file__)

ROW = "return {'name': name, 'result': True, 'changes': {}, 'comment': %s}\n"


@pytest.mark.feature("F140")
def test_dunders(tree):
    names = (
        "__salt__ __states__ __opts__ __grains__ __pillar__ __context__ __utils__ __serializers__ __proxy__ __file_client__ "
        "__salt_loader__ __orig_opts__ __low__ __running__ __lowstate__ __instance_id__ __user__ __env__"
    ).split()
    tree.write(
        {
            "_states/look.py": "def look(name, other=None):\n"
            + "".join(f"    {name}\n" for name in names)
            + "    seen = [__low__['__id__'], list(__running__), [low['__id__'] for low in __lowstate__], str(__env__), __grains__['id'], __pillar__['p']]\n"
            "    assert not __proxy__ and __orig_opts__['id'] == 'here' and __salt_system_encoding__ == 'utf-8'\n"
            "    __context__['look'] = __context__.get('look', 0) + 1\n"
            "    return {'name': name, 'result': True, 'changes': {'seen': seen, 'n': __context__['look']}, 'comment': ''}\n",
            "a.sls": "a: look.look\nb: {look.look: [{require: [a]}]}\n",
        }
    )
    rows = tree.rows(pillar={"p": 5})
    assert rows["a"]["result"] is True, rows["a"]["comment"]
    assert rows["a"]["changes"] == {"seen": ["a", [], ["a", "b"], "base", "here", 5], "n": 1}
    assert rows["b"]["changes"] == {"seen": ["b", ["look_|-a_|-a_|-look"], ["a", "b"], "base", "here", 5], "n": 2}


@pytest.mark.feature("F141", "F143")
@pytest.mark.parametrize(
    ("module", "function", "reason"),
    TABLES["what is not there says why"],
)
def test_what_is_not_there_says_why(tree, module, function, reason, width):
    tree.write({"_states/m.py": f"{module}def run(name):\n    {ROW % repr('')}", "a.sls": f"a: {function}\nb: x.run\n"})
    rows = tree.rows(concurrency=width)
    assert rows.results == {"a": False, "b": True}
    assert rows["a"]["comment"].startswith(f"State '{function}' was not found in SLS 'a'\nReason: {reason}")


@pytest.mark.parametrize("test", [True, False])
def test_a_function_that_applies_trees_is_refused_with_what_to_do(tree, test):
    said = "The functions of 'state' apply or show trees: include the SLS files, or call asyncstate by itself."
    tree.write(
        {
            "a.sls": "new: {module.run: [{state.sls: [b]}]}\nold: {module.run: [{name: state.single}]}\n",
            "b.sls": "{{ salt['state.show_top']() }}",
        }
    )
    rows = tree.report(test=test).rows.values()
    assert [(row["__id__"], row["result"], row["comment"]) for row in rows] == [
        ("new", False, f"Unavailable function: state.sls. {said}"),
        ("old", False, f"Module function state.single is not available: {said}"),
    ]
    assert said.rstrip(".") in tree.errors("b")[0].message


@pytest.mark.feature("F141")
def test_virtual_names_and_aliases(tree):
    tree.write(
        {
            "_states/file_name.py": "__virtualname__ = 'vv'\n__func_alias__ = {'list_': 'list'}\ndef __virtual__():\n    return __virtualname__\n"
            f"def list_(name):\n    {ROW % repr('listed')}",
            "a.sls": "a: vv.list\nb: vv.list_\nc: file_name.list\n",
        }
    )
    assert tree.rows().results == {"a": True, "b": False, "c": False}


@pytest.mark.feature("F142", "B8")
def test_modules_of_the_tree_hide_bundled_ones_as_a_whole(tree):
    tree.write(
        {
            "_states/test.py": f"def own(name):\n    {ROW % repr('mine')}",
            "_modules/mine.py": "def hi():\n    return 'hi'\n",
            "a.sls": "a: test.own\nb: test.nop\n{{ salt['mine.hi']() }}: x.run\n",
        }
    )
    assert tree.rows().results == {"a": True, "b": False, "hi": True}


@pytest.mark.feature("F144", "B2")
def test_how_functions_are_called(tree, width):
    tree.write(
        {
            "_states/m.py": "def needs(name, foo, bar=2):\n    " + ROW % "f'{foo} {bar}'" + "def only(name, *, key):\n    " + ROW % "key"
            + "def rest(name, **kwargs):\n    " + ROW % "' '.join(sorted(k for k in kwargs if not k.startswith('__')))",
            "a.sls": "a: m.needs\nb: {m.needs: [{foo: 1}, {bar: 3}]}\nc: {m.only: [{key: k}]}\nd: {m.rest: [{two: 2}, {one: 1}, {require: [c]}]}\n",
        }
    )  # fmt: skip
    rows = tree.rows(concurrency=width)
    assert rows.comments == {"a": "Missing parameter foo for state m.needs\n", "b": "1 3", "c": "k", "d": "one two"}


@pytest.mark.feature("F145")
def test_calls_across_modules(tree):
    tree.write(
        {
            "_modules/em.py": "def add(a, b):\n    return a + b\ndef twice(a):\n    return __salt__['em.add'](a, a)\n",
            "_states/m.py": "def run(name):\n    inner = __states__['m.inner'](name, flavour=__salt__['em.twice'](4))\n"
            "    inner['changes'] = {'has': ['em.add' in __salt__, 'em.gone' in __salt__, 'm.inner' in __states__]}\n    return inner\n"
            "def inner(name, flavour):\n    " + ROW % "str(flavour)",
            "a.sls": "a: m.run\n",
        }
    )
    row = tree.rows()["a"]
    assert (row["comment"], row["changes"]) == ("8", {"has": [True, False, True]})


@pytest.mark.feature("F146", "B8")
def test_other_folders_of_plugins(tree):
    tree.write(
        {
            "_grains/g.py": "def grains():\n    return {'mine': 'g'}\n",
            "_utils/u.py": "def help():\n    return 'u'\n",
            "_renderers/upper.py": "def render(text, saltenv='base', sls='', **kwargs):\n    text = text.read() if hasattr(text, 'read') else text\n    return text.replace('LOUD', 'quiet')\n",
            "_states/m.py": "from os.path import join\nstarted = []\ndef __init__(opts):\n    started.append(opts['id'])\n__load__ = ['run', 'hidden_not']\n"
            "def run(name):\n    "
            + ROW % "f\"{__utils__['u.help']()} {started}\""
            + "def left_out(name):\n    "
            + ROW % "''",
            "_states/n.py": "from os.path import join\ndef run(name):\n    " + ROW % "''",
            "a.sls": "#!upper|jinja|yaml\nLOUD: x.run\n{{ grains.mine }}: m.run\nl: m.left_out\nj: n.join\n",
        }
    )
    rows = tree.rows()
    assert rows.results == {"quiet": True, "g": True, "l": False, "j": False}
    assert rows["g"]["comment"] == "u ['here']"


@pytest.mark.feature("F147")
def test_configured_folders(tree, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "m.py").write_text(f"def run(name):\n    {ROW % repr('more')}")
    assert tree.write({"a.sls": "a: m.run\n"}).rows(states_dirs=[str(tmp_path / "more")]).comments == {"a": "more"}
