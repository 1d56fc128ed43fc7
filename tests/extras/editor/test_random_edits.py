"""After any edits of a tree, a running server gives the same answers as a fresh one."""

import asyncio
import random
import sys

import pytest
from lsprotocol import types

from asyncstate.config import Settings
from asyncstate.extras.editor.messages import Fixes
from asyncstate.extras.editor.publishing import Publisher
from asyncstate.extras.editor.session import Program, Session

FILES = {
    "salt/top.sls": "base:\n  '*':\n    - web\n    - db\n",
    "salt/web.sls": "include: [db]\n{% from 'map.jinja' import name %}\nweb:\n  file.managed:\n    - name: /srv/{{ name }}\n"
    "    - contents: {{ pillar['port'] }}\n    - require: [data, {file: conf}]\nodd: {ours.done: [{level: 1}]}\n",
    "salt/db.sls": "data:\n  test.nop: []\nconf:\n  file.managed:\n    - name: /srv/a/conf\n    - contents: a\n"
    "late:\n  file.append:\n    - name: /srv/a/conf\n    - text: b\n",
    "salt/map.jinja": "{% set name = 'a' %}\n",
    "salt/_states/ours.py": "def done(name, level=1):\n    return {}\n",
    "pillar/top.sls": "base:\n  '*':\n    - port\n",
    "pillar/port.sls": "port: 80\nunused: 1\n",
}
PARTS = [
    "\n",
    "  ",
    "- ",
    ":",
    "'",
    "{{ x }}",
    "{% if true %}\n",
    "{% endif %}\n",
    "x:\n  test.nop: []\n",
    "[",
    "}",
    "\u00e9",
]
PARTS += ["\U0001f600", "\r\n", "\t", "include:\n  - web\n", "- bogus: 1\n"]


class Server:
    """A session without an editor, and what it would be shown."""

    def __init__(self, folder):
        settings = Settings(
            file_roots={"base": [f"{folder}/salt"]},
            pillar_roots={"base": [f"{folder}/pillar"]},
            cachedir=f"{folder}/cache",
            state_dir=f"{folder}/state",
        )
        roots = ("--file-root", f"{folder}/salt", "--pillar-root", f"{folder}/pillar")
        options = {"file_root": [("base", roots[1])], "pillar_root": [("base", roots[3])]}
        compiler = (sys.executable, "-m", "asyncstate", "lsp", "--compiler")
        self.shown = {}
        self.said = []
        self.over = asyncio.Event()
        publisher = Publisher(self.show, place_of, lambda places: [location_of(at) for at in places], str)
        self.session = Session(
            Program(options, lambda _: settings, compiler),
            self.said.append,
            lambda answer: self.take(publisher, answer),
        )

    def take(self, publisher, answer):
        publisher.take(answer, self.session.knowledge.tree)
        if isinstance(answer, Fixes):
            self.over.set()

    def show(self, params):
        self.shown[params.uri] = sorted(map(str, params.diagnostics))

    def act(self, act):
        self.over.clear()
        act(self.session)

    async def answers(self):
        """Return all that the server says of the tree, once it has looked at it."""
        await self.over.wait()
        tree = self.session.knowledge.tree
        texts = {path: file._replace(stamp=None) for path, file in (tree.files | tree.pillar).items()}
        return {path: found for path, found in self.shown.items() if found}, self.session.fixes, texts, self.said


def place_of(_path, place):
    return types.Range(types.Position(place.line, place.start), types.Position(place.line, place.end))


def location_of(at):
    return types.Location(at.path, place_of(at.path, at.place))


def edited(draw, text):
    lines = text.split("\n")
    number = draw.randrange(len(lines))
    at = draw.randrange(len(text) + 1)
    match draw.randrange(5):
        case 0:
            del lines[number]
        case 1:
            lines.insert(number, draw.choice(lines))
        case 2:
            return text[:at] + draw.choice(PARTS) + text[at:]
        case 3:
            return text[:at] + text[at + draw.randrange(6) :]
        case _:
            lines[number] = " " * draw.randrange(3) + lines[number]
    return "\n".join(lines)


def do(draw, folder, server, opened):
    """Do one thing to a tree, as an editor does it or as somebody else."""
    paths = sorted(str(path) for path in folder.rglob("*") if path.suffix in {".sls", ".jinja", ".py"})
    path = draw.choice(paths)
    file = folder / path
    match draw.randrange(9):
        case 0 if path in opened:
            file.write_bytes(opened[path].encode())
            server.act(lambda session: session.look())
        case 1 if path in opened:
            del opened[path]
            server.act(lambda session: session.close(path))
        case 2:
            file.write_bytes(edited(draw, file.read_bytes().decode()).encode())
            server.act(lambda session: session.look())
        case 3 if not path.endswith("top.sls"):
            file.rename(file.with_stem(f"{file.stem}2"))
            server.act(lambda session: session.look())
        case _:
            opened[path] = edited(draw, opened[path] if path in opened else file.read_bytes().decode())
            server.act(lambda session: session.edit(path, opened[path]))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 40))])
async def test_a_server_says_what_a_new_one_says(seed, tmp_path):
    draw = random.Random(seed)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    opened = {}
    server = Server(tmp_path)
    server.act(lambda session: session.open_folder(str(tmp_path)))
    try:
        async with asyncio.timeout(240):
            await server.answers()
            for _ in range(4):
                for _ in range(draw.choice([1, 1, 3])):
                    do(draw, tmp_path, server, opened)
                    await asyncio.sleep(draw.choice([0, 0, 0.05, 0.4]))
                seen = await server.answers()
                new = Server(tmp_path)
                try:
                    for path, text in opened.items():
                        new.act(lambda session, path=path, text=text: session.edit(path, text))
                    new.act(lambda session: session.open_folder(str(tmp_path)))
                    assert await new.answers() == seen
                finally:
                    await new.session.end()
    finally:
        await server.session.end()
