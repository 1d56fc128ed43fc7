"""The plugin for authors of states: it passes a state that keeps the contract, and names each promise another breaks."""

import json
import re

import pytest
from tables import beside

from asyncstate import Settings
from asyncstate.testing import BrokenContract, States

TABLES = beside(__file__)

pytest_plugins = ["pytester"]

GOOD = """
from pathlib import Path

def present(name, text="here", fail=False):
    ret = {"name": name, "result": True, "changes": {}, "comment": "In place"}
    now = Path(name).read_text() if Path(name).exists() else None
    if now == text:
        return ret
    ret["changes"] = {"text": {"old": now, "new": text}}
    if __opts__["test"]:
        return ret | {"result": None, "comment": "Would be written"}
    if fail:
        return ret | {"result": False, "changes": {}, "comment": "No luck"}
    Path(name).write_text(text)
    return ret | {"comment": "Written"}

def mod_footprint(low):
    return {"reads": [], "writes": ["path:" + low["name"]]}
"""


@pytest.fixture
def states(tmp_path):
    runner = States(tmp_path / "states")
    runner.tree("_states/marker.py", GOOD)
    return runner


def test_a_state_that_keeps_the_contract(states):
    proof = states.prove("marker.present", name=states.path("marker"), text="new")
    assert proof.changes == {"text": {"old": None, "new": "new"}}
    rows = (proof.foretold, proof.row, proof.again, proof.settled)
    assert [row["result"] for row in rows] == [None, True, True, True]


def test_one_with_nothing_to_do_and_one_that_fails(states):
    (states.root / "marker").write_text("here")
    assert states.prove("marker.present", changes=False, name=states.path("marker")).changes == {}
    states.prove("marker.present", result=False, name=states.path("other"), fail=True)


async def test_from_an_async_test(states):
    assert states.run("marker.present", test=True, name=states.path("marker"))["result"] is None


def test_bundled_states_and_settings(states):
    states.tree("greeting.jinja", "hello {{ pillar['who'] }}\n")
    states.settings.pillar = {"who": "you"}
    states.prove("file.managed", name=states.path("x"), source="salt://greeting.jinja", template="jinja")
    assert (states.root / "x").read_text() == "hello you\n"


def test_a_declared_link_keeps_the_contract(states):
    (states.root / "v1").mkdir()
    states.prove("file.symlink", name=states.path("current"), target="v1")


def test_settings_of_your_own_keep_to_the_scratch_folder(tmp_path):
    mine = Settings(file_roots={"base": ["/srv/mine"]}, cachedir="/var/mine", pillar={"who": "me"})
    runner = States(tmp_path / "states", mine)
    runner.tree("greeting.jinja", "{{ pillar['who'] }}\n")
    runner.prove("file.managed", name=runner.path("x"), source="salt://greeting.jinja", template="jinja")
    assert (runner.root / "x").read_text() == "me\n"
    assert mine.cachedir == "/var/mine"
    assert runner.settings.cachedir == str(tmp_path / "states" / "cache")


@pytest.mark.parametrize(("right", "wrong", "message"), TABLES["state"])
def test_each_broken_promise_is_named(states, right, wrong, message):
    assert right in GOOD
    states.tree("_states/marker.py", GOOD.replace(right, wrong))
    with pytest.raises(BrokenContract) as error:
        states.prove("marker.present", name=states.path("marker"))
    assert message in str(error.value)
    assert set(json.loads("{" + str(error.value).partition("\n{")[2])) == {"foretold", "row", "again", "settled"}


HOOKS = """
from pathlib import Path

from asyncstate.prefetch import folder

def present(name, pages=None):
    ret = {"name": name, "result": True, "changes": {}, "comment": "In place"}
    absent = [page for page in pages or [name] if not Path(page).exists()]
    if not absent:
        return ret
    if __opts__["test"]:
        return ret | {"result": None, "comment": "Would be written"}
    for page in absent:
        __salt__["book.get"](page)
    return ret | {"changes": dict.fromkeys(absent, "new"), "comment": "Written"}

def mod_watch(name, sfun=None, **kwargs):
    ret = {"name": name, "result": True, "changes": {"read": "again"}, "comment": "Read again"}
    if __opts__["test"]:
        return ret | {"result": None, "comment": "Would be read again"}
    Path(name).write_text("read")
    return ret

def mod_footprint(low):
    return {"reads": [], "writes": ["path:" + low["name"]]}

def mod_aggregate(low, chunks, running):
    low["pages"] = [chunk["name"] for chunk in chunks]
    for chunk in chunks:
        chunk["__agg__"] = True
    return low

def mod_aggregate_split(low, chunks, ret):
    shares = {}
    for chunk in chunks:
        tag = "_|-".join([chunk["state"], chunk["__id__"], chunk["name"], chunk["fun"]])
        shares[tag] = {name: new for name, new in ret["changes"].items() if name == chunk["name"]}
    return shares

def mod_prefetch(low):
    return [{"function": "book.fetch", "arguments": {"name": low["name"]}, "what": "a page"}]
"""
SHOP = """
from pathlib import Path

from asyncstate.prefetch import folder

def fetch(name):
    (Path(folder("pages")) / Path(name).name).write_text("page")
    return True

def get(name):
    Path(name).write_text("page")
"""


HOOKS_PROVED = {
    "watch": lambda states: states.prove_watch("book.present", name=states.path("a")),
    "aggregate": lambda states: states.prove_aggregate("book.present", *({"name": states.path(name)} for name in "ab")),
    "prefetch": lambda states: states.prove_prefetch("book.present", name=states.path("a")),
}


@pytest.fixture
def book(states):
    """Write the module of a book, with one text of it replaced by another; return its states."""

    def made(right="", wrong=""):
        assert right in HOOKS + SHOP
        states.tree("_states/book.py", HOOKS.replace(right, wrong))
        states.tree("_modules/book.py", SHOP.replace(right, wrong))
        return states

    return made


def test_hooks_that_keep_the_contract(book):
    states = book()
    names = [states.path(name) for name in "ab"]
    assert states.prove_watch("book.present", name=names[0])["changes"] == {"read": "again"}
    rows = states.prove_aggregate(
        "book.present", *({"name": name} for name in names), before=states.root.joinpath("x").touch
    )
    assert [row["changes"] for row in rows] == [{name: "new"} for name in names]
    assert states.prove_prefetch("book.present", name=names[1])["changes"] == {names[1]: "new"}


def test_a_common_call_is_of_two_states_or_more(book):
    states = book()
    with pytest.raises(ValueError, match=r"^a common call "):
        states.prove_aggregate("book.present", {"name": states.path("a")})


def test_a_hook_that_fails_as_it_should(book):
    states = book('"result": True, "changes": {"read": "again"}', '"result": False, "changes": {}')
    states.prove_watch("book.present", result=False, name=states.path("a"))


async def test_hooks_are_proved_from_an_async_test(book):
    states = book()
    assert states.prove_watch("book.present", name=states.path("a"))["result"] is True


@pytest.mark.parametrize(
    ("hook", "right", "wrong", "message"), [(hook, *row) for hook in HOOKS_PROVED for row in TABLES[hook]]
)
def test_each_promise_that_a_hook_breaks_is_named(book, hook, right, wrong, message):
    states = book(right, wrong)
    with pytest.raises(BrokenContract, match=rf"^mod_{hook} of book\.present:\n") as error:
        HOOKS_PROVED[hook](states)
    assert message in str(error.value)
    if hook == "watch":
        assert set(json.loads("{" + str(error.value).partition("\n{")[2])) == {"the dry run", "the real run"}


def test_the_plugin_as_an_author_uses_it(pytester):
    pytester.makeconftest('pytest_plugins = ["asyncstate.testing"]')
    pytester.makepyfile(f"""
MODULE = '''{GOOD}'''

def test_marker(states):
    states.tree("_states/marker.py", MODULE)
    states.prove("marker.present", name=states.path("marker"))

def test_it_shows(states):
    states.tree("_states/marker.py", MODULE.replace("now == text", "False"))
    states.prove("marker.present", name=states.path("marker"))
""")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    assert "the second run: True with changes" in result.stdout.str()


def test_the_example_of_the_guide(checkout, pytester):
    guide = (checkout / "docs/writing-states.md").read_text()
    module, *others = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (example,) = [block for block in others if "pytest_plugins" in block]
    plugins, _, test = example.partition("\n\n\n")
    pytester.makeconftest(plugins)
    pytester.makepyfile(test)
    for folder, text in (("_states", module), ("_modules", EXECUTION)):
        pytester.mkdir(folder).joinpath("marker.py").write_text(text)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


EXECUTION = """
from pathlib import Path

def read(name):
    return Path(name).read_text() if Path(name).exists() else ""

def write(name, text):
    Path(name).write_text(text)
"""
