"""The names of keys and subjects on the board, from which a server derives access rights by patterns alone.

A message of an operator to one host begins with ``to`` and that host; every other key with its kind. A key that a host
writes has the writer as its second token if operators read it, as its fourth if another host does. So a few patterns
for each host hold for all runs, and the server need not look into messages:

    to.<reader>.<run>.offer                 operator → host       take part in a run
    to.<reader>.<run>.go                    operator → host       start, with the waits between states
    to.<reader>.<run>.lost.<host>           operator → host       a host that the reader waits for is lost
    to.<reader>.<run>.stop                  operator → host       cancel, or do not begin
    to.<reader>.<run>.barrier.<order>       operator → host       all states before a barrier have ended, on all hosts
    row.<reader>.<run>.<writer>.<node>      host → host           a state ended that the reader waits for
    plan.<writer>.<run>                     host → operator       the states of its plan, and their requisites
    report.<writer>.<run>                   host → operator       a stream: the events of its run
    end.<writer>.<run>                      host → operator       the last report, if the stream of reports refused it
    event.<writer>                          host → operator       a stream: events fired by its states and functions
    pulse.<run>                             operator → all hosts  the controller of a run is there
    lease.<writer>                          host → operator       the host is there
    host.<writer>                           host → operator       its grains, for targets
    log.<writer>.<page>                     host → operator       lines of its agent's log; old pages are overwritten
    run.<run>                               operator only         the record of a run
    held.<run>.<host>                       operator only         the go of a host, until it may begin
    reached.<writer>.<run>.<order>          host → operator       its states before a barrier have ended

Each reader of a row has a separate key: a host reads the states that it requires and nothing else of others.
The messages of operators to a host in a run fit one pattern and come in order; so do the rows for it.
"""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9_-]")
_ESCAPE: Final = re.compile(rb"=([0-9A-F]{2})")
_EMPTY: Final = "="
_TO: Final = "to"
ROW: Final = "row"
"""The kind of a state's outcome, for one of the hosts that wait for it."""


def token(text: str) -> str:
    """Return a token for any text, a host's name for example: letters, digits, ``-`` and ``_`` stay, the rest is hex.

    ``web1.example.com`` becomes ``web1=2Eexample=2Ecom``. Different texts have different tokens.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    return _UNSAFE.sub(lambda found: f"={found[0][0]:02X}".encode(), encoded).decode() or _EMPTY


def text_of(encoded: str) -> str:
    """Return the text of a token. Raises ValueError for any text that `token` never returns."""
    text = ""
    if encoded != _EMPTY:
        text = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), encoded.encode()).decode("utf-8", "surrogatepass")
    if token(text) != encoded:
        raise ValueError(f"not a token: {encoded!r}")
    return text


def parts(key: str) -> tuple[str, ...]:
    """Return the kind of a key and the texts of its other tokens, in the order of the function of that name.

    Raises ValueError if one is no token.
    """
    kind, *rest = key.split(".")
    if kind == _TO:
        if len(rest) < 3:
            raise ValueError(f"not a key: {key!r}")
        reader, run, kind, *more = rest
        rest = [reader, run, *more]
    elif kind == ROW and len(rest) == 4:
        reader, run, writer, node = rest
        rest = [reader, writer, run, node]
    return (kind, *map(text_of, rest))


def kind(key: str) -> str:
    """Return the kind of a key, "" for an invalid key."""
    first, *rest = key.split(".", 4)
    if first != _TO:
        return first
    return rest[2] if len(rest) > 2 else ""


def mail(reader: str, run: str) -> str:
    """Return the pattern of operators' messages to ``reader`` in a run."""
    return f"{_TO}.{token(reader)}.{token(run)}.>"


def offer(reader: str, run: str = "") -> str:
    """Return the key of an offer; without a run, the pattern of all."""
    return _to(reader, run, "offer")


def go(reader: str, run: str) -> str:
    """Return the key of a go."""
    return _to(reader, run, "go")


def row(reader: str, writer: str, run: str, node: str) -> str:
    """Return the key of the outcome of a state of ``writer``, for ``reader``."""
    return _key(ROW, reader, run, writer, node)


def rows(reader: str, run: str) -> str:
    """Return the pattern of all rows of a run that are for ``reader``."""
    return f"{ROW}.{token(reader)}.{token(run)}.*.*"


def lost(reader: str, run: str, host: str = "") -> str:
    """Return the key that tells ``reader`` of a lost host; without a host, the pattern of all."""
    return f"{_to(reader, run, 'lost')}.{token(host) if host else '*'}"


def stop(reader: str, run: str) -> str:
    """Return the key that stops the part of ``reader``."""
    return _to(reader, run, "stop")


def held(run: str, host: str = "") -> str:
    """Return the key of a go that is held back; without a host, the pattern of all of a run."""
    return _key("held", run, host)


def goes(run: str) -> str:
    """Return the pattern of all goes of a run."""
    return f"{_TO}.*.{token(run)}.go"


def reached(writer: str, run: str, order: int) -> str:
    """Return the key for the end of a host's states before a barrier."""
    return _key("reached", writer, run, str(order))


def all_reached(run: str) -> str:
    """Return the pattern of all reports on barriers in a run."""
    return f"reached.*.{token(run)}.*"


def barrier(reader: str, run: str, order: int) -> str:
    """Return the key that opens a barrier for ``reader``."""
    return _to(reader, run, "barrier", str(order))


def rows_written(writer: str, run: str) -> str:
    """Return the pattern of all rows of a run that ``writer`` wrote."""
    return f"{ROW}.*.{token(run)}.{token(writer)}.*"


def pulse(run: str) -> str:
    """Return the key of the sign of a run's controller."""
    return _key("pulse", run)


def plan(writer: str, run: str) -> str:
    """Return the key of a host's plan."""
    return _key("plan", writer, run)


def plans(run: str) -> str:
    """Return the pattern of all plans of a run."""
    return f"plan.*.{token(run)}"


def report(writer: str, run: str) -> str:
    """Return the subject of a host's report."""
    return _key("report", writer, run)


def reports(run: str) -> str:
    """Return the pattern of all reports of a run."""
    return f"report.*.{token(run)}"


def end(writer: str, run: str) -> str:
    """Return the key of a host's last report, for when the stream of reports refuses it."""
    return _key("end", writer, run)


def ends(run: str) -> str:
    """Return the pattern of all such last reports of a run."""
    return f"end.*.{token(run)}"


def event(writer: str = "") -> str:
    """Return the subject of the events that a host fires; without a host, the pattern of all."""
    return _key("event", writer)


def lease(writer: str = "") -> str:
    """Return the key of a host's lease; without a host, the pattern of all."""
    return _key("lease", writer)


def host(writer: str = "") -> str:
    """Return the key of a host's description; without a host, the pattern of all."""
    return _key("host", writer)


def log(writer: str, page: str = "") -> str:
    """Return the key of a page of a host's log; without a page, the pattern of all."""
    return _key("log", writer, page)


def run(run: str = "") -> str:
    """Return the key of the record of a run; without a run, the pattern of all."""
    return _key("run", run)


def read_by(host: str) -> tuple[str, ...]:
    """Return the patterns of all that a host may read."""
    own = token(host)
    return (f"{_TO}.{own}.>", f"{ROW}.{own}.>", "pulse.*")


def written_by(host: str) -> tuple[str, ...]:
    """Return the patterns of all that a host may write. Those of `STREAMS` are subjects, all others keys."""
    own = token(host)
    return (
        *(f"plan.{own}.*", f"{ROW}.*.*.{own}.*", f"report.{own}.*", f"end.{own}.*"),
        *(f"reached.{own}.*.*", f"event.{own}", f"lease.{own}", f"host.{own}", f"log.{own}.*"),
    )


def of_run(run: str) -> tuple[str, ...]:
    """Return the patterns of all that the board has of a run."""
    own = token(run)
    return (
        *(f"run.{own}", f"pulse.{own}", f"held.{own}.>", f"{_TO}.*.{own}.>"),
        *(f"plan.*.{own}", f"{ROW}.*.{own}.>", f"reached.*.{own}.>", f"end.*.{own}", f"report.*.{own}.>"),
    )


def of_host(host: str) -> tuple[str, ...]:
    """Return the patterns of all that a host wrote, and of all that is for it."""
    own = token(host)
    return (
        *(f"{kind}.{own}" for kind in ("host", "lease")),
        *(f"{kind}.{own}.>" for kind in ("plan", "reached", "report", "end", "event", "log", ROW, _TO)),
        *(f"{ROW}.*.*.{own}.*", f"{_TO}.*.*.lost.{own}", f"held.*.{own}"),
    )


STREAMS: Final = ("report", "event")
"""The kinds that are streams of messages; of all others, a key has one value."""

COUNTABLE: Final = frozenset({*STREAMS, ROW, "lease", "pulse", "log"})
"""The kinds in which missing a second value of a key does no lasting harm."""

_BY_OPERATOR: Final = (
    *(f"{_TO}.*.*.offer", f"{_TO}.*.*.go", f"{_TO}.*.*.stop", f"{_TO}.*.*.lost.*", f"{_TO}.*.*.barrier.*"),
    *("run.*", "held.*.*"),
)

READ_BY_OPERATOR: Final = (
    *("plan.>", "report.>", "end.>", "reached.>", "event.>", "lease.*", "host.*", "log.>"),
    *_BY_OPERATOR,
)
"""The patterns of all that an operator may read: the messages of hosts to operators, and operators' own."""

WRITTEN_BY_OPERATOR: Final = (*_BY_OPERATOR, "pulse.*")
"""The patterns of all that an operator may write: nothing in a host's name."""


def _to(reader: str, run: str, kind: str, *names: str) -> str:
    """Return the key of a message to a host; an empty run matches any."""
    return ".".join([_TO, token(reader), token(run) if run else "*", kind, *map(token, names)])


def _key(kind: str, *names: str) -> str:
    """Join tokens; an empty last name matches any."""
    *first, last = names
    return ".".join([kind, *map(token, first), token(last) if last else "*"])
