"""Files that change outside of the editor."""

import asyncio

import pytest
from editor import editor
from lsprotocol import types

from asyncstate.extras.editor.tree import Roots
from asyncstate.extras.editor.watching import concerns, registration

RIGHT, WRONG = "a:\n  test.nop: []\n", "a:\n  test.nopp: []\n"


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "project"
    (folder / "salt/_states").mkdir(parents=True)
    (folder / "salt/_states/ours.py").write_text("def done(name):\n    pass\n")
    (folder / "salt/top.sls").write_text("base: {'*': [web, db]}\n")
    (folder / "salt/web.sls").write_text("web:\n  test.nop: []\n")
    (folder / "salt/db.sls").write_text(RIGHT)
    return folder


def able(*, relative):
    watches = types.DidChangeWatchedFilesClientCapabilities(
        dynamic_registration=True, relative_pattern_support=relative
    )
    return types.WorkspaceClientCapabilities(did_change_watched_files=watches)


async def test_an_editor_that_watches_files_is_asked_to(tree, tmp_path):
    async with (
        editor(tree, state=tmp_path, can=types.ClientCapabilities(workspace=able(relative=True))) as it,
        asyncio.timeout(60),
    ):
        it.open("salt/web.sls")
        [asked] = (await it.asked.get()).registrations
        watcher, *_ = asked.register_options["watchers"]
        assert watcher["globPattern"] == {"baseUri": it.uri("salt"), "pattern": "**/*"}
        (tree / "salt/db.sls").write_text(WRONG)
        changes = [types.FileEvent(it.uri("salt/db.sls"), types.FileChangeType.Changed)]
        it.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))
        [wrong] = await it.diagnostics("salt/db.sls", until=bool)
        assert wrong.code == "E401"


async def test_for_any_other_editor_the_server_looks_itself(tree, tmp_path):
    async with editor(tree, state=tmp_path) as it, asyncio.timeout(60):
        it.open("salt/web.sls")
        (tree / "salt/db.sls").write_text(WRONG)
        await it.diagnostics("salt/db.sls", until=bool)
        (tree / "salt/db.sls").write_text("a:\n  ours.done: []\n")
        await it.diagnostics("salt/db.sls", until=lambda found: not found)
        (tree / "salt/_states/ours.py").write_text("def other(name):\n    pass\n")
        wrong = await it.diagnostics("salt/db.sls", until=bool)
        assert "E401" in {each.code for each in wrong}
        (tree / "salt/db.sls").unlink()
        found = await it.diagnostics("salt/top.sls", until=bool)
        assert "db" in found[0].message
        (tree / "salt/db").mkdir()
        (tree / "salt/db/init.sls").write_text(RIGHT)
        await it.diagnostics("salt/top.sls", until=lambda found: not found)


@pytest.mark.parametrize(
    ("capabilities", "patterns"),
    [
        (None, None),
        (types.WorkspaceClientCapabilities(), None),
        (able(relative=False), ["**/*"]),
        (able(relative=True), [types.RelativePattern(f"file://{path}", "**/*") for path in ("/s", "/t", "/p")]),
    ],
)
def test_what_an_editor_is_asked_for(capabilities, patterns):
    roots = Roots({"base": ("/s", "/t"), "dev": ("/s",)}, {"base": ("/p",)})
    asked = registration(types.ClientCapabilities(workspace=capabilities), roots, lambda path: f"file://{path}")
    watchers = asked.registrations[0].register_options.watchers if asked else None
    assert (watchers and [each.glob_pattern for each in watchers]) == patterns


def test_what_concerns_the_tree():
    roots = Roots({"base": ("/s",)}, {"base": ("/p",)})
    assert concerns(roots, ["/other", "/s/a/b.conf"])
    assert concerns(roots, ["/p/x.sls"])
    assert not concerns(roots, ["/other", "/s/.git/index", ""])
    assert concerns(Roots({}, {}), ["/other"])
