from __future__ import annotations

import pytest

from asyncstate.errors import AsyncStateError, CommandExecutionError, LoaderError, RaisedElsewhere, RenderError
from asyncstate.extras.borrow.failure import LostInSalt, failure_of, require_answer
from asyncstate.run.rows import exception_row


def told(type_, family="", builtin="Exception"):
    return {"type": type_, "family": family, "builtin": builtin, "text": "why", "trace": "Traceback of Salt"}


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (told("CommandExecutionError", "CommandExecutionError"), CommandExecutionError),
        (told("SaltRenderError", "SaltRenderError"), RenderError),
        (told("MinionError", "SaltException"), AsyncStateError),
        (told("JSONDecodeError", builtin="ValueError"), ValueError),
        (told("PythonFinalizationError", builtin="OfALaterPython"), Exception),
        (told("Odd", builtin="eval"), Exception),
        (told("Odd", "OfALaterSalt", "KeyError"), KeyError),
        (told("SystemExit", builtin="SystemExit"), LoaderError),
        (told("StopIteration", builtin="StopIteration"), LoaderError),
        (told("UnicodeEncodeError", builtin="UnicodeEncodeError"), LoaderError),
    ],
)
def test_it_is_caught_as_what_it_is_for_our_code(said, kind):
    error = failure_of("m.f", said)
    assert isinstance(error, kind)
    assert isinstance(error, RaisedElsewhere)
    assert exception_row("n", error)["comment"] == "An exception occurred in this state: Traceback of Salt"


@pytest.mark.parametrize(
    "message",
    [
        [],
        {},
        {"ok": 1, "error": told("Odd")},
        {"error": {"type": "Odd"}},
        {"error": told("a\0b")},
        {"error": told("\udcff")},
        {"ok": 1, "context": [1]},
        {"ok": 1, "gone": [[]]},
        {"ok": 1, "args": 1},
    ],
)
def test_what_is_no_answer_is_refused(message):
    with pytest.raises(ValueError, match=r"."):
        require_answer(message)


def test_the_row_of_a_lost_worker_says_so_without_a_traceback():
    comment = exception_row("n", LostInSalt("it is gone"))["comment"]
    assert comment == "An exception occurred in this state: it is gone"
