"""``state.disable`` and ``state.enable``, and the runs that they prevent."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def answer(salt_call):
    """Return the exit code and the value of a call."""

    def call(*words):
        done = salt_call("--out=json", "--retcode-passthrough", *words)
        return done.code, json.loads(done.out)["local"]

    return call


def _message(name, by=""):
    through = f' by "{by}"' if by else ""
    return f'The state file "{name}" is currently disabled{through}, to re-enable, run state.enable {by or name}.'


def test_a_disabled_file_is_not_applied_until_it_is_enabled(root, answer):
    assert answer("state.disable", "ok,web") == (
        0,
        {"res": True, "msg": "Info: ok state disabled.\nInfo: web state disabled."},
    )
    assert (root / "etc" / "grains").read_text() == "state_runs_disabled:\n- ok\n- web\n"
    assert answer("state.list_disabled") == (0, ["ok", "web"])
    assert answer("state.apply", "ok") == (1, [_message("ok")])
    assert answer("state.test", "ok") == (1, [_message("ok")])
    assert answer("state.sls", "[fails, ok]") == (1, [_message("ok")])
    assert answer("state.disable", "ok")[1]["msg"] == "Info: ok state already disabled."
    assert answer("state.enable", "[ok]") == (0, {"res": True, "msg": "Info: ok state enabled."})
    assert answer("state.enable", "ok")[1]["msg"] == "Info: ok state already enabled."
    assert answer("state.apply", "ok")[0] == 0
    assert answer("state.list_disabled") == (0, ["web"])


def test_one_disabled_file_of_several_is_enough(answer):
    answer("state.disable", "ok")
    assert answer("state.apply", "web,ok") == (1, [_message("ok")])


def test_all_files_of_a_folder(answer):
    answer("state.disable", "web.*")
    assert answer("state.apply", "web.conf") == (1, [_message("web.conf", "web.*")])
    assert answer("state.apply", "web")[0] == 0


def test_the_highstate(root, answer, salt_call):
    answer("state.disable", "highstate")
    told = "Salt highstate run is disabled. To re-enable, run state.enable highstate"
    for words in (["state.highstate"], ["state.apply"], ["state.apply", "test=True"]):
        assert answer(*words) == (0, {"name": told, "result": "False", "comment": "Disabled"})
    assert told in salt_call("state.apply").errors
    assert not (root / "target").exists()
    assert answer("state.apply", "web")[0] == 0


def test_what_names_no_file_as_a_whole_is_applied(answer):
    answer("state.disable", "ok,highstate")
    assert answer("state.sls_id", "first", "ok")[0] == 0
    assert answer("state.single", "test.nop", "x")[0] == 0
    assert answer("state.top", "other_top.sls")[0] == 0


def test_a_grain_of_that_name_that_is_no_list_disables_nothing(root, answer):
    (root / "etc" / "grains").write_text("state_runs_disabled: ok\n")
    assert answer("state.apply", "ok")[0] == 0
    assert answer("state.disable", "ok")[0] == 0
    assert answer("state.list_disabled") == (0, ["ok"])
