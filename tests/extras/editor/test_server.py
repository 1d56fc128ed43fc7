"""The server as an editor has it: behind a pipe, with a real client."""

import asyncio
import sys

import pytest
from editor import editor
from lsprotocol import types

WEB = """\
include:
  - common.base
web \U0001f600 server:
  pkg.installed:
    - name: nginx
conf:
  file.managed:
    - name: /etc/nginx.conf
    - source: salt://common/nginx.conf
    - contents: {{ pillar.get('site:port') }}
    - require:
      - pkg: nginx
      - user: deploy
      - group: group-one
"""
BASE = """\
deploy:
  user.present: []
{% for name in ['one', 'two'] %}
group-{{ name }}:
  group.present: []
{% endfor %}
"""

SLOW = """\
import os, sys, time
from asyncstate.extras.editor import session
read = session.read_tree
def slow(*words):
    while not os.path.exists({mark!r}):
        time.sleep(0.05)
    return read(*words)
session.read_tree = slow
sys.argv[1:] = ["lsp"]
from asyncstate.cli import main
main()
"""


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "project"
    files = {
        "salt/top.sls": "base:\n  '*':\n    - web\n",
        "salt/web.sls": WEB,
        "salt/common/base.sls": BASE,
        "salt/common/nginx.conf": "",
        "salt/_states/ours.py": 'def done(name, level: int = 3):\n    """Ours is done."""\n    print("noise")\n',
        "pillar/top.sls": "base:\n  '*':\n    - site\n",
        "pillar/site.sls": "site:\n  port: 80\n  name: a\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


async def until(ask, fits):
    for _ in range(600):
        if fits(found := await ask()):
            return found
        await asyncio.sleep(0.1)
    raise AssertionError(found)


async def test_an_editor_is_answered(tree, tmp_path):
    async with editor(tree, state=tmp_path) as it:
        web = "salt/web.sls"
        it.open(web)
        # before the compiler has said anything
        assert await it.definitions(web, "- pkg: ngi^nx") == ["salt/web.sls:3"]
        assert await it.definitions(web, "- common.^base") == ["salt/common/base.sls:1"]
        assert await it.definitions(web, "salt://common/^nginx.conf") == ["salt/common/nginx.conf:1"]
        assert await it.definitions(web, "- user: de^ploy") == ["salt/common/base.sls:1"]
        assert await it.definitions(web, "site:^port") == ["pillar/site.sls:2"]
        assert await it.references(web, "web \U0001f600 s^erver") == ["salt/web.sls:12", "salt/web.sls:3"]
        word = types.HoverParams(**it.at(web, "web \U0001f600 s^erver"))
        assert (await it.client.text_document_hover_async(word)).range.end.character == len("web __ server")
        assert "`user.present` in common/base.sls:1" in await it.hover(web, "- user: de^ploy")
        groups = await until(lambda: it.completions(web, "- group: gr^oup-one"), bool)
        assert set(groups) == {"group-one", "group-two"}
        assert await it.definitions(web, "- group: gr^oup-one") == ["salt/common/base.sls:5"]
        # a text that nobody has saved, and that does not compile
        it.change(
            web, WEB + "new:\n  pkg.inst\n  file.managed:\n    - sou\n    - require:\n      - group: g\n  ours.\n"
        )
        states = await until(lambda: it.completions(web, "  pkg.inst^\n"), lambda found: "pkg.installed" in found)
        assert states["pkg.installed"].text_edit.new_text == "pkg.installed:"
        assert states["pkg.installed"].text_edit.range.start.character == 2
        assert "source" in await it.completions(web, "    - sou^\n")
        assert (await it.completions(web, "    - sou^\n"))["source"].detail.endswith("default None")
        assert set(await it.completions(web, "      - group: g^")) == {"group-one", "group-two"}
        assert set(await it.completions(web, "salt://common/^nginx.conf")) == {"common/base.sls", "common/nginx.conf"}
        assert set(await it.completions(web, "site:^port")) == {"site:name", "site:port"}
        assert (await it.completions(web, "  ours.^\n"))["ours.done"].detail == "Ours is done."
        assert "**source**" in await it.hover(web, "    - sour^ce: salt")
        assert "installed" in await it.hover(web, "  pkg.ins^talled:")
        assert "after another state" in await it.hover(web, "    - req^uire:\n      - pkg: nginx")
        assert await it.completions("salt/web.sls", "web \U0001f600 ^server") == {}
    assert it.client._server.returncode == 0


async def test_the_first_completion_does_not_wait_for_the_tree(tree, tmp_path):
    mark = tmp_path / "mark"
    program = (sys.executable, "-c", SLOW.format(mark=str(mark)))
    async with editor(tree, state=tmp_path, program=program) as it, asyncio.timeout(60):
        it.open("salt/web.sls", WEB + "new:\n  test.nop:\n    - require: [")
        params = types.CompletionParams(**it.at("salt/web.sls", "require: [^"))
        found = await it.client.text_document_completion_async(params)
        assert "conf" in {item.label for item in found.items}
        assert "deploy" not in {item.label for item in found.items}
        assert found.is_incomplete  # an editor asks again
        mark.touch()
        await until(lambda: it.completions("salt/web.sls", "require: [^"), lambda items: "deploy" in items)


async def test_what_is_wrong_outside_of_files_is_said_in_words(tree, tmp_path):
    (tree / "minion").write_text("file_roots: 3\n")
    async with editor(tree, "--config", "minion", state=tmp_path) as it:
        it.open("salt/web.sls")
        assert "file_roots" in await it.said.get()
        assert await it.completions("salt/web.sls", "- pkg: ^nginx")  # the texts that are open are known
        assert await it.definitions("salt/web.sls", "- user: de^ploy") == []
        (tree / "minion").write_text(f"file_roots: {{base: [{tree}/salt]}}\n")
        it.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(it.uri("salt/web.sls")))
        )
        await until(lambda: it.definitions("salt/web.sls", "- user: de^ploy"), bool)


async def test_a_server_whose_editor_is_gone_ends(tree, tmp_path):
    async with asyncio.timeout(60):
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "asyncstate", "lsp", stdin=-1, stdout=-1, cwd=tree, env={"HOME": str(tmp_path)}
        )
        said, _ = await server.communicate(b"Content-Length: 7\r\n\r\nnot jso")
    assert b"not jso" not in said
    assert server.returncode == 0
