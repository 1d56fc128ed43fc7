from __future__ import annotations

import base64
import html
import json
import re
import shlex
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2.utils import htmlsafe_json_dumps
from tables import beside

from asyncstate.data.yaml.scalar import yaml_dquote, yaml_squote
from asyncstate.errors import CommandExecutionError, CompileError, Issue
from asyncstate.redact import MASK, Redactor, Secrets, distinct

TABLES = beside(__file__)

PEM = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA7bq\nshort\n  c2VjcmV0IGxpbmU=\n-----END KEY-----"

texts = st.text(st.characters(codec=None) | st.sampled_from("ab*:/@\n"), max_size=30)
secrets = st.lists(st.text(st.sampled_from("ab*é\n '\"") | st.characters(), max_size=12), max_size=5)


@given(secrets, st.lists(texts | st.integers(0, 4), max_size=8))
@example(["hunter2", "**ab"], [0, "ab"])
@example(["abcd", "bcde"], ["abcde"])
@example(["abcd", "cdab"], [0, 1, 0])
def test_no_secret_is_left_and_masks_are_whole(known, pieces):
    redactor = Redactor(known)
    text = "".join(known[piece % len(known)] if isinstance(piece, int) and known else str(piece) for piece in pieces)
    shown = redactor.text(text)
    telling = [secret for secret in known if len(secret) >= 4 and secret.strip("*")]
    assert [secret for secret in telling if secret in shown] == []
    assert redactor.text(shown) == shown
    if shown != text:
        without = set(re.findall(r"\*+", shown)) - set(re.findall(r"\*+", text))
        assert without <= {MASK}


@given(texts)
def test_what_holds_no_secret_and_no_url_is_shown_as_it_is(text):
    redactor = Redactor(["a secret that does not occur"])
    assert redactor.text(text) == text or "://" in text


AWKWARD = 'it\'s "hün/ter" & 2\\'
FORMS = [
    str, repr, json.dumps, yaml_dquote, yaml_squote, shlex.quote, quote, quote_plus, html.escape, htmlsafe_json_dumps,
    lambda text: repr({"k": text}), lambda text: json.dumps(text, ensure_ascii=False), lambda text: quote(text, safe=""),
    lambda text: repr([json.dumps(text)]), lambda text: json.dumps(repr([text])), lambda text: repr(yaml_dquote(text)),
    lambda text: str(KeyError(repr(ValueError(text)))),
    *(lambda text, n=n: base64.b64encode(b"x" * n + text.encode() + b"yz").decode() for n in range(4)),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_however_it_is_written(form):
    hidden = Redactor([AWKWARD]).text(f"before {form(AWKWARD)} after")
    assert MASK in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")


def test_a_quote_is_escaped_for_the_sake_of_what_stands_around_it():
    redactor = Redactor(["o'neill-pass"])
    assert redactor.text(repr('say "hello" to o\'neill-pass')) == f"'say \"hello\" to {MASK}'"


def test_lines_of_a_secret_are_hidden():
    redactor = Redactor([PEM])
    assert redactor.text(PEM) == MASK
    diff = "+MIIEowIBAAKCAQEA7bq\n+short\n+    c2VjcmV0IGxpbmU=\n"
    assert redactor.text(diff) == f"+{MASK}\n+short\n+    {MASK}\n"
    assert redactor.text(repr(PEM)) == f"'{MASK}'"


def test_values_in_the_lines_of_a_decrypted_file_are_hidden():
    redactor = Redactor(['user: joe\npassword: \'hunter22\'\nPGPASS=correct horse\n"token": "abcdefgh",\n'])
    assert redactor.text("joe hunter22 correct horse abcdefgh") == f"joe {MASK} {MASK} {MASK}"


def test_short_secrets_are_hidden_as_a_whole_text_only():
    redactor = Redactor(["pw", ""])
    assert [redactor.text(text) for text in ("pw", "pw\n", "pwd", "", " ")] == [MASK, MASK, "pwd", "", " "]


@pytest.mark.parametrize(("url", "shown"), TABLES["URLs"].items())
def test_passwords_in_urls_are_hidden(url, shown):
    shown = shown.replace("MASK", MASK)
    assert Redactor().text(url) == shown
    assert Redactor(["other secret"]).text(shown) == shown


def test_values_are_copied_and_their_keys_hidden():
    redactor = Redactor(["hunter2", "s3cret", "12345"])
    value = {"hunter2": 1, "s3cret": 2, "n": [12345, 1, True, None, 1.5, ("hunter2",), {"s3cret"}, b"a hunter2", b"x"]}
    shown = redactor.value(value)
    assert shown == {MASK: 1, f"{MASK} (2)": 2, "n": [MASK, 1, True, None, 1.5, [MASK], [MASK], f"a {MASK}", b"x"]}
    value["n"].append("later")
    assert len(shown["n"]) == 9


def test_values_that_never_end_are_cut():
    loop: list[object] = []
    loop.append(loop)
    assert "..." in repr(Redactor(["hunter2"]).value(loop))


def test_a_row_keeps_its_keys_and_measures():
    row = TABLES["a row keeps its keys and measures"]
    shown = Redactor(["name", "12:00:01.5", "comment", "own", "result"]).row(row)
    assert shown == {**row, "comment": MASK}
    odd = {**row, "duration": "hunter2", "result": ["hunter2"], "start_time": "hunter2"}
    assert "hunter2" not in repr(Redactor(["hunter2"]).row(odd))


def test_errors_are_redacted_with_their_issues():
    redactor = Redactor(["hunter2"])
    error = CompileError([Issue("bad hunter2", "hunter2.sls", 3, "not hunter2")])
    redactor.error(error)
    assert error.issues == (Issue(f"bad {MASK}", f"{MASK}.sls", 3, f"not {MASK}"),)
    assert "hunter2" not in str(error)
    other = CommandExecutionError("hunter2", {"out": "hunter2"})
    other.__cause__ = ValueError("hunter2")
    redactor.error(other)
    assert "hunter2" not in repr((str(other), vars(other), other.__cause__))


def test_distinct_numbers_what_became_alike():
    assert distinct([("a", 1), ("a", 2), ("a (2)", 3), ("a", 4)]) == {"a": 1, "a (2)": 2, "a (2) (2)": 3, "a (3)": 4}


def test_knowing_more_leaves_the_snapshot_alone():
    first = Redactor(["hunter2"])
    both = first.knowing(["correct horse", "pw"])
    assert first.text("hunter2 correct horse") == f"{MASK} correct horse"
    assert both.text("hunter2 correct horse") == f"{MASK} {MASK}"
    assert (first.text("pw"), both.text("pw")) == ("pw", MASK)


def test_the_time_for_a_text_does_not_grow_with_the_secrets():
    text = " ".join(f"/srv/app/releases/{number}/config.yaml" for number in range(2000))

    def seconds(redactor):
        began = time.process_time()
        redactor.text(text)
        return time.process_time() - began

    few, many = (Redactor([f"{number:x}-not-there" for number in range(count)]) for count in (3, 3000))
    assert seconds(many) < 0.05 + 20 * seconds(few)


urls = st.sampled_from(["see http://joe:hunter2@host/", "a@b"])
changes = st.recursive(
    st.none() | st.booleans() | st.integers() | texts | urls | st.binary(max_size=2),
    lambda inner: st.dictionaries(texts | urls | st.integers(), inner, max_size=2) | st.lists(inner, max_size=2),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {
            "name": texts,
            "changes": st.dictionaries(texts | urls, changes, max_size=3),
            "result": st.none() | st.booleans(),
            "comment": texts | urls,
        },
        optional={
            "__id__": st.none() | texts,
            "__sls__": st.none() | texts | st.dictionaries(texts, texts, max_size=1),
            "__run_num__": st.integers(),
            "duration": st.floats(allow_nan=False),
            "pchanges": st.just({}),
            "extra": texts,
        },
    )
)
def test_a_row_is_copied_and_shown_alike_whether_any_secrets_are_known_or_not(row):
    shown = Redactor().row(row)
    assert shown == Redactor(["a secret that does not occur"]).row(row)
    assert list(shown) == list(row)
    assert shares_nothing(shown, row)


def test_a_row_that_holds_itself_is_cut_whether_any_secrets_are_known_or_not():
    row = {"name": "n", "result": True, "comment": "", "changes": {}}
    row["changes"]["again"] = row["changes"]
    assert repr(Redactor().row(row)) == repr(Redactor(["a secret that does not occur"]).row(row))


def shares_nothing(shown, row):
    if type(row) is dict:
        return shown is not row and all(map(shares_nothing, shown.values(), row.values()))
    return type(row) is not list or (shown is not row and all(map(shares_nothing, shown, row)))


def test_keys_that_all_begin_with_dashes_cost_a_line_of_dashes_little():
    redactor = Redactor("-----BEGIN KEY-----\n" + "ab1'c" * size for size in range(1, 300))
    began = time.process_time()
    assert redactor.text("-" * 3000) == "-" * 3000
    assert time.process_time() - began < 0.3


def test_the_snapshot_is_compiled_once_for_a_set():
    secrets = Secrets(["hunter2"])
    first = secrets.redactor
    secrets |= {"hunter2"}
    assert secrets.redactor is first
    secrets |= {"correct horse", ""}
    assert secrets.redactor is not first
    assert secrets.redactor.text("hunter2, correct horse") == f"{MASK}, {MASK}"
    assert secrets == {"hunter2", "correct horse", ""}


def test_bytes_and_numbers_are_secrets_too():
    secrets = Secrets()
    secrets.add(b"hunter2")  # type: ignore[arg-type]
    secrets.add(123456)  # type: ignore[arg-type]
    assert secrets == {"hunter2", "123456"}
    assert secrets.redactor.value(["hunter2", 123456]) == [MASK, MASK]


def test_a_secret_can_be_taken_back():
    secrets = Secrets(["hunter2", "correct horse"])
    assert secrets.redactor.text("hunter2") == MASK
    secrets.discard("hunter2")
    assert secrets.redactor.text("hunter2 correct horse") == f"hunter2 {MASK}"


def test_threads_may_add_while_others_read():
    secrets = Secrets()
    start = threading.Barrier(5)

    def add(thread):
        start.wait()
        for secret in [f"secret {thread} {number}" for number in range(200)]:
            secrets.add(secret)
            assert secrets.redactor.text(f"<{secret}>") == f"<{MASK}>"

    def read():
        start.wait()
        while len(secrets) < 800:
            list(secrets)
            secrets.redactor.text("a text to look through")

    with ThreadPoolExecutor(5) as pool:
        ended = [pool.submit(read), *(pool.submit(add, number) for number in range(4))]
    assert [each.result() for each in ended] == [None] * 5
    assert len(secrets) == 800
