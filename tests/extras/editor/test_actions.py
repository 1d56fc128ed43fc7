"""Quick fixes, as an editor applies them."""

import asyncio

import pytest
from editor import editor

CONF = "conf:\n  file.managed:\n    - name: /srv/l2.conf\n    - contents: a\n    - replace: False\n"
MORE = "more:\n  file.append:\n    - name: /srv/l2.conf\n    - text: b\n"
TITLE = "Write the requisite: require file: conf"


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "project"
    for name, text in {"top.sls": "base: {'*': [web]}\n", "web.sls": CONF + MORE, "other.sls": ""}.items():
        (folder / "salt").mkdir(parents=True, exist_ok=True)
        (folder / "salt" / name).write_text(text)
    return folder


async def offered(it, place, title):
    async with asyncio.timeout(60):
        while title not in (found := await it.actions("salt/web.sls", place)):  # noqa: ASYNC110 - as an editor asks
            await asyncio.sleep(0.05)
    return found


MENDED = [
    (MORE, MORE + "    - require:\n      - file: conf\n"),
    (MORE.rstrip("\n"), MORE + "    - require:\n      - file: conf\n"),
    (MORE + "last:\n  test.nop: []\n", MORE + "    - require:\n      - file: conf\nlast:\n  test.nop: []\n"),
    (
        "z:\n  test.nop: []\n" + MORE + "    - require:\n      - test: z\n",
        "z:\n  test.nop: []\n" + MORE + "    - require:\n      - test: z\n      - file: conf\n",
    ),
    (
        "z:\n  test.nop: []\n" + MORE + "    - require: [{test: z}]\n",
        "z:\n  test.nop: []\n" + MORE + "    - require: [{test: z}, {file: conf}]\n",
    ),
]


async def test_the_requisite_is_written(tree, tmp_path):
    async with editor(tree, state=tmp_path) as it:
        it.open("salt/web.sls", CONF)
        for more, mended in MENDED:
            it.change("salt/web.sls", CONF + more)
            await it.diagnostics("salt/web.sls", until=bool)
            found = await offered(it, "file.app^end", TITLE)
            assert found == {TITLE: CONF + mended}
            it.change("salt/web.sls", found[TITLE])
            await it.diagnostics("salt/web.sls", until=lambda found: not found)
            assert await it.actions("salt/web.sls", "file.app^end") == {}


NEAREST = [
    (MORE + "    - require:\n      - file: confi\n", "- requ^ire", ("confi", "conf")),
    (MORE.replace("file.append", "file.apend"), "file.a^pend", ("file.apend", "file.append")),
    (MORE.replace("- text", "- txt"), "- t^xt", ("txt", "text")),
    ("include:\n  - othr\n" + MORE, "- ot^hr", ("othr", "other")),
]


async def test_the_nearest_name_is_offered(tree, tmp_path):
    async with editor(tree, state=tmp_path) as it:
        it.open("salt/web.sls", CONF)
        for wrong, place, right in NEAREST:
            it.change("salt/web.sls", CONF + wrong)
            title = f"Change to '{right[1]}'"
            assert (await offered(it, place, title))[title] == CONF + wrong.replace(*right)
