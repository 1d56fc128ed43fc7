"""Every wait has a bound, or is listed here with the proof that it ends."""

from __future__ import annotations

import ast

from import_graph import parsed

WITHOUT_BOUND = {"wait", "join", "acquire", "communicate"}
"""Methods that wait for ever if they are called without arguments."""
FOR_A_RESULT = {"result", "recv", "recv_into", "recvfrom", "recvmsg"}
"""Methods that wait for what another thread or process gives. Sockets have their time limit elsewhere."""
UNLESS = {
    ("os", "wait"): "WNOHANG",
    ("os", "waitpid"): "WNOHANG",
    ("os", "waitid"): "WNOHANG",
    ("fcntl", "flock"): "LOCK_NB|LOCK_UN",
    ("fcntl", "lockf"): "LOCK_NB|LOCK_UN",
    ("asyncio", "wait"): "timeout",
    ("reaper", "wait"): "timeout",
}
"""Functions that wait for ever unless a word is among their arguments."""
CANCELLED = "ends with its task, which the end of the run or of the connection cancels"
REAPER = "the reaper gives a lineage up 12 seconds after it was asked to end it"
LOCKED_HERE = "a new file, which nobody else has locked"
PLUGIN = "a plugin that never returns, which --timeout and signals cut off"

REASONS = {
    "asyncstate/data/kernel_network.py addresses": "the socket has a time limit",
    "asyncstate/extras/fleet/controller/controller.py Controller._wait": "within move_on_after",
    "asyncstate/extras/fleet/host/agent.py Agent.unless_running": "each run tells of its end, and has a deadline",
    "asyncstate/extras/fleet/host/mailbox.py Mailbox.entries": CANCELLED,
    "asyncstate/extras/fleet/host/member.py Member._wait_for_go.give_up": CANCELLED,
    "asyncstate/extras/fleet/host/peers.py Peers.outcomes": CANCELLED,
    "asyncstate/extras/fleet/host/peers.py Peers.send": CANCELLED,
    "asyncstate/extras/fleet/host/reporter.py Reporter.send": CANCELLED,
    "asyncstate/extras/fleet/local_board.py LocalBoard.messages": CANCELLED,
    "asyncstate/extras/fleet/local_board.py LocalBoard.watch": CANCELLED,
    "asyncstate/extras/fleet/local_board.py _Reader.wait": CANCELLED,
    "asyncstate/extras/fleet/logbook.py Logbook._more": CANCELLED,
    "asyncstate/extras/fleet/nats/connection.py Connection._wait_for_server": "the future is done; the wait ends with the task",
    "asyncstate/extras/fleet/orchestration/host_queue.py HostQueue.turn": "a turn ends with its step, which has the time limit of the run",
    "asyncstate/extras/fleet/ssh/operator_side.py OperatorSide._take": "each answer gives its place back; ends with the connection",
    "asyncstate/extras/fleet/ssh/loader.py Loader.outlive": "its purpose: it ends with the runner, and passes signals on to it",
    "asyncstate/extras/fleet/ssh/runner.py _serve": "ends with the connection",
    "asyncstate/extras/fleet/ssh/session.py Session.__aenter__": "each host gets ready or fails within the limits of its connection",
    "asyncstate/extras/fleet/ssh/session.py Session._end_with_run": CANCELLED,
    "asyncstate/extras/fleet/ssh/stream_board.py StreamBoard.watch": CANCELLED,
    "asyncstate/extras/fleet/ssh/tree.py StreamFiles._fetch": "the channel fails all questions when it ends",
    "asyncstate/extras/fleet/ssh/tree.py StreamFiles._of": "the channel fails all questions when it ends",
    "asyncstate/extras/fleet/ssh/tree.py StreamTree.pillar": "the channel fails all questions when it ends",
    "asyncstate/journal/log.py RunLog._end_syncing": "the thread has been told to end, and ends after a sync of the disk",
    "asyncstate/journal/log.py RunLog._keep_synced": "a daemon; `_end_syncing` wakes it",
    "asyncstate/residue.py locked_file": LOCKED_HERE,
    "asyncstate/load/bridge.py _block_on": "a cancelled call cancels it; a loop that ends does, too",
    "asyncstate/load/bridge.py _run_alone": PLUGIN,
    "asyncstate/load/imports.py plugin_lock": PLUGIN,
    "asyncstate/load/threads.py _Worker._take_calls": "a daemon; it has a call, or is about to get one",
    "asyncstate/extras/editor/compiler.py Compiler.wait": REAPER,
    "asyncstate/extras/editor/server.py Server.file": CANCELLED,
    "asyncstate/extras/editor/server.py make_server._initialized": CANCELLED,
    "asyncstate/extras/editor/session.py Session.is_ready": "within a time limit",
    "asyncstate/process/child.py _Child._reap": "the process is a zombie by then",
    "asyncstate/process/child.py run_child": REAPER,
    "asyncstate/extras/proof/shake/container.py run_contained": "`Rooms` kills the namespace when its time is over",
    "asyncstate/process/descriptors.py spare_memory": "the thread does nothing",
    "asyncstate/extras/editor/compiler.py _ProgramTree.wait": REAPER,
    "asyncstate/process/ending.py Reaper.wait": REAPER,
    "asyncstate/extras/editor/fork.py Fork.kill": "the process was killed",
    "asyncstate/extras/editor/fork.py Fork.wait": "the process has closed its stream, or was killed",
    "asyncstate/extras/editor/compile_process.py _Standby._listen": "the process has closed its stream",
    "asyncstate/ahead/offers.py Offers._close": REAPER,
    "asyncstate/run/chunk/time_limit.py returned": "the end of the run cancels it, which comes when all else has ended",
    "asyncstate/run/handle.py Feed.__aiter__": "the end of the run closes the feed",
    "asyncstate/run/handle.py Run.wait": "the run ends",
    "asyncstate/guard/lock.py clear_cut_off": REAPER,
    "asyncstate/guard/lock.py end_residue": REAPER,
    "asyncstate/ahead/prefetcher.py Prefetcher._task_ended": "the task is done",
    "asyncstate/run/worker_pool.py WorkerPool._wait_for_work": "the end of any chunk, or of the run, wakes all",
    "asyncstate/run/worker_pool.py WorkerPool._work_off": "the end of the last chunk; a run in which nothing can run stalls",
    "asyncstate/run/worker_pool.py WorkerPool._take_back_slot": "whoever has a slot frees it: it ends, pauses or is overdue",
    "asyncstate/runtime.py StateRuntime.__aexit__": "the run is cancelled before",
    "asyncstate/extras/namespace/salt/utils/files.py flopen": "Salt's function, which waits for others' locks: "
    + PLUGIN,
    "asyncstate/extras/proof/shake/driver.py Driver._each": "the future is done",
    "asyncstate/extras/proof/shake/room.py _reap_all": "process 1 of a namespace; `Rooms` kills it when its time is over",
    "asyncstate/extras/proof/shake/rooms.py Rooms._in_namespaces": "the namespace was killed, and with it all that holds the pipe",
    "asyncstate/testing/__init__.py States._apply_tree.gate": "the state of another test run ends it",
    "asyncstate/testing/__init__.py States._run": "a test; it has the time limit of its runner",
    "asyncstate/testing/__init__.py States._run_tree": "a test; it has the time limit of its runner",
    "asyncstate/testing/__init__.py States.shake": "a test; it has the time limit of its runner",
}
"""File and function -> the bound, or who ends the wait."""


def waits(tree, around=""):
    """Yield the qualified name of the function around each call that may wait for ever."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and may_wait(node, node.func):
            yield around
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        yield from waits(node, f"{around}.{node.name}".lstrip(".") if named else around)


def may_wait(call, function):
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if (owner, function.attr) in UNLESS:
        words = ast.unparse(call).partition("(")[2]
        return not any(word in words for word in UNLESS[owner, function.attr].split("|"))
    if any(word.arg in ("timeout", "blocking") for word in call.keywords):
        return False
    if function.attr == "wait_for" and owner not in ("asyncio", "anyio"):
        return len(call.args) == 1
    return function.attr in FOR_A_RESULT or (function.attr in WITHOUT_BOUND and not call.args)


def test_every_wait_has_a_bound_or_a_reason(checkout):
    found = {
        f"{path.relative_to(checkout)} {around}"
        for folder in ("asyncstate", "states", "modules")
        for path in (checkout / folder).rglob("*.py")
        for around in waits(parsed(path))
    }
    assert sorted(found - REASONS.keys()) == [], "give it a bound, or say here who ends it"
    there = {each for each in REASONS if (checkout / each.split()[0]).exists()}  # extras may be absent
    assert sorted(there - found) == [], "this waits no more"


def test_waits_are_found():
    text = """
class Some:
    def end(self):
        self.thread.join()
        self.event.wait(3)
        ",".join(names)
async def come(future):
    await event.wait()
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.acquire(timeout=3)
    condition.wait_for(ready)
    await asyncio.wait(tasks, timeout=3)
"""
    assert list(waits(ast.parse(text))) == ["Some.end", "come", "come", "come"]
