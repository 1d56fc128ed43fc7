"""The ``state`` module beyond the recorded answers."""

from __future__ import annotations

import json
import threading

import pytest

from asyncstate.guard.lock import RunLock


def test_what_was_requested_is_kept_run_and_forgotten(root, salt_call):
    assert json.loads(salt_call("--out=json", "state.check_request").out) == {"local": {}}
    asked = salt_call("state.request", "web")
    assert "Result: None" in asked.out
    assert not (root / "target").exists()
    kept = json.loads(salt_call("--out=json", "state.check_request").out)["local"]["default"]
    assert (kept["mods"], len(kept["test_run"])) == ("web", 3)
    assert salt_call("state.run_request").code == 0
    assert (root / "target" / "web.conf").exists()
    assert json.loads(salt_call("--out=json", "state.run_request").out) == {"local": {}}


def test_one_request_of_several_is_forgotten(salt_call):
    for name in ("a", "b"):
        salt_call("state.request", "ok", f"name={name}")
    assert json.loads(salt_call("--out=json", "state.clear_request", "a").out) == {"local": True}
    assert json.loads(salt_call("--out=json", "state.clear_request", "a").out) == {"local": False}
    assert list(json.loads(salt_call("--out=json", "state.check_request").out)["local"]) == ["b"]


def test_a_dry_run_has_the_rows_of_one(root, salt_call):
    """Each state looks at the machine as it is, whatever earlier ones are to make."""
    (root / "salt" / "fresh.sls").write_text(
        f"a:\n  file.managed: [name: {root}/none/x, contents: a, makedirs: True]\n"
        f"b:\n  file.replace: [name: {root}/none/x, pattern: a, repl: b, require: [file: a]]\n"
    )
    rows = json.loads(salt_call("--out=json", "state.apply", "fresh", "test=True").out)["local"]
    assert [row["result"] for row in rows.values()] == [None, False]


@pytest.mark.parametrize(("words", "code"), [((), 1), (("--retcode-passthrough",), 2)])
def test_a_state_that_does_not_end_is_one_that_failed(root, salt_call, monkeypatch, words, code):
    monkeypatch.setattr("asyncstate.run.chunk.time_limit.GRACE", 0.05)
    (root / "salt" / "_states").mkdir(exist_ok=True)
    (root / "salt" / "_states" / "endless.py").write_text("import time\ndef hangs(name):\n    time.sleep(300)\n")
    (root / "salt" / "hangs.sls").write_text("a:\n  endless.hangs: [timeout: 0.05]\n")
    done = salt_call("--out=json", *words, "state.apply", "hangs")
    assert (done.code, [row["result"] for row in json.loads(done.out)["local"].values()]) == (code, [False])
    assert "The run was cut short: a state does not end, and cannot be stopped." in done.errors


def _lock(root):
    """Return the lock of the tree: root_dir of its minion file stands before the folder of the cache."""
    return RunLock(f"{root}/root{root.parent}/own")


@pytest.fixture
def held(root):
    with _lock(root) as lock:
        yield lock


@pytest.mark.usefixtures("held")
def test_a_second_run_is_refused_as_salt_refuses_it(salt_call):
    done = salt_call("state.apply", "ok", "--out=json", "--retcode-passthrough")
    assert done.code == 1
    assert 'The function "state.apply" is running as PID' in json.loads(done.out)["local"][0]
    assert json.loads(salt_call("state.running", "--out=json").out) == json.loads(done.out)
    assert salt_call("state.apply", "ok", "test=True").code == 0


@pytest.mark.usefixtures("held")
def test_a_run_that_is_called_concurrent_takes_no_lock(salt_call):
    assert salt_call("state.apply", "ok", "concurrent=True").code == 0


@pytest.mark.parametrize("by", ["queue=True", "state_queue: True", "queue=1"])
def test_a_queued_run_waits(root, salt_call, by):
    words = [by] if "=" in by else []
    with (root / "etc" / "minion").open("a") as file:
        file.write("" if words else f"{by}\n")
    lock = _lock(root)
    lock.__enter__()
    release = threading.Timer(0.3, lambda: lock.__exit__(None, None, None))
    release.start()
    try:
        assert salt_call("state.apply", "ok", *words).code == 0
    finally:
        release.join()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["state.apply", "ok", "pilar={a: 1}"], "state.apply does not know the argument pilar"),
        (["state.aply"], "'state.aply' is not available. Did you mean 'state.apply'?"),
        (["state.pause", "1"], "apply --resume"),
        (["state.resume", "1"], "No run is paused"),
        (["state.soft_kill", "1"], "kill -INT"),
        (["state.event", "pretty=True"], "apply --out jsonl"),
        (["state.apply", "ok", "pillar_enc=gpg"], "Encrypt a pillar file"),
        (["state.apply", "whitelist=web"], "name the SLS files instead"),
        (["state.high", "text"], "expected a mapping"),
        (["test.pong_of_this_name"], "'test.pong_of_this_name' is not available."),
        (["test.raise_exception", "ValueError", "said"], "test.raise_exception raised ValueError: said"),
        (["test.exception", "said"], "Error running 'test.exception': said"),
    ],
)
def test_what_does_not_work_is_said_on_standard_error(salt_call, words, said):
    done = salt_call(*words)
    assert said in done.errors
    assert "Traceback" not in done.errors


def test_a_traceback_is_shown_in_the_log_of_debug(salt_call):
    assert "Traceback" in salt_call("-l", "debug", "test.raise_exception", "ValueError", "no").errors


def test_a_pillar_that_does_not_render_is_an_error_of_its_own(root, salt_call):
    (root / "pillar" / "site.sls").write_text("a: {{ nothing.at.all }}\n")
    done = salt_call("state.apply", "ok", "--out=json", "--retcode-passthrough")
    assert done.code == 5
    assert json.loads(done.out)["local"][0] == "Pillar failed to render with the following messages:"
    assert salt_call("state.apply", "ok").code == 1
    assert salt_call("state.show_sls", "ok").code == 1


@pytest.mark.parametrize("words", [["state.apply", "ok"], ["test.ping"], ["state.show_top"]])
def test_where_the_pillar_is_wrong_is_told_on_standard_error(root, salt_call, words):
    assert f"{root}/badpillar/broken.sls:1" in salt_call(f"--pillar-root={root}/badpillar", *words).errors


def test_what_renders_of_a_broken_pillar_is_there_with_the_mistakes(root, salt_call):
    found = json.loads(salt_call(f"--pillar-root={root}/badpillar", "--out=json", "pillar.raw").out)["local"]
    assert found == {
        "sound": "of a file that renders",
        "_errors": ["Rendering SLS 'broken' failed. Please see master log for details."],
    }


def test_another_top_file_leaves_the_pillar_as_it_is(root, salt_call):
    (root / "salt" / "shows.sls").write_text("shown: {test.nop: [{name: 'port {{ pillar.port }}'}]}\n")
    (root / "salt" / "shows_top.sls").write_text("base: {'*': [shows]}\n")
    assert "port 8080" in salt_call("--out=json", "state.top", "shows_top.sls").out


def test_nothing_after_a_failhard_begins_however_many_may_run(root, salt_call):
    later = "".join(f"later {number}: {{test.nop: []}}\n" for number in range(20))
    (root / "salt" / "many.sls").write_text(f"stops: {{test.fail_without_changes: [{{failhard: true}}]}}\n{later}")
    done = salt_call("--out=json", "state.apply", "many")
    assert list(json.loads(done.out)["local"]) == ["test_|-stops_|-stops_|-fail_without_changes"]
    with (root / "etc" / "minion").open("a") as file:
        file.write("failhard: True\n")
    assert len(json.loads(salt_call("--out=json", "state.apply", "fails").out)["local"]) == 2


def test_a_long_chain_before_an_id_is_in_order(root, salt_call):
    (root / "salt" / "chain.sls").write_text(
        "".join(f"s{n}: {{test.nop: [{{require: [{{test: s{n + 1}}}]}}]}}\n" for n in range(300))
        + "s300: {test.nop: []}\n"
    )
    done = salt_call("--out=json", "state.sls_id", "s0", "chain")
    rows = json.loads(done.out)["local"].values()
    assert [row["__id__"] for row in rows] == [f"s{n}" for n in range(300, -1, -1)]


def test_words_of_several_lines_are_never_keywords(salt_call):
    done = salt_call("cmd.run", "x=1\necho $x", "--out=txt")
    assert done.out == "local: 1\n"


def test_no_parse_leaves_a_value_as_text(salt_call):
    assert json.loads(salt_call("--out=json", "--no-parse=k", "own.given", "k=[1]", "l=[1]").out)["local"][
        "kwargs"
    ] == {
        "k": "[1]",
        "l": [1],
    }


def test_documentation_of_functions_whose_names_begin_so(salt_call):
    done = salt_call("-d", "own.")
    assert done.code == 0
    assert "own.add:\nAdd two or three numbers.\n" in done.out
    assert salt_call("--grains", "--out=json").out.startswith('{\n    "local": {')


def test_an_answer_goes_to_a_file_and_is_appended(root, salt_call):
    path = root / "answer"
    for _ in range(2):
        assert salt_call(f"--out-file={path}", "--out=txt", "test.ping").out == ""
    assert path.read_text() == "local: True\n"
    salt_call(f"--out-file={path}", "--out-file-append", "--out=txt", "test.ping")
    assert path.read_text() == "local: True\n" * 2


def test_a_file_that_cannot_be_written_is_told(root, salt_call):
    done = salt_call(f"--out-file={root}/none/answer", "test.ping")
    assert done.code != 0
    assert "could not be written" in done.errors


def test_arguments_may_come_from_standard_input(salt_call, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("a b=1\n"))
    assert json.loads(salt_call("--args-stdin", "--out=json", "own.given").out)["local"] == {
        "args": ["a"],
        "kwargs": {"b": 1},
    }


def test_the_commands_of_asyncstate_point_the_way(salt_call, capfd):
    from asyncstate.cli import main

    assert main(["call", "state.apply"]) == 1
    assert "asyncstate salt-call state.apply" in capfd.readouterr().err
    assert main(["apply", "--local"]) == 1
    assert "asyncstate salt-call" in capfd.readouterr().err


def test_localconfig_comes_after_the_configuration(root, salt_call):
    (root / "more" / "override").write_text("id: elsewhere\n")
    assert salt_call("state.apply", "web", f"localconfig={root}/more/override").code == 0
    assert "name elsewhere" in (root / "target" / "web.conf").read_text()


def test_a_file_that_is_not_there_does_not_compile(root, salt_call):
    done = salt_call("state.template", f"{root}/none", "--out=json")
    assert done.code == 1
    assert json.loads(done.out) == {"local": [f"Specified SLS {root}/none.sls on local filesystem cannot be found."]}


def test_a_text_that_does_not_render_does_not_compile(salt_call):
    done = salt_call("state.template_str", "{{ broken", "--out=json")
    assert done.code == 1
    assert "Jinja syntax error" in json.loads(done.out)["local"][0]


def test_short_declarations_are_high_data(salt_call):
    done = salt_call("state.high", "{a: {test.nop: []}}", "--out=json")
    assert done.code == 0
    assert list(json.loads(done.out)["local"]) == ["test_|-a_|-a_|-nop"]


def test_a_master_that_nobody_asks_is_told(root, salt_call):
    with (root / "etc" / "minion").open("a") as file:
        file.write("master: salt.example\n")
    assert "There is no master" in salt_call("-l", "warning", "test.ping").errors
    assert salt_call("-l", "warning", "--local", "test.ping").errors == ""


def test_the_setting_of_salt_shows_all_of_the_pillar(root, salt_call):
    assert "example" not in salt_call("pillar.items").out
    with (root / "etc" / "minion").open("a") as file:
        file.write("pillar_mask_output: False\n")
    assert "example" in salt_call("pillar.items").out
    assert "example" not in salt_call("pillar.get", "site").out


def test_the_state_module_is_among_the_others(salt_call):
    assert json.loads(salt_call("sys.doc", "state.apply", "--out=json").out)["local"]["state.apply"].startswith(
        "Apply SLS"
    )
    assert "state.show_top" in json.loads(salt_call("sys.list_functions", "state", "--out=json").out)["local"]
    assert json.loads(salt_call("sys.list_modules", "stat*", "--out=json").out)["local"] == ["state", "status"]
    assert "state.apply:\nApply SLS" in salt_call("-d", "state.a").out
