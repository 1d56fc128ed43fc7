"""The operator's side of a stream: a host gets only its own data, or is refused; other hosts do not notice."""

import anyio
import anyio.lowlevel
import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from asyncstate.config import Settings
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.local_board import LocalStore
from asyncstate.extras.fleet.protocol import Offer, Options, encode
from asyncstate.extras.fleet.ssh import frames
from asyncstate.extras.fleet.ssh.operator_side import OperatorSide, Tree


class Said:
    """The bytes that a host sends, and then its end."""

    def __init__(self, data):
        self.data = data
        self.taken = 0

    async def readexactly(self, n):
        await anyio.lowlevel.checkpoint()
        part = self.data[self.taken : self.taken + n]
        self.taken += len(part)
        if len(part) < n:
            for _ in range(20):  # so that what was asked is answered before the end
                await anyio.sleep(0.001)
            raise EOFError
        return part


class Heard:
    """What the host is sent."""

    def __init__(self):
        self.frames = []

    def write(self, data):
        self.frames.append(frames.decode(data[frames.HEAD :]))

    async def drain(self):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("desk")
    (made / "tree").mkdir()
    (made / "tree" / "app.sls").write_text("a:\n  test.nop: []\n")
    (made / "secret").write_text("only the operator's")
    (made / "secret.sls").write_text("only the operator's")
    return made


def serve(folder, data, roots=None, *offers):
    """Serve a host that sends these bytes; return the store, what it was sent and why it was refused."""
    store, heard = LocalStore(), Heard()
    for offer in offers:
        store.put(subjects.offer(offer.host, offer.run), encode(offer))
    roots = roots or {"base": [f"{folder}/tree"]}
    own = Settings(
        file_roots=roots, pillar_roots={"base": [f"{folder}/none"]}, cachedir=f"{folder}/c", state_dir=f"{folder}/s"
    )
    desk = OperatorSide("a1", store.board("a1"), Tree(own), {})

    async def main():
        refused = []
        try:
            await desk.serve(Said(data), heard)
        except* BoardError as errors:
            refused += errors.exceptions
        return " ".join(map(str, refused))

    return store, heard.frames, anyio.run(main)


def asked(*questions):
    return b"".join(frames.encode(number, *each) for number, each in enumerate(questions, 1))


def test_a_host_writes_and_reads_what_is_its_own_and_nothing_else(folder):
    own, other = subjects.host("a1"), subjects.host("b1")
    store, sent, refused = serve(
        folder, asked(("put", [own, b"x"]), ("put", [other, b"x"]), ("entries", [">"]), ("get", [own]))
    )
    assert refused == ""
    answers = {each.number: each for each in sent}
    assert (answers[1].word, answers[4].value) == ("ok", b"x")
    assert answers[2].word == answers[3].word == "error"
    assert [each.key for each in store.values(">")] == [own]


@pytest.mark.parametrize(
    "asked_for", [["base", "../secret"], ["base", "/etc/passwd"], ["..", "secret"], ["../x", "secret"], ["base", "\0"]]
)
@pytest.mark.parametrize("root", ["{}/tree", "{}/tree/__env__"])
def test_no_question_leads_out_of_the_file_roots(folder, asked_for, root):
    env = "__env__" if "__env__" in root else "base"
    _, sent, _ = serve(
        folder, asked(("fetch", [*asked_for, 0]), ("listing", [asked_for[0]])), {env: [root.format(folder)]}
    )
    assert next(each for each in sent if each.number == 1).word == "error"
    assert "only the operator" not in str(sent)
    assert "secret" not in str([each.value for each in sent if each.word == "ok"])


def test_the_pillar_is_that_of_a_run_that_this_host_was_offered(folder):
    offers = [
        Offer(run="r1", host="a1", options=Options(pillar={"step": 1})),
        Offer(run="r2", host="b1", options=Options(pillar={"step": "of another"})),
    ]
    questions = [("pillar", [{}, run]) for run in ("r1", "r2", "", ">")]
    _, sent, refused = serve(folder, asked(*questions), None, *offers)
    answers = {each.number: each for each in sent}
    assert (refused, answers[1].value["pillar"]) == ("", {"step": 1})
    assert {answers[number].word for number in (2, 3, 4)} == {"error"}
    assert "of another" not in str(sent)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"Last login: yesterday\n" * 10, "does a program print on the same stream"),
        (b"\0\0\0\3abc", "no frame"),
        (asked(("messages", [">"])), "asks for what there is not: 'messages'"),
        (asked(("put", {"a": 1})), "no frame"),
        (asked(("put", [["key"], b""])), "no frame"),
        (asked(("get", [[]] * 1000)), "no frame"),
        (asked(("pillar", [{"a": [[]] * (2 << 20)}, "r1"])), "its grains are longer than 2 MiB"),
        (asked(*[("watch", [subjects.offer("a1")])] * 201), "watches more than 200 things"),
        (frames.encode(1, "watch", [subjects.offer("a1")]) * 2, "watches twice as number 1"),
    ],
)
def test_a_host_that_does_not_keep_to_the_protocol_is_refused(folder, data, words):
    _, _, refused = serve(folder, data)
    assert words in refused


WORDS = st.sampled_from([*frames.ASKED, "ping", "bye", "ok", "", "nothing"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5) | st.binary(max_size=5)
)  # fmt: skip
NAMES = st.sampled_from(
    ["base", "app.sls", "..", ">", "*", subjects.host("a1"), subjects.host("b1"), subjects.offer("a1")]
)
VALUES = st.recursive(
    SCALARS | NAMES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=3), max_leaves=6
)  # fmt: skip
FRAMES = st.tuples(st.integers(-1, 3), WORDS, st.lists(VALUES, max_size=3) | VALUES)


def packed(frame):
    data = msgspec.msgpack.encode(frame)
    return len(data).to_bytes(4, "big") + data


@given(said=st.lists(FRAMES, max_size=6), rest=st.binary(max_size=12))
@example(said=[(1, "fetch", ["base", "app.sls", 2**64 - 1])], rest=b"")
@example(said=[(1, "pillar", [{"id": ["a"], "os": {1: {}}}, "r1"])], rest=b"")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_host_sends_it_is_answered_or_refused_and_others_keep_what_is_theirs(folder, said, rest):
    store, sent, _ = serve(folder, b"".join(map(packed, said)) + rest, None, Offer(run="r1", host="a1"))
    assert {each.word for each in sent} <= {frames.OK, frames.ERROR, frames.MORE, frames.PING}
    assert not store.values(subjects.host("b1"))
    assert "only the operator" not in str(sent)
