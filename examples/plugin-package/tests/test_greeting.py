"""The contract of the greeting states. Run with pytest where the package and asyncstate are installed."""

import pytest

from asyncstate.testing import BrokenContract


def test_a_greeting_is_written_once(states):
    proof = states.prove("greeting.present", name=states.path("greeting"), text="good morning")
    assert proof.changes == {states.path("greeting"): {"old": None, "new": "good morning"}}
    assert (states.root / "greeting").read_text() == "good morning\n"


def test_one_that_is_there_is_left_alone(states):
    (states.root / "greeting").write_text("hi\n")
    states.prove("greeting.present", changes=False, name=states.path("greeting"), text="hi")


def test_two_lines_are_refused(states):
    proof = states.prove("greeting.present", result=False, name=states.path("greeting"), text="a\nb")
    assert "one line" in proof.row["comment"]


def test_somebody_greets_or_nobody(states):
    states.prove("greeting.heard", result=False, name=states.path("greeting"))
    (states.root / "greeting").write_text("hi\n")
    assert states.prove("greeting.heard", changes=False, name=states.path("greeting")).row["comment"] == "It is: hi"


def test_work_that_comes_to_nothing_is_told(states):
    states.tree("_modules/greeting.py", "def read(path): return None\ndef write(greetings): return greetings\n")
    row = states.run("greeting.present", name=states.path("greeting"), text="hi")
    assert (row["result"], row["changes"]) == (False, {})


def test_the_proof_would_notice(states):
    states.tree("_modules/greeting.py", "def read(path): return 'old'\ndef write(greetings): return greetings\n")
    with pytest.raises(BrokenContract):
        states.prove("greeting.present", name=states.path("greeting"), text="hi")
