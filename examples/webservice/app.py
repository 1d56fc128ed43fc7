"""A web service that applies states on request and streams what happens to its client, event by event.

    POST /apply   {"sls": ["site"], "pillar": {…}, "test": false}   the run's events: JSON lines or server-sent events
    POST /plan    the same body                                     what would be run, in serial order

Start it with ``python app.py --port 8080``, then see README.md beside this file for what to ask it.
"""

import argparse
import asyncio
import json
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from asyncstate import AsyncStateError, CompileError, LockHeld, Settings, StateRuntime
from asyncstate.events import encode_event

HERE = Path(__file__).parent
STATES = web.AppKey("states", str)
BUSY = web.AppKey("busy", asyncio.Lock)


async def apply(request):
    """Compile and take the lock first, so that what is in the way is an ordinary answer; then stream the run."""
    order = await read_order(request)
    async with request.app[BUSY], StateRuntime(settings(request.app, order)) as runtime:
        compiled = await runtime.compile(order["sls"])
        async with runtime.run(compiled, concurrency=16) as run:
            stream, write = await open_stream(request)  # from here on the lock is held: the run can be promised
            async for event in run:
                await write(event)
    await stream.write_eof()
    return stream


async def plan(request):
    """Say what would run. Any number of these may be answered at once."""
    order = await read_order(request)
    async with StateRuntime(settings(request.app, order)) as runtime:
        compiled = await runtime.compile(order["sls"])
    states = [{"tag": chunk.tag, "sls": chunk.sls, "line": chunk.line} for chunk in compiled.chunks]
    return web.json_response({"digest": compiled.digest, "states": states})


def settings(app, order):
    """One runtime a request: its pillar and its test mode are its own, whatever runs beside it."""
    return Settings(
        file_roots={"base": [app[STATES]]},
        pillar=order.get("pillar", {}),
        test=order.get("test", False),
    )


async def read_order(request):
    try:
        order = await request.json()
    except json.JSONDecodeError as error:
        raise refusal(web.HTTPBadRequest, f"The body is no JSON: {error}") from error
    if not isinstance(order, dict) or not isinstance(order.get("sls"), list):
        raise refusal(web.HTTPBadRequest, 'The body must be an object with a list "sls"')
    return order


def refusal(kind, message):
    return kind(text=json.dumps({"issues": [{"message": message}]}), content_type="application/json")


@web.middleware
async def explain(request, handler):
    """What is wrong with a tree or a setting goes to the client, every mistake with its file and line."""
    try:
        return await handler(request)
    except CompileError as error:
        issues = [issue._asdict() for issue in error.issues]
    except LockHeld as error:
        return web.json_response({"issues": [{"message": str(error)}]}, status=409)
    except AsyncStateError as error:
        issues = [{"message": str(error)}]
    return web.json_response({"issues": issues}, status=422)


async def open_stream(request):
    """Start the answer in the form the client asked for. Events are msgspec structs: encoding one gives its line."""
    if "text/event-stream" in request.headers.get("Accept", ""):
        content_type, before, after = "text/event-stream", b"data: ", b"\n\n"
    else:
        content_type, before, after = "application/x-ndjson", b"", b"\n"
    stream = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-store"})
    await stream.prepare(request)

    async def write(event):
        with suppress(ConnectionResetError):  # a client that goes away does not end a run half-way
            await stream.write(before + encode_event(event) + after)

    return stream, write


def build(states=HERE / "states"):
    """The application, for a server or for a test. ``states`` is the file root the requests choose from."""
    app = web.Application(middlewares=[explain])
    app[STATES] = str(states)
    app[BUSY] = asyncio.Lock()
    app.add_routes([web.post("/apply", apply), web.post("/plan", plan)])
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Apply states on request, and stream what happens.")
    parser.add_argument("--host", default="127.0.0.1", help="the service has no login: keep it where only you reach it")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--states", type=Path, default=HERE / "states", help="the tree to choose from")
    arguments = parser.parse_args()
    web.run_app(build(arguments.states), host=arguments.host, port=arguments.port)
