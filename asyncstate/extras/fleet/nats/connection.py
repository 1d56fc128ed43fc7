"""One party's connection to the server: encrypted, authenticated, and re-established when it is lost.

TLS is mandatory: a connection to a server that does not offer it is given up before the key signs anything. Otherwise
a man in the middle could pass the server's nonce to the key and connect in its owner's name.

It uses asyncio, as NATS's client does.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import itertools
import logging
import math
import re
import ssl
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import urlsplit

from asyncstate.extras.fleet.errors import BoardError, BoardRefused, ValueTooLarge
from asyncstate.extras.fleet.nats.answers import NO_RESPONDER, Unavailable, answer_of, status_of
from asyncstate.logs import get_logger

try:
    from nats import errors as nats_errors
    from nats.aio.client import Client

    from asyncstate.extras.fleet.nats.inbox import Inbox
except ImportError as _missing:
    raise BoardError("runs across hosts need NATS: pip install 'nats-py>=2.9' 'cryptography>=43'") from _missing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

    from asyncstate.extras.fleet.credentials import Credentials

GIVE_UP: Final = 300.0
"""Seconds without the server after which a party that was connected gives up."""
_CONNECT: Final = 5
_CLOSE: Final = 2.0
_REFUSED_AGAIN: Final = (0.1, 0.3, 1.0, 2.0)
"""Seconds between retries of a key that the server does not know: it knows none while it reads its configuration."""
_ATTEMPTS: Final = len(_REFUSED_AGAIN) + 1
_ANSWER: Final = 5.0
_LONGEST_ANSWER: Final = 60.0
"""Seconds for an answer of the server, doubled with each retry, as retries do not help a busy server."""
_SLOWEST: Final = 2000
"""The slowest link in bytes a second: a request is not repeated while it may still be in transit."""
_PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
_PING: Final = 10
_VIOLATION: Final = re.compile(r'permissions violation for (?:publish|subscription) to \\?"([^"\\]+)', re.IGNORECASE)
_CUT_OFF: Final = re.compile(rf"\[Errno ({errno.EPIPE}|{errno.ECONNRESET})\]|(BrokenPipe|ConnectionReset)Error")
_REFUSED_KEY: Final = re.compile(r"authorization violation|authentication revoked|user authentication", re.IGNORECASE)
_REFUSED: Final = re.compile(rf"{_REFUSED_KEY.pattern}|certificate|does not encrypt", re.IGNORECASE)
_DATES: Final = re.compile("certificate (is not yet valid|has expired)")


class _Advice(logging.Filter):
    """A log filter for asyncio's message at the end of a TLS connection that began as a plain one, as NATS's do."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "eof_received() has no effect" not in record.getMessage()


_Answer = TypeVar("_Answer")

log: logging.Logger = get_logger(__name__)
logging.getLogger("asyncio").addFilter(_Advice())


class NoAnswer(BoardError):
    """There is a connection, but a request was not answered."""


class Connection:
    """A connection to a server, or to several of one cluster (a list with commas). Use it with ``async with``.

    ``give_up`` is the time limit in seconds for a lost connection, and for an answer. All methods raise BoardError
    once it has given up, and when the server refuses. ``patient``: whether it waits, with a warning, for a
    server that does not answer yet.
    """

    def __init__(self, url: str, credentials: Credentials, *, give_up: float = GIVE_UP, patient: bool = False) -> None:
        self._urls = [_checked(each.strip()) for each in url.split(",")]
        self._credentials = credentials
        self.give_up = give_up
        self._patient = patient
        self._client = _Client(credentials)
        self._begun = False
        self._refusals = 0
        self._up = asyncio.Event()
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._giving_up: asyncio.TimerHandle | None = None
        self._asking: dict[str, set[asyncio.Future[Msg]]] = {}
        self._answers: dict[str, asyncio.Future[Msg]] = {}
        self._numbers = itertools.count()
        self._told_unavailable = False
        self._answered = ""
        self._last_words = ""
        self._inboxes: set[Inbox] = set()

    async def __aenter__(self) -> Self:
        """Connect. Raises BoardError if no server answers, or it refuses the key."""
        refusals, told = 0, False
        while True:
            try:
                await asyncio.wait_for(self._connect(), (_CONNECT + 1) * len(self._urls))
                break
            except (TimeoutError, OSError, ssl.SSLError, nats_errors.Error) as error:
                self._last_words = self._last_words or _words(error)
                if self._key_refused(error) and refusals < len(_REFUSED_AGAIN):
                    refusals, pause = refusals + 1, _REFUSED_AGAIN[refusals]
                elif self._patient and not self._refused(error):
                    pause = _PAUSES[-1]
                    if not told:
                        log.warning("Waiting for the server: %s", self._why_not_connected())
                    told = True
                else:
                    await self._closed()
                    raise BoardError(self._why_not_connected()) from error
                await self._let_go()
                self._client, self._last_words = _Client(self._credentials), ""
                await asyncio.sleep(pause)
            except BaseException:
                await self._closed()
                raise
        self._begun = True
        self._up.set()
        return self

    def _was_cut_off(self, error: Exception) -> bool:
        """Whether the server has closed at once, as when it refuses a key: the reason may be lost."""
        cut_off = isinstance(error, (BrokenPipeError, ConnectionResetError)) or _CUT_OFF.search(self._last_words)
        return bool(cut_off) and not _REFUSED_KEY.search(self._last_words)

    def _key_refused(self, error: Exception) -> bool:
        """Whether the server refused the key, as far as the error shows."""
        return self._was_cut_off(error) or bool(_REFUSED_KEY.search(self._last_words))

    def _refused(self, error: Exception) -> bool:
        """Whether a server refused this party, or this party does not trust the server."""
        return self._was_cut_off(error) or bool(_REFUSED.search(self._last_words))

    async def _connect(self) -> None:
        await self._client.connect(
            self._urls,
            name=self._credentials.name,
            tls=_context(self._credentials.authority),
            connect_timeout=_CONNECT,
            max_reconnect_attempts=-1,
            reconnect_time_wait=1,
            allow_reconnect=False,
            ping_interval=_PING,
            max_outstanding_pings=2,
            signature_cb=self._client.signature,
            error_cb=self._on_error,
            disconnected_cb=self._on_lost,
            reconnected_cb=self._on_found,
            closed_cb=self._on_closed,
        )
        self._client.options["allow_reconnect"] = True
        self._answered = self._client.new_inbox()
        await self._subscribe(f"{self._answered}.*", self._on_answer)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._closed()

    async def _closed(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
        self._fail(BoardError("the connection to the server of the fleet is closed"))
        await self._let_go()

    async def _let_go(self) -> None:
        with suppress(TimeoutError, OSError, nats_errors.Error, AssertionError, AttributeError):
            # Before Python 3.12, a stream whose TLS handshake failed never says that it is closed. The client insists
            # that it was connected, if it was given up before that, and writes the rest to a transport that has ended.
            await asyncio.wait_for(self._client.close(), _CLOSE)

    async def request(self, subject: str, payload: bytes) -> Msg:
        """Ask a service of the server until it answers.

        Raises BoardError; NoAnswer if the server, or JetStream behind it, does not answer.
        """
        return await self._until_answered(subject, payload, None, lambda message: message)

    async def ask(
        self, subject: str, payload: bytes, headers: dict[str, str] | None = None, *, patience: float = math.inf
    ) -> dict[str, Any]:
        """Send JetStream a request until it succeeds, at least once, for ``patience`` seconds at most.

        Raises Refused, BoardError; NoAnswer if there is no answer, or JetStream is unavailable for so long.
        """
        return await self._until_answered(subject, payload, headers, answer_of, patience)

    async def _until_answered(
        self,
        subject: str,
        payload: bytes,
        headers: dict[str, str] | None,
        read: Callable[[Msg], _Answer],
        patience: float = math.inf,
    ) -> _Answer:
        until = time.monotonic() + min(self.give_up, patience)
        for attempt in range(1 << 30):
            await self._wait_for_server()
            try:
                seconds = min(_ANSWER * 2**attempt, _LONGEST_ANSWER) + len(payload) / _SLOWEST
                answer = read(await self._ask(subject, payload, headers, seconds))
            except nats_errors.MaxPayloadError:
                raise ValueTooLarge(
                    f"{len(payload)} bytes for {subject} are more than the server takes at once "
                    f"({self._client.max_payload})"
                ) from None
            except (nats_errors.Error, OSError) as error:
                if time.monotonic() >= until:
                    raise NoAnswer(f"the server does not answer to {subject}: {_words(error)}") from error
            except Unavailable as error:
                if time.monotonic() >= until:
                    raise NoAnswer(str(error)) from error
                self._unavailable(error)
            else:
                self._told_unavailable = False
                return answer
            await asyncio.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
        raise AssertionError  # pragma: no cover

    def _unavailable(self, error: Unavailable) -> None:
        """Log once that the request is retried."""
        if not self._told_unavailable:
            log.warning("The server is asked again, for up to %.0f seconds: %s", self.give_up, error)
        self._told_unavailable = True

    async def _ask(self, subject: str, payload: bytes, headers: dict[str, str] | None, patience: float) -> Msg:
        """Send a request once. The server may also answer that it does not permit the request.

        The client's own requests take three times as much processor time: a task and a random name each.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Msg] = loop.create_future()
        number = str(next(self._numbers))
        self._answers[number] = answer
        self._asking.setdefault(subject.lower(), set()).add(answer)  # nats-py gives the server's words in lower case
        late = loop.call_later(patience, _fail, answer, nats_errors.TimeoutError())
        try:
            await self._client.publish(subject, payload, reply=f"{self._answered}.{number}", headers=headers)
            message = await answer
        finally:
            late.cancel()
            del self._answers[number]
            self._forget(subject, answer)
        if status_of(message) == NO_RESPONDER:
            raise nats_errors.NoRespondersError
        return message

    async def _on_answer(self, message: Msg) -> None:
        answer = self._answers.get(message.subject.rpartition(".")[2])
        if answer is not None and not answer.done():  # else it comes too late, after a retry
            answer.set_result(message)

    def _forget(self, subject: str, answer: asyncio.Future[Msg]) -> None:
        waiting = self._asking[subject.lower()]
        waiting.discard(answer)
        if not waiting:
            del self._asking[subject.lower()]
        if answer.done() and not answer.cancelled():
            answer.exception()
        answer.cancel()

    async def _wait_for_server(self) -> None:
        if self._end.done():
            self._end.result()
        if not self._up.is_set():
            up = asyncio.ensure_future(self._up.wait())
            try:
                waited_for: set[asyncio.Future[Any]] = {up, self._end}
                await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            finally:
                up.cancel()
            if self._end.done():
                self._end.result()

    async def listen(self, subject: str = "") -> Inbox:
        """Return the inbox of a subject; without one, of a private one. Raises BoardError."""
        await self._wait_for_server()
        inbox = Inbox(subject or self._client.new_inbox(), self._inboxes.discard)
        try:
            inbox.subscription = await self._subscribe(inbox.subject, inbox.arrived)
        except nats_errors.Error as error:
            raise BoardError(f"nothing can be heard from the server: {_words(error)}") from error
        self._inboxes.add(inbox)
        return inbox

    async def _subscribe(self, subject: str, arrived: Callable[[Msg], Awaitable[None]]) -> Subscription:
        return await self._client.subscribe(subject, cb=arrived, pending_msgs_limit=-1, pending_bytes_limit=-1)

    async def send(self, subject: str, payload: bytes, *, reply: str) -> None:
        """Send a question whose answers go to an inbox. Raises BoardError."""
        await self._wait_for_server()
        with suppress(nats_errors.Error, OSError):  # lost meanwhile: the listeners are notified
            await self._client.publish(subject, payload, reply=reply)

    def _fail(self, error: BoardError) -> None:
        if not self._end.done():
            self._end.set_exception(error)
            self._end.exception()  # it is raised in waiting tasks, if there are any
        self._no_answers(error)
        for inbox in self._inboxes:
            inbox.fail(error)

    def _no_answers(self, error: Exception) -> None:
        for answer in self._answers.values():
            _fail(answer, error)

    async def _on_error(self, error: Exception) -> None:
        self._last_words = words = _words(error)
        found = _VIOLATION.search(words)
        if found is not None:
            refusal = BoardRefused(f"the server does not allow {self._credentials.name} to use {found[1]}")
            for answer in self._asking.get(found[1], ()):
                _fail(answer, refusal)
        elif self._begun and _REFUSED_KEY.search(words):
            self._refusals += 1
            if self._refusals >= _ATTEMPTS:
                self._fail(BoardError(self._why_not_connected()))

    async def _on_lost(self) -> None:
        if not self._begun:
            return
        self._up.clear()
        self._no_answers(nats_errors.ConnectionClosedError())  # they went with the connection
        if self._giving_up is None:
            self._giving_up = asyncio.get_running_loop().call_later(self.give_up, self._give_it_up)

    async def _on_found(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        self._refusals = 0
        self._up.set()
        for inbox in self._inboxes:
            inbox.put(None)

    async def _on_closed(self) -> None:
        if self._begun:
            self._fail(BoardError(self._why_not_connected()))

    def _give_it_up(self) -> None:
        self._fail(BoardError(f"no server of the fleet answered for {self.give_up:.0f} seconds. {self._where()}"))

    def _where(self) -> str:
        return f"Last of {', '.join(self._urls)}: {self._last_words or 'no answer'}"

    def _why_not_connected(self) -> str:
        where = ", ".join(self._urls)
        if _CUT_OFF.search(self._last_words):
            return (
                f"the server of the fleet ({where}) closed the connection without a word, {_ATTEMPTS} times "
                f"({self._last_words}). It does so when it does not know the key of {self._credentials.name}, which "
                "was revoked or replaced by a newer one (`asyncstate fleet enroll` makes new ones), and when it is "
                "about to stop. Its log says which."
            )
        if _REFUSED_KEY.search(self._last_words):
            return (
                f"the server of the fleet ({where}) does not know the key of {self._credentials.name}: it was revoked, "
                "or replaced by a newer one. `asyncstate fleet enroll` makes new credentials."
            )
        if _DATES.search(self._last_words):
            return (
                f"the certificate of the server at {where} does not hold now: {self._last_words}. Is the clock of this "
                "machine right? A certificate that ends soon is made anew when `asyncstate fleet up` is started."
            )
        if "certificate" in self._last_words.lower():
            return (
                f"the server at {where} is not the one of these credentials: {self._last_words}. Was it set up anew, "
                "or is it called by a name that `asyncstate fleet up` was not told (--listen, --name)?"
            )
        return f"no server of the fleet answers at {where}: {self._last_words or 'no answer'}"


class _Client(Client):
    """NATS's client with an `nkeys.KeyPair`: its own key handling needs the package nkeys and the seed."""

    def __init__(self, credentials: Credentials) -> None:
        super().__init__()
        self._pair = credentials.key
        self._public_nkey = self._pair.public

    def signature(self, nonce: str) -> bytes:
        """Sign the server's nonce, over TLS only."""
        if not self._server_info.get("tls_required"):
            raise nats_errors.Error("the server does not encrypt (no TLS certificate): it gets no signature")
        return base64.b64encode(self._pair.sign(nonce.encode()))

    async def _process_err(self, err_msg: str) -> None:
        """Reconnect if the server no longer knows the key: NATS's client would give up at the first such error."""
        if self.options["allow_reconnect"] and _REFUSED_KEY.search(err_msg):
            await self._process_op_err(nats_errors.AuthorizationError())
        else:
            await super()._process_err(err_msg)


def _context(authority: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the fleet's own authority alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=authority)
    return context


def _checked(url: str) -> str:
    """Return the address of a server. Raises BoardError for another protocol than NATS's."""
    full = url if "://" in url else f"tls://{url}"
    try:
        parts = urlsplit(full)
        known = parts.scheme in {"nats", "tls"} and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        known = False
    if not known:
        raise BoardError(f"{url!r} is not the address of a NATS server: tls://HOST:PORT")
    return full


def _fail(answer: asyncio.Future[Msg], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


def _words(error: BaseException) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return "no answer in time"
    return " ".join((str(error) or type(error).__name__).split())
