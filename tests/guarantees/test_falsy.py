"""Falsy arguments do what they do in Salt 3008.3: each call of tests/recorded/falsy with each argument left out, None, '', 0 …"""

import asyncio
import os
import shutil

import pytest
from record_falsy import OPTS, PILLAR, answers, calls_of, compared, lay_out, read_cases, told
from recording import filled

from asyncstate import Settings, StateRuntime
from asyncstate.errors import CompileError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the answers are those that root had")

NEEDED = {
    "git": "git",
    "pkg": "apt-get",
    "pkgrepo": "apt-get",
    "alternatives": "update-alternatives",
    "sysctl": "sysctl",
}
"""The program without which a module is not there."""
OF_THE_NETWORK = {"match.ipcidr"}
"""Functions of other modules whose answers depend on the interfaces of the machine."""


class Host:
    """A runtime with a scratch folder, and our way of calling."""

    def __init__(self, folder):
        self.root = folder / "scratch"
        own = folder / "own"
        (own / "pillar").mkdir(parents=True)
        self.root.mkdir()
        lay_out(self.root)
        self.runner = asyncio.Runner()
        self.runtime = StateRuntime(
            Settings(
                file_roots={"base": [str(self.root / "tree")]},
                pillar_roots={"base": [str(own / "pillar")]},
                pillar=PILLAR,
                conf_file=str(self.root / "etc/minion"),
                cachedir=str(own / "cache"),
                state_dir=str(own / "state"),
                id="here",
                foresight=False,  # Salt has none
                extra=filled(OPTS, {"{root}": self.root}),
            )
        )

    def __enter__(self):
        self.runner.run(self.runtime.__aenter__())
        return self

    def __exit__(self, *error):
        self.runner.run(self.runtime.__aexit__(*error))
        self.runner.close()

    def state(self, function, arguments, test):
        """Return result, changes and comment of a call in a run of its own."""
        return self.runner.run(self._row({"the call": {function: [{key: arguments[key]} for key in arguments]}}, test))

    def module(self, function, arguments, _test):
        """Return the answer of an execution function."""
        arguments = dict(arguments)
        positional = arguments.pop("args", [])
        try:
            return self.runner.run(self.runtime.call(function, *positional, **arguments))
        except Exception as error:  # noqa: BLE001 - that is the answer
            return told(error)

    async def _row(self, data, test):
        try:
            plan = await self.runtime.compile_data(data, sls="falsy")
        except CompileError as error:
            return told(error)
        async with self.runtime.run(plan, test=test, lock=False) as run:
            pass
        row = next(iter(run.report.rows.values()))
        return [row["result"], row["changes"], row["comment"]]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("falsy")
    with Host(folder) as host, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("SHELL", "/bin/bash")  # the shell of commands, in Salt too
        patch.chdir(folder)
        yield host


def _listed():
    """Return the differences that have a reason: title, how, argument and value."""
    found = set()
    for cases in calls_of("differences").values():
        for call, labels in cases.items():
            title, how, name = call.split(" | ")
            found |= {(title, how, name, "" if label == "given" else label) for label in labels.split()}
    return found


LISTED = _listed()
ALL = [(kind, title) for kind in ("states", "modules") for title in read_cases(kind)]


@pytest.mark.filterwarnings("ignore:__int__ returned non-int")  # of Python's ipaddress, for an address False
@pytest.mark.parametrize(
    ("kind", "title"),
    [pytest.param(*each, marks=[pytest.mark.slow] if number % 24 else []) for number, each in enumerate(ALL)],
)
def test_a_falsy_argument_does_what_it_does_in_salt(host, kind, title):
    case, recorded = read_cases(kind)[title]
    module = title.partition(".")[0]
    if (module == "network" or title in OF_THE_NETWORK) and set(os.listdir("/sys/class/net")) != {"lo"}:
        pytest.skip("the answers are those of a machine with no interface but lo")
    if module in NEEDED and not shutil.which(NEEDED[module]):
        pytest.skip(f"there is no {NEEDED[module]}")
    names = [name for name in recorded["call"] if name]
    ours = answers(kind, title, case, names, host.state if kind == "states" else host.module, host.root)
    assert [each for each in compared(recorded, ours) if (title, *each[:3]) not in LISTED] == []


def test_each_difference_is_one_of_a_call_that_is_recorded():
    calls = {
        (title, how, name, label)
        for kind in ("states", "modules")
        for title, (_, recorded) in read_cases(kind).items()
        for how, arguments in recorded.items()
        for name, values in arguments.items()
        for label in (values if name else [""])
    }
    assert LISTED - calls == set()
