"""Diagnostics as an editor gets them: behind a pipe, with a real client."""

import asyncio

from editor import editor
from lsprotocol import types

TOP = "base:\n  '*':\n    - web\n    - db\n"
WEB = "site:\n  file.managed:\n    - name: /srv/l1/site\n    - contents: {{ pillar['port'] }}\n"
DB = "data:\n  test.nop: []\n"


def shown(found):
    return [(each.range.start.line + 1, each.severity.name, each.code, each.source) for each in found]


async def test_what_check_and_lint_say_follows_the_text(tmp_path):
    files = {"salt/top.sls": TOP, "salt/web.sls": WEB, "salt/db.sls": DB, "salt/apart.sls": "odd:\n  test.nopp: []\n"}
    files |= {"pillar/top.sls": "base:\n  '*':\n    - port\n", "pillar/port.sls": "port: 80\n"}
    folder = tmp_path / "project"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    async with editor(folder, state=tmp_path) as it, asyncio.timeout(25):

        async def after(text, name="salt/web.sls", where=""):
            it.change(name, text)
            return await it.diagnostics(where or name, until=bool)

        it.open("salt/web.sls")
        it.open("pillar/port.sls")
        [wrong] = await after(WEB.replace("contents", "contentss"))
        assert shown([wrong]) == [(4, "Error", "E404", "asyncstate")]
        assert (wrong.range.start.character, wrong.range.end.character) == (6, 15)
        it.change("salt/web.sls", WEB)
        assert not await it.diagnostics("salt/web.sls")
        [wrong] = await after("{% if %}\n")
        assert shown([wrong]) == [(1, "Error", "E104", "asyncstate")]
        [wrong] = await after("a: [\n")
        assert wrong.severity is types.DiagnosticSeverity.Error
        [wrong] = await after("include:\n  - nowhere\n" + WEB)
        assert wrong.range == types.Range(types.Position(1, 4), types.Position(1, 11))
        [wrong] = await after(DB, where="salt/db.sls")
        assert "conflicting ID" in wrong.message
        assert len(wrong.related_information) == 1
        [wrong] = await after(
            "a:\n  test.nop:\n    - require: [{test: b}]\nb:\n  test.nop:\n    - require: [{test: a}]\n"
        )
        assert [at.location.range.start.line for at in wrong.related_information] in ([1], [4])
        it.change("salt/web.sls", WEB)
        assert not await it.diagnostics("salt/web.sls")
        # another file than the one that changes; a pillar that does not render; an SLS outside of the highstate
        [wrong] = await after("part: 80\n", "pillar/port.sls", "salt/web.sls")
        assert shown([wrong]) == [(4, "Error", "E104", "asyncstate")]
        [wrong] = await after("port: [\n", "pillar/port.sls")
        assert wrong.severity is types.DiagnosticSeverity.Error
        it.change("pillar/port.sls", "port: 80\n")
        assert not await it.diagnostics("pillar/port.sls")
        it.open("salt/apart.sls")
        [wrong] = await it.diagnostics("salt/apart.sls", until=bool)
        assert shown([wrong]) == [(2, "Error", "E401", "asyncstate")]
