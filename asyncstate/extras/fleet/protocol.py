"""The messages between the parties of a fleet, as written to the board.

    offer ─▶ host plan ─▶ go ─▶ node results, reports ─▶ the last report

Every message names its run and its host. Offers, goes, stops and notices of loss come from an operator, who signs them;
a server lets a host write under its own name only. Arguments of states and the pillar of hosts are in no message,
except where the name or the report of a state has them and they are not known as secrets. The operator's pillar data
are part of the offers, which the server and the hosts keep.

Clocks of hosts are never compared: the waiting party counts its patience, and a go is fresh because it repeats the
``nonce`` of the plan that it answers.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

from asyncstate.extras.fleet.errors import MessageRefused, ValueTooLarge
from asyncstate.model.chunk import Declared
from asyncstate.model.encode import encoded, plain
from asyncstate.model.requisite import RemoteRequisite, RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION: Final = 1
"""The version of this protocol. A program refuses messages of a later one."""

_SQUEEZED_FROM: Final = 4096
_LARGEST: Final = 64 << 20
_MOST_VALUES: Final = 2 << 20
"""The largest number of values in a message: an empty list has two bytes on the wire and sixty in memory."""
_OPENINGS: Final = (b",", b"[", b"{")
"""Each value but the first follows one of these, or is the value of a key that does."""
_ZLIB: Final = b"\x78"

ORDER: Final = "fleet_order"
"""The argument of a state, and the source of edges: its place in the order of a run across hosts."""
LANE: Final = "fleet_lane"
"""The argument of a state, and the source of edges: lanes whose places all hosts of a run share."""


class Signer(Protocol):
    """An operator's key."""

    def seal(self, payload: bytes, key: str) -> bytes:
        """Return the payload with a signature that is good for this key of the board only."""

    def open(self, sealed: bytes, key: str) -> bytes:
        """Return the payload that this operator sealed for this key of the board. Raises MessageRefused."""


class Verifier(Protocol):
    """The operators whom a host obeys."""

    def open(self, sealed: bytes, key: str) -> bytes:
        """Return the payload that was sealed for this key of the board. Raises MessageRefused for anything else."""


class _Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``v`` is the version of the protocol."""

    run: str = ""
    host: str = ""
    v: int = VERSION


class Options(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options of ``apply`` with which a host runs its part.

    ``on_lost`` is the fate of states that wait for a lost host: fail, wait. ``top`` is the top file of a
    highstate, "" for the one in the host's configuration. ``exclude`` is as on a command line: ``NAME`` or ``sls:NAME``
    is an SLS, ``id:NAME`` an ID. ``new_file_diff`` asks a dry run for the content of new files.
    """

    test: bool = False
    concurrency: int | None = None
    exclude: tuple[str, ...] = ()
    saltenv: str | None = None
    pillar: dict[str, Any] = {}
    on_lost: str = "fail"
    pillarenv: str | None = None
    top: str = ""
    new_file_diff: bool = False


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An execution function, such as ``test.ping``, and the arguments that it is called with."""

    function: str
    arg: tuple[Any, ...] = ()
    kwarg: dict[str, Any] = {}


class Offer(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """An operator asks a host to take part in a run of these SLS (none: the highstate), or to ``call`` a function.

    ``issued`` is the time by the operator's clock; a host compares it with earlier offers, and roughly with its own.
    It waits ``patience`` seconds for the go, and as long for a sign of the controller while it waits for other hosts.
    """

    sls: tuple[str, ...] = ()
    options: Options = Options()
    issued: float = 0.0
    patience: float = 600.0
    call: Call | None = None


class State(Declared, msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The public part of a host's state: its names for requisites, and the place of its declaration."""

    state: str
    fun: str
    id: str
    name: str
    sls: str
    file: str = ""
    line: int = 0
    included_from: tuple[str, ...] = ()


class Mistake(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An issue of a tree (`asyncstate.errors.Issue`)."""

    message: str
    file: str = ""
    line: int = 0
    hint: str = ""
    code: str = ""


class HostPlan(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The plan of a host. ``mistakes`` are the reasons why there is none; then all else is empty.

    ``states`` are the chunks in serial order, which are the first nodes of the graph; ``nodes`` is the number of all
    nodes. ``edges`` are pairs of nodes in one row, before and after; ``sources`` has a text for each pair.
    ``checks`` are the states that have a test-mode call before a ``prereq``, with its node, ``orders`` those with a
    ``fleet_order``, ``lanes`` those in a lane of the fleet. ``unfit`` are exclusions of the run that the host's tree
    does not have. ``nonce`` is new for each plan.
    """

    nonce: str
    digest: str = ""
    states: tuple[State, ...] = ()
    nodes: int = 0
    edges: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    requires: tuple[RemoteRequisite, ...] = ()
    checks: tuple[tuple[int, int], ...] = ()
    orders: tuple[tuple[int, int], ...] = ()
    lanes: tuple[tuple[int, str], ...] = ()
    unfit: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    def places(self) -> dict[str, tuple[str, int]]:
        """Return file and line of each state, by tag."""
        return {each.tag: (each.file, each.line) for each in self.states}

    def each_edge(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield every edge: the node before, the node after, and its sources."""
        for before, after, text in zip(self.edges[::2], self.edges[1::2], self.sources, strict=True):
            yield before, after, text.split(",")


TESTED: Final = frozenset({RequisiteKind.PREREQ.value, RequisiteKind.PREREQUIRED.value})
"""The sources of a state's edges that its test-mode call does not have."""


def node_name(chunk: int, *, check: bool = False, end: bool = False) -> str:
    """Return the name on the board of a state, of its test-mode call, or of its end."""
    return f"c{chunk}" if check else f"e{chunk}" if end else str(chunk)


def has_row(name: str) -> bool:
    """Whether a name on the board is a state's own, which ends with a row."""
    return name.isdigit()


class RemoteState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A state of another host, as a go names it; with ``check``, its test-mode call before a ``prereq``.

    With ``end``, the waiting host gets the end of the state, without its outcome.
    """

    host: str
    chunk: int
    state: State
    check: bool = False
    end: bool = False

    @property
    def node(self) -> str:
        """The name of its node on the board."""
        return node_name(self.chunk, check=self.check, end=self.end)


class Wait(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A state of the host (``chunk``) has a requisite of this kind on states of other hosts: places in `Go.remote`."""

    chunk: int
    kind: str
    remote: tuple[int, ...]


class Barrier(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A barrier between the states of all hosts up to a ``fleet_order`` and those after.

    The host reports the end of the states ``before``; the states ``after`` wait until the operator reports the same of
    all hosts.
    """

    order: int
    before: tuple[int, ...]
    after: tuple[int, ...]


class Go(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The host may start. ``nonce`` and ``digest`` are its plan's, ``join`` is the digest of the joined graph.

    ``remote`` are the states of other hosts that it waits for, ``waits`` maps its own states to them, and ``readers``
    has for each own node (`RemoteState.node`) the hosts that wait for it. ``follows`` (own states, the first after the
    second has ended), ``remote_follows`` (the same with a place in ``remote``) and ``barriers`` only order states.
    """

    nonce: str
    digest: str
    join: str = ""
    remote: tuple[RemoteState, ...] = ()
    waits: tuple[Wait, ...] = ()
    readers: dict[str, tuple[str, ...]] = {}
    follows: tuple[tuple[int, int], ...] = ()
    remote_follows: tuple[tuple[int, int], ...] = ()
    barriers: tuple[Barrier, ...] = ()


class NodeResult(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a state of ``host``, for requisites: neither its changes nor its comment.

    For a state without a row, ``why`` is the reason why it did not run, and its result is False.
    """

    node: str
    result: bool | None
    changed: bool = False
    ran: bool = True
    skip_req: bool = False
    unforeseen: bool = False
    why: str = ""


class Report(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """Events of a host's run, masked, in order.

    ``attempt`` rises when the host starts again after its agent was killed: then the events of the earlier attempt are
    void. ``seq`` counts the reports of an attempt from 0 without a gap. The last one has ``ended``: `FINISHED`, or the
    reason why there is no run to report. It comes at a separate key if the stream of reports refuses it.

    ``lost`` is the number of the attempt's events that the board refused; then ``exit_code`` is the run's.
    ``padding`` only takes time: the host measures its link with it.
    """

    attempt: int
    seq: int
    events: tuple[msgspec.Raw, ...] = ()
    ended: str = ""
    lost: int = 0
    exit_code: int = 2
    padding: str = ""


FINISHED: Final = "finished"
"""`Report.ended` of a run that has its last event."""


class Lost(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The host ``lost`` is lost to the run: it did not renew its lease for ``seconds``.

    With ``why`` it is there, but its part ended for that reason: no further rows come.
    """

    lost: str
    seconds: float = 0.0
    why: str = ""


class Opened(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """All states before the barrier ``order`` have ended, on all hosts of the run."""

    order: int


class Reached(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """All states of ``host`` before the barrier ``order`` have ended, or never will begin."""

    order: int


class Stop(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The host starts nothing more in this run. ``reason`` is shown; ``now`` ends running states, too."""

    reason: str
    now: bool = False


class Pulse(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The controller of a run is there. ``beat`` rises."""

    beat: int


class Lease(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """A host is there. ``beat`` rises; the next comes within ``interval`` seconds. ``boot`` is new for each process.

    ``where`` names the machine, ``runs`` are the runs that it takes part in now; older agents leave them "" and None.
    """

    boot: str
    beat: int
    interval: float
    where: str = ""
    runs: tuple[str, ...] | None = None


def two_machines(host: str, one: str, other: str) -> str:
    """Return the message for two machines that renew one lease, with a remedy."""
    one, other = (" ".join(where.split()) or "a machine" for where in (one, other))
    return (
        f"two machines have the credentials of {host} ({one}; {other}): is one a clone "
        "of the other? Neither takes part in runs until one of the agents ends: enrol its machine by a name of its own."
    )


class HostEvent(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """A state or a function of ``host`` fired an event. ``data`` are its content; only ``host`` tells the sender."""

    tag: str
    data: dict[str, Any] = {}


class HostInfo(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The description of a host, for targets."""

    grains: dict[str, Any] = {}
    version: str = ""


class LogPage(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """Lines of the log of a host's agent, each a JSON object without secrets.

    ``boot`` is new for each process, ``number`` rises from page to page. A page is written again with more lines until
    it is full.
    """

    boot: str
    number: int
    lines: tuple[str, ...] = ()


class Rollout(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The order and number of hosts under way. ``batch`` and ``max_failures`` are numbers or percentages of hosts.

    ``batch``: how many hosts are under way at once; "": all. ``canary``: a target expression; the others begin once
    these hosts have ended without failure. ``max_failures``: once more hosts have failed, nothing more begins; "": go
    on. ``lanes``: the number of states of a fleet lane that run at once on all hosts together, by default one.
    """

    batch: str = ""
    canary: str = ""
    max_failures: str = ""
    lanes: dict[str, int] = {}


class RunRecord(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """The record of a run for operators: its request, its hosts, and its end. Times are by the operator's clock.

    ``turns`` are the hosts whose plans were joined, in groups that begin together, in the order of their start;
    empty before the join. Other hosts have no part in the run. ``canaries`` are the hosts that fit `Rollout.canary`.
    ``halted`` is the reason why no further host began. ``function`` is the called function, "" for states. With
    ``plans_only`` the run ends once the plans are joined. ``by`` is the requester, as ``account@machine``.
    """

    target: str
    function: str = ""
    sls: tuple[str, ...] = ()
    options: Options = Options()
    hosts: tuple[str, ...] = ()
    rollout: Rollout = Rollout()
    canaries: tuple[str, ...] = ()
    turns: tuple[tuple[str, ...], ...] = ()
    halted: str = ""
    begun: float = 0.0
    ended: float | None = None
    exit_code: int | None = None
    patience: float = 600.0
    plans_only: bool = False
    by: str = ""

    @property
    def joined(self) -> tuple[str, ...]:
        """The hosts whose plans were joined, in the order in which they begin."""
        return tuple(host for turn in self.turns for host in turn)


M = TypeVar("M", bound=_Message)


def encode(message: _Message) -> bytes:
    """Return the message as bytes: JSON, compressed if it is long. Raises ValueTooLarge if no reader would take it."""
    try:
        data = encoded(message)
    except (TypeError, ValueError, OverflowError, RecursionError):  # grains and pillar hold any value of plugins
        fields = {name: getattr(message, name) for name in message.__struct_fields__}
        data = encoded(plain(msgspec.to_builtins(fields, enc_hook=plain)))
    if len(data) > _LARGEST:
        raise ValueTooLarge(f"a message of {len(data)} bytes is longer than {_LARGEST >> 20} MiB")
    if _has_too_many_values(data):
        raise ValueTooLarge(f"a message has more than {_MOST_VALUES} values")
    return zlib.compress(data, 6) if len(data) >= _SQUEEZED_FROM else data


def decode(data: bytes, kind: type[M]) -> M:
    """Return the message of this kind that `encode` wrote. Raises MessageRefused for anything else."""
    data = _expanded(data)
    if _has_too_many_values(data):
        raise MessageRefused(f"a message of a fleet has more than {_MOST_VALUES} values")
    try:
        version = msgspec.json.decode(data, type=_Version).v
        if version > VERSION:
            raise MessageRefused(
                f"a message of version {version} of the fleet's protocol: this program knows versions up to {VERSION}. "
                "Update asyncstate here."
            )
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MessageRefused(f"this is no {kind.__name__} of a fleet: {error}") from None


def _has_too_many_values(data: bytes) -> bool:
    """Whether a message may have more values than a reader takes; its texts count as if they had values, too."""
    return len(data) > _MOST_VALUES and sum(map(data.count, _OPENINGS)) > _MOST_VALUES


class _Version(msgspec.Struct):
    v: int = VERSION


def _expanded(data: bytes) -> bytes:
    if not data.startswith(_ZLIB):
        return data
    expander = zlib.decompressobj()
    try:
        expanded = expander.decompress(data, _LARGEST)
    except zlib.error as error:
        raise MessageRefused(f"a message of a fleet is damaged: {error}") from None
    if not expander.eof:
        raise MessageRefused(f"a message of a fleet is damaged, or longer than {_LARGEST >> 20} MiB")
    return expanded


def require_fields(message: _Message, *, run: str, host: str) -> None:
    """Raise MessageRefused if a message names another run or host than its key."""
    if (message.run, message.host) != (run, host):
        raise MessageRefused(f"a message under the names {run}, {host} says it is of {message.run}, {message.host}")
