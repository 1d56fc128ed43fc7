"""A program whose other side lies, for cases of `fuzz_process`: one that borrows from a worker of Salt.

What the other side says is in files of the case. A refusal is the end that a case may have; `OK` says that none was.
"""

from __future__ import annotations

import os
import sys
import threading

REFUSED, OK = 1, 0


def borrower(kind: str, *calls: str) -> int:
    """Describe a module of Salt and call its functions; the worker says ``answers``."""
    from asyncstate.dunders.context import CallContext, SharedContext, current
    from asyncstate.errors import AsyncStateError, RaisedElsewhere
    from asyncstate.extras.borrow.finding import SaltPython
    from asyncstate.extras.borrow.workers import SaltWorkers
    from asyncstate.load.borrowed import BorrowedModules

    # What reads the requests beside keeps the worker's end of its pipe open: no answer is lost by a broken pipe.
    words = "exec 3<&0; cat <&3 >/dev/null 2>&1 & cat answers"
    python = SaltPython(("/bin/sh", "-c", words), "3008", "", {kind: [os.path.abspath("salt")]})
    workers = SaltWorkers(sys.executable, dict, dict)
    workers._found = python
    empty = {name: {} for name in ("opts", "grains", "pillar", "salt", "states", "utils")}
    lowstate = [{"name": "a"}, {"name": "b"}]
    current.set(
        CallContext(context=SharedContext(threading.RLock()), running={}, lowstate=lowstate, low={"name": "n"}, **empty)
    )
    code = OK
    try:
        module = BorrowedModules(kind, lambda: workers).module("x")
        if module is None:
            return REFUSED
        for name in calls:
            try:
                function = module.functions[name].func
                function({"name": "n"}, [{"name": "n"}]) if name == "mod_aggregate" else function("n")
            except (AsyncStateError, RaisedElsewhere, KeyError) as error:
                if isinstance(error, KeyError) and name in module.functions:
                    raise
                code = REFUSED
    finally:
        workers.close()
    return code


def accepted(name: str, *words: str) -> int:
    """Require that nothing is refused."""
    if code := globals()[name](*words):
        raise AssertionError(f"{name}: {code}")
    return OK
