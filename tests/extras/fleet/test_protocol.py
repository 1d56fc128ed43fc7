import contextlib
import tracemalloc
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.fleet import protocol
from asyncstate.extras.fleet.errors import MessageRefused, ValueTooLarge
from asyncstate.extras.fleet.protocol import (
    Go,
    HostInfo,
    HostPlan,
    Lease,
    NodeResult,
    Offer,
    Options,
    Report,
    decode,
    encode,
)
from asyncstate.model.requisite import RemoteRequisite

DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), DATA))
def test_grains_arrive_as_they_were(grains):
    message = HostInfo(host="a", grains=grains)
    assert decode(encode(message), HostInfo) == message


@pytest.mark.parametrize(
    "message",
    [
        Offer(run="r", host="a", sls=("web",), options=Options(test=True, exclude=("x",)), issued=2.5),
        HostPlan(
            run="r",
            host="a",
            nonce="n",
            states=(protocol.State("file", "managed", "/a", "/a", "web", "web.sls", 3),),
            nodes=2,
            edges=(0, 1),
            sources=("require",),
            requires=(RemoteRequisite(0, "require", "db*", "sls", "db"),),
        ),
        Go(
            run="r",
            host="a",
            nonce="n",
            digest="d",
            remote=(protocol.RemoteState("b", 4, protocol.State("a", "b", "c", "d", "e"), check=True),),
            waits=(protocol.Wait(0, "require", (0,)),),
            readers={"0": ("b", "c")},
        ),
        NodeResult(run="r", host="a", node="3", result=None, changed=True),
        Report(run="r", host="a", attempt=2, seq=3, events=(msgspec.Raw(b'{"a": 1}'),), ended="finished"),
        Lease(host="a", boot="b", beat=3, interval=5.0),
    ],
)
def test_a_message_arrives_as_it_was(message):
    assert decode(encode(message), type(message)) == message


def test_a_long_message_is_compressed():
    message = HostPlan(
        host="a", nonce="n", states=tuple(protocol.State("file", "managed", f"/{n}", "", "") for n in range(1000))
    )
    assert len(encode(message)) < len(msgspec.json.encode(message)) / 3
    assert decode(encode(message), HostPlan) == message


def test_grains_that_json_lacks_become_text():
    arrived = decode(encode(HostInfo(host="a", grains={"x": object, "bad": "\ud800", 3: {1}})), HostInfo)
    assert arrived.grains["3"] == [1]
    assert "object" in arrived.grains["x"]


@given(st.binary(max_size=40) | st.binary(max_size=40).map(lambda data: b"\x78\x9c" + data))
def test_whatever_comes_is_a_message_or_refused(data):
    with contextlib.suppress(MessageRefused):
        assert isinstance(decode(data, Lease), Lease)


def test_a_message_that_is_cut_short_or_grows_for_ever_is_refused(monkeypatch):
    whole = zlib.compress(b"x" * 10_000)
    with pytest.raises(MessageRefused, match="damaged"):
        decode(whole[:-3], Lease)
    monkeypatch.setattr(protocol, "_LARGEST", 5000)
    with pytest.raises(MessageRefused, match="longer than"):
        decode(whole, Lease)


@pytest.mark.parametrize(
    ("kind", "wide"),
    [
        (protocol.HostInfo, b'{"grains":{"a":[%s]}}'),
        (protocol.HostEvent, b'{"tag":"a","data":{"a":[%s]}}'),
        (protocol.Report, b'{"attempt":1,"seq":0,"events":[[%s]]}'),
        (protocol.LogPage, b'{"boot":"a","number":1,"lines":[%s]}'),
    ],
)
@pytest.mark.parametrize("value", [b"[]", b"{}", b'""', b"1", b'{"a":1}'])
def test_a_message_that_takes_a_multiple_of_itself_in_memory_is_refused_unread(kind, wide, value):
    bomb = zlib.compress(wide % b",".join([value] * (3 << 20)))
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(MessageRefused, match="more than 2097152 values"):
            protocol.decode(bomb, kind)
        assert tracemalloc.get_traced_memory()[1] < 3 * protocol._LARGEST
    finally:
        tracemalloc.stop()


def test_nobody_sends_what_nobody_reads():
    with pytest.raises(ValueTooLarge, match="more than 2097152 values"):
        protocol.encode(protocol.HostInfo(host="a", grains={"a": [1] * (3 << 20)}))
    text = "," * (1 << 20)
    assert (
        protocol.decode(protocol.encode(protocol.HostEvent(tag="a", data={"a": text})), protocol.HostEvent).data["a"]
        == text
    )


def test_a_later_version_is_refused_with_the_next_step():
    later = encode(Lease(host="a", boot="b", beat=1, interval=1.0, v=protocol.VERSION + 1))
    with pytest.raises(MessageRefused, match="Update asyncstate"):
        decode(later, Lease)


def test_what_a_later_program_adds_to_a_message_is_passed_over():
    assert decode(b'{"host":"a","boot":"b","beat":1,"interval":1,"new":[]}', Lease).beat == 1


def test_a_message_under_a_wrong_name_is_refused():
    message = Offer(run="r", host="a")
    protocol.require_fields(message, run="r", host="a")
    with pytest.raises(MessageRefused, match="under the names r, b"):
        protocol.require_fields(message, run="r", host="b")
