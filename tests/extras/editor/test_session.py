"""Jobs of a session for its compiler: renewed renderings and renewed descriptions of states."""

import asyncio
import sys

import msgspec
import pytest

from asyncstate.config import Settings
from asyncstate.extras.editor.messages import Job
from asyncstate.extras.editor.reading import asks_machine
from asyncstate.extras.editor.session import Program, Session

COMPILER = """\
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    answer = {'type': 'catalog', 'functions': {}}
    print(json.dumps({'number': job['number'], 'answer': answer}), flush=True)
    open(sys.argv[1], 'a').write(line)
    print(json.dumps({'number': job['number'], 'done': True}), flush=True)
"""


class Asked:
    """A session of a tree whose compiler says nothing, and the jobs that it got."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "salt/_states").mkdir(parents=True)
        self.write("salt/top.sls", "base: {'*': [web]}\n")
        self.write("salt/web.sls", "web:\n  test.nop: []\n")
        self.write("salt/data.yaml", "a: 1\n")
        self.write("salt/_states/ours.py", "def done(name): return {}\n")
        self.jobs = folder / "jobs"
        self.jobs.touch()
        self.settings = Settings(file_roots={"base": [str(folder / "salt")]})
        program = Program({}, lambda _: self.settings, (sys.executable, "-c", COMPILER, str(self.jobs)))
        self.heard = asyncio.Event()
        self.session = Session(program, print, lambda _: self.heard.set())

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    async def job(self):
        """Return the job that follows, once its answer is heard."""
        number = self.session._job
        for _ in range(600):
            lines = self.jobs.read_text().splitlines()
            found = [each for each in (msgspec.json.decode(line, type=Job) for line in lines) if each.number == number]
            if found:
                await self.heard.wait()
                self.heard.clear()
                return found[0]
            await asyncio.sleep(0.05)
        raise AssertionError


@pytest.fixture
async def asked(tmp_path):
    it = Asked(tmp_path)
    it.session.open_folder("")
    first = await it.job()
    assert (first.changed, first.catalog) == (True, True)
    yield it
    await it.session.end()


async def look(it, **more):
    it.session.look(**more)
    return await it.job()


async def test_only_what_has_changed_is_rendered_again(asked):
    web = asked.path("salt/web.sls")
    asked.session.edit(web, "web:\n  test.nop:\n    - name: new\n")
    assert not (await asked.job()).changed
    asked.write("salt/web.sls", "web:\n  test.nop:\n    - name: new\n")
    assert not (await look(asked)).changed  # it was saved
    asked.write("salt/data.yaml", "a: 10\n")
    assert (await look(asked)).changed
    assert not (await look(asked)).changed
    asked.write("salt/new.txt", "")
    assert (await look(asked)).changed
    asked.settings = Settings(file_roots=asked.settings.file_roots, jinja_trim_blocks=True)
    assert (await look(asked)).changed
    assert not (await look(asked)).changed
    assert (await look(asked, anew=True)).changed
    asked.session.edit(web, "{% if salt['file.file_exists']('/x') %}\n{% endif %}\n")
    assert (await look(asked)).changed  # what is on this machine may have changed


async def test_state_modules_are_described_again_when_they_change(asked):
    assert not (await look(asked)).catalog
    asked.session.edit(asked.path("salt/_states/ours.py"), "def done(name): return {}\ndef more(name): return {}\n")
    assert not (await asked.job()).catalog
    asked.write("salt/_states/ours.py", "def done(name): return {}\ndef more(name): return {}\n")
    job = await look(asked)
    assert (job.changed, job.catalog) == (True, True)
    assert not (await look(asked)).catalog


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("{{ salt['file.file_exists']('/a') }}", True),
        ('{{ salt["user.info"]("a") }}', True),
        ("{{ salt.grains.get('a') }}{{ salt.pkg.version('a') }}", True),
        ("{{ salt['pillar.get']('a') }}{{ salt.slsutil.merge({}, {}) }}", False),
        ("{{ salt['cmd.run']('date') }}", False),  # which no editor calls
        ("salt://file.file_exists", False),
    ],
)
def test_what_asks_the_machine(text, asks):
    assert asks_machine(text) == asks
