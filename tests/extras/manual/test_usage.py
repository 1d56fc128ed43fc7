from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["schema", "confg"], "Did you mean 'config'?"),
        (["smi", "show", "srvice"], "there is no interface 'srvice'. Did you mean service?"),
        (["doc", "file.managd"], "Did you mean file.managed?"),
    ],
)
def test_usage_errors_exit_1_and_say_what_to_do(run_here, words, said):
    done = run_here(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
