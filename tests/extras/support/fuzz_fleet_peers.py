"""Programs whose other side lies, for cases of `fuzz_process`: an operator, a host, a server of a fleet."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

REFUSED, OK, INTERRUPTED = 1, 0, 130
RUN, HOST = "r1", "a1"


def settings_of_case(*roots: str):
    from asyncstate import Settings

    environments = {"base": ["salt"], **({"__env__": ["salt/__env__"]} if roots else {})}
    return Settings(
        id=HOST,
        file_roots=environments,
        pillar_roots={"base": ["pillar"], **({"__env__": ["pillar/__env__"]} if roots else {})},
        cachedir=os.environ["ASYNCSTATE_CACHEDIR"],
        state_dir=os.environ["ASYNCSTATE_STATE_DIR"],
        grains={"os": "Debian"},
    )


def runner() -> int:
    """Be the runner of a host; the operator answers what it asks as ``operator`` says."""
    from asyncstate.extras.fleet import subjects
    from asyncstate.extras.fleet.ssh import frames
    from asyncstate.extras.fleet.ssh.runner import main

    said = {word: [bytes.fromhex(each) for each in values] for word, values in json.loads(_bytes("operator")).items()}
    reading, to_runner = os.pipe()
    from_runner, writing = os.pipe()

    def operate() -> None:
        with os.fdopen(from_runner, "rb", 0) as heard, os.fdopen(to_runner, "wb", 0) as say, suppress(OSError):
            _say(say, 0, frames.BEGIN, said[frames.BEGIN])
            while select.select([heard], [], [], 2)[0] and (head := heard.read(frames.HEAD)):
                data = b""
                while len(data) < (size := frames.length(head)):
                    data += heard.read(size - len(data))
                frame = frames.decode(data)
                if frame.word == "put" and frame.value[0] == subjects.plan(HOST, RUN):
                    break
                if frame.word in said:
                    _say(say, frame.number, frames.MORE if frame.word == "watch" else frames.OK, said[frame.word])
            say.write(frames.encode(0, frames.BYE))

    threading.Thread(target=operate, daemon=True).start()
    os.dup2(reading, 0)
    output = os.dup(1)
    os.dup2(writing, 1)
    for each in (reading, writing):
        os.close(each)
    code = main(os.path.abspath("../home"))
    os.dup2(output, 1)
    return code


def _say(stream, number, word, values) -> None:
    """Say the next of ``values``, the last one for ever: a value in MessagePack, or what is none."""
    import msgspec

    value = values.pop(0) if len(values) > 1 else values[0] if values else b"\xc0"
    data = b"\x93" + msgspec.msgpack.encode(number) + msgspec.msgpack.encode(word) + value
    stream.write(len(data).to_bytes(4, "big") + data)


def desk() -> int:
    """Serve a host that sends ``frames``, with the operator's tree."""
    from asyncstate.errors import AsyncStateError
    from asyncstate.extras.fleet import subjects
    from asyncstate.extras.fleet.local_board import LocalStore
    from asyncstate.extras.fleet.protocol import Offer, encode
    from asyncstate.extras.fleet.ssh.operator_side import OperatorSide, Tree

    class Writer:
        def write(self, data):
            del data

        async def drain(self):
            pass

    async def serve():
        store = LocalStore()
        await store.board().put(subjects.offer(HOST, RUN), encode(Offer(run=RUN, host=HOST)))
        reader = asyncio.StreamReader()
        reader.feed_data(_bytes("frames"))
        asyncio.get_running_loop().call_later(0.05, reader.feed_eof)
        await OperatorSide(HOST, store.board(HOST), Tree(settings_of_case("__env__")), {}).serve(reader, Writer())

    code = OK
    try:
        asyncio.run(serve())
    except* AsyncStateError:
        code = REFUSED
    return code


def agent(seed: str) -> int:
    """Be the agent of a host; the board has ``offer``, and once there is a plan ``go`` and ``row``."""
    import anyio
    from memory_board import MemoryServer

    from asyncstate.extras.fleet import subjects
    from asyncstate.extras.fleet.events import HostEvents
    from asyncstate.extras.fleet.host.agent import Agent
    from asyncstate.extras.fleet.host.local_station import Gate, LocalStation, RunFiles
    from asyncstate.extras.fleet.nkeys import KeyPair
    from asyncstate.extras.fleet.policy import Policy
    from asyncstate.extras.fleet.protocol import HostPlan, Report, decode
    from asyncstate.extras.fleet.signing import OperatorSigner, OperatorVerifier
    from asyncstate.services import Embedding

    async def serve():
        server, settings = MemoryServer(), settings_of_case("__env__")
        files = RunFiles(settings.state_dir, HOST)
        gate = Gate(files, Policy(), enrolled=0.0, wall=lambda: 1000.0)
        board = server.board(HOST)
        station = LocalStation(settings, Embedding(events=HostEvents(board, HOST)))
        signer = OperatorSigner(seed)
        verifier = OperatorVerifier([KeyPair.from_seed(seed).public])
        made = Agent(board, HOST, station, files, verifier, accept=gate.accept, allow=gate.allow, lease=60.0)
        operator, code = server.board(), OK

        async def put(name, key, **fields):
            data = _bytes(name)
            for field, value in fields.items():
                data = data.replace(f"@{field}@".encode(), value.encode())
            writer = server.board("b1") if name == "row" else operator
            await writer.put(key, data if name in ("row", "torn") else signer.seal(data, key))

        async with anyio.create_task_group() as group:
            group.start_soon(made.serve)
            await put("torn", subjects.offer(HOST, "r0"))
            await put("offer", subjects.offer(HOST, RUN))
            async for entry in operator.watch(subjects.plan(HOST, RUN)):
                plan = decode(entry.value, HostPlan)
                code = REFUSED if plan.mistakes else OK
                break
            if code == OK:
                await put("row", subjects.row(HOST, "b1", RUN, "0"))
                await put("go", subjects.go(HOST, RUN), nonce=plan.nonce, digest=plan.digest)
                with anyio.move_on_after(1):
                    async for message in operator.messages(subjects.report(HOST, RUN)):
                        report = decode(message.data, Report)
                        if report.ended:
                            code = OK if report.ended == "finished" else REFUSED
                            break
            group.cancel_scope.cancel()
        return code

    return asyncio.run(serve())


def operator(seed: str, recorded: str, *words: str) -> int:
    """Be an operator's program, ``words``; the server has, and two hosts say, what is in ``said``.

    To a new run, hosts say what they said to the ``recorded`` one. What goes on for long is ended as by Ctrl-C.
    """
    from memory_board import MemoryBoard, MemoryServer

    from asyncstate.cli import main
    from asyncstate.extras.fleet import credentials
    from asyncstate.extras.fleet.nats import board as nats_board

    said = json.loads(_bytes("said"))
    entries = {key: bytes.fromhex(data) for key, data in said["keys"].items()}
    messages = [(subject, bytes.fromhex(data)) for subject, data in said["messages"]]
    is_new = not {recorded, "status", "logs", "runs"} & {*words}

    class Server(MemoryServer):
        def put(self, key: str, value: bytes) -> None:
            super().put(key, value)
            if is_new and key.endswith((".offer", ".go")):
                _, host, run, asked = key.split(".")
                for each, data in entries.items():
                    if each.startswith(
                        (f"plan.{host}.",) if asked == "offer" else (f"reached.{host}.", f"end.{host}.")
                    ):
                        super().put(each.replace(recorded, run), data.replace(recorded.encode(), run.encode()))
                for number, (subject, data) in enumerate(messages if asked == "go" else ()):
                    if subject.startswith(f"report.{host}."):
                        data = data.replace(recorded.encode(), run.encode())
                        self.publish(subject.replace(recorded, run), data, str(number))

    class Board(MemoryBoard):
        async def __aenter__(self):
            for key, data in entries.items():
                if not is_new or key.startswith(("lease.", "host.", "log.")):
                    server.put(key, data)
            for number, (subject, data) in enumerate(messages):
                if not is_new or subject.startswith("event."):
                    server.publish(subject, data, str(number))
            return self

    server = Server()
    own = credentials.Credentials(
        name="op", role=credentials.OPERATOR, seed="", authority="", operators=(), since=0.0, signs=seed
    )
    credentials.read = lambda path: own
    nats_board.NatsBoard = lambda *_, **__: Board(server, None)
    patience = [threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)) for seconds in (3, 5)]
    for timer in patience:
        timer.daemon = True
        timer.start()
    connection = ("--creds", "creds", "--nats", "tls://x")
    sys.argv = ["asyncstate", *words, *connection]
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    return OK if code == INTERRUPTED else code


def _bytes(name: str) -> bytes:
    return Path(name).read_bytes()


def accepted(name: str, *words: str) -> int:
    """Require that nothing is refused."""
    if code := globals()[name](*words):
        raise AssertionError(f"{name}: {code}")
    return OK
