"""The program in a room: compiles a tree and runs it at one slot. It reads a `Job` and writes an `Answer`.

It uses asyncio's loop, as the command line does.
"""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from asyncstate.config import Settings
from asyncstate.errors import AsyncStateError, CompileError
from asyncstate.extras.proof.shake.in_process import ended_early
from asyncstate.extras.proof.shake.job import Answer, Job
from asyncstate.model.encode import encoded, plain
from asyncstate.runtime import StateRuntime


def main() -> None:
    """Do the job on standard input; standard output has only the answer."""
    answer = os.dup(1)
    os.dup2(2, 1)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    with os.fdopen(answer, "wb") as stream:
        stream.write(encoded(plain(asyncio.run(_done(job)))))


async def _done(job: Job) -> Answer:
    try:
        settings = msgspec.convert(job.settings, Settings)
        async with StateRuntime(settings) as runtime:
            plan = await runtime.compile(job.sls, saltenv=job.saltenv, exclude=job.exclude, ids=job.ids)
            async with runtime.run(
                plan, concurrency=1, priority=job.priority, prefetch=0, events=False, lock=False
            ) as run:
                pass
            answer = Answer(run.report.repeatable_rows, ended_early(run.report), plan.digest)
            if job.wants_plan:
                answer.plan = encoded(runtime.record(plan, make_key=False)).decode()
                answer.unknown = runtime.shown(plan).unknown
            return answer
    except CompileError as error:
        return Answer(issues=[(issue.message, issue.file, issue.line) for issue in error.issues])
    except AsyncStateError as error:
        return Answer(issues=[(str(error), "", 0)])
