"""The parts of a run follow from its options."""

from __future__ import annotations

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.assembly import Parts, assembled
from asyncstate.run.options import RunOptions

OPTIONS = {
    "mock": False, "trace_effects": False, "about": {}, "resume": None, "force": False, "elsewhere": None,
}  # fmt: skip


@pytest.fixture
def runtime(tmp_path):
    (tmp_path / "salt").mkdir()
    roots = {"base": [str(tmp_path / "salt")]}
    settings = Settings(file_roots=roots, cachedir=str(tmp_path / "cache"), state_dir=str(tmp_path / "state"))
    with StateRuntime(settings).open_sync() as opened:
        yield opened


def parts_of(runtime, asked):
    def records():
        asked.append(True)
        return runtime._records()

    return Parts(runtime.settings, runtime.host, runtime.secrets, records, runtime.planner.touched)


@pytest.mark.parametrize(("test", "mock"), [(True, False), (False, True)])
def test_only_a_real_run_resumes_another(runtime, test, mock):
    plan = runtime.compile_data_sync({"a": {"test.nop": []}})
    options = RunOptions(run_id="r", test=test)
    with pytest.raises(ValueError, match="only a real run"):
        assembled(plan, options, [], parts_of(runtime, []), **OPTIONS | {"mock": mock, "resume": "latest"})


@pytest.mark.parametrize(("journal", "mock", "kept"), [("on", False, True), ("on", True, False), ("off", False, False)])
async def test_a_plan_is_recorded_for_the_journal_only(tmp_path, journal, mock, kept):
    settings = Settings(cachedir=str(tmp_path / "cache"), state_dir=str(tmp_path / "state"), journal=journal)
    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data({"a": {"test.nop": []}})
        asked = []
        engine = assembled(plan, RunOptions(run_id="r"), [], parts_of(runtime, asked), **OPTIONS | {"mock": mock})
        report = await engine.run()
        assert report.ok
        assert bool(asked) == kept


@pytest.mark.parametrize(
    ("options", "fetches"), [({}, True), ({"test": True}, False), ({"mock": True}, False), ({"prefetch": 0}, False)]
)
async def test_only_a_real_run_with_places_fetches_ahead(tmp_path, options, fetches):
    (tmp_path / "_states").mkdir()
    (tmp_path / "_states" / "mine.py").write_text(
        f"def mod_prefetch(low):\n    open({str(tmp_path / 'asked')!r}, 'w').close()\n    return []\n"
        "def nop(name):\n    return {'name': name, 'changes': {}, 'result': True, 'comment': ''}\n"
    )
    roots = {"base": [str(tmp_path)]}
    settings = Settings(file_roots=roots, cachedir=str(tmp_path / "cache"), state_dir=str(tmp_path / "state"))
    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data({"a": {"mine.nop": []}})
        async with runtime.run(plan, **options) as run:
            pass
        assert run.report.ok
    assert (tmp_path / "asked").exists() is fetches
