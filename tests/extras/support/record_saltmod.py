"""Record the rows of Salt's orchestration states: ``python tests/extras/support/record_saltmod.py`` where salt is installed.

The calls are made with a faked ``saltutil.cmd`` and ``saltutil.runner``. tests/recorded/saltmod_rows.json has for each
case what was called, what the fakes answered and were asked, and the row.
"""

import copy
import json
from pathlib import Path

import salt.utils.event
import salt.utils.state
from salt.states import saltmod

RECORDED = Path(__file__).parents[2] / "recorded" / "saltmod_rows.json"


def rows(result, changes=None):
    return {
        "a_|-x_|-x_|-nop": {"result": result, "changes": changes or {}, "comment": "c", "name": "x", "__run_num__": 0}
    }


def of_states(ret, retcode=0):
    return {"ret": ret, "retcode": retcode, "out": "highstate", "jid": "1"}


SAME, CHANGED, BAD, DRY = (
    of_states(rows(True)),
    of_states(rows(True, {"k": "v"})),
    of_states(rows(False), 2),
    of_states(rows(None, {"k": 1})),
)
GONE = {"ret": "Minion did not return. [No response]", "failed": True, "out": "highstate"}
ERRORS = of_states(["Rendering SLS 'base:x' failed", "and more"], 1)
STATES = [
    *(
        {"answers": answers, "test": test}
        for test in (False, True)
        for answers in (
            {"a": SAME},
            {"a": CHANGED, "b": SAME},
            {"a": CHANGED, "b": CHANGED},
            {"a": BAD, "b": SAME},
            {"a": BAD, "b": CHANGED},
            {"a": DRY, "b": SAME},
            {"a": DRY, "b": BAD},
            {"a": GONE, "b": SAME},
            {"a": {"failed": True, "ret": ""}},
            {"a": SAME, "b": {"failed": True}},
            {"a": ERRORS},
            {"a": of_states([], 1)},
            {"a": {"ret": "'state.sls' is not available.", "retcode": 254}},
            {"a": of_states({}, 1)},
            {},
        )
    ),
    *({"answers": {"a": BAD, "b": CHANGED}, "kwargs": {"fail_minions": each}} for each in ("b", "a", ["a"], "b, a", 3)),
    *({"answers": {"a": BAD, "b": BAD, "c": SAME}, "kwargs": {"allow_fail": each}} for each in (2, 3)),
    {"answers": {"a": BAD}, "kwargs": {"allow_fail": "x"}},
    {"answers": {"a": BAD}, "kwargs": {"sls": None}},
    {"answers": {"a": BAD}, "kwargs": {"concurrent": "x"}},
    {"answers": {"a": SAME}, "kwargs": {"sls": None, "highstate": True}},
    {"answers": {"a": SAME}, "kwargs": {"sls": None, "top": "t.sls"}},
    {"answers": {"a": SAME}, "kwargs": {"highstate": True}},
    {"answers": {"a": CHANGED}, "kwargs": {"test": True}},
    {"answers": {"a": SAME}, "test": True, "kwargs": {"test": False}},
    {"answers": {}, "kwargs": {"expect_minions": False}},
    {
        "answers": {"a": SAME},
        "kwargs": {
            "tgt": "a,b", "tgt_type": "list", "sls": ["x", "y"], "pillar": {"a": 1}, "saltenv": "dev", "pillarenv": "p",
            "exclude": ["z"], "expect_minions": False, "concurrent": True, "timeout": 5, "batch": 2, "queue": True,
            "subset": 3, "failhard": True,
        },
    },
]  # fmt: skip
FUNCTIONS = [
    *(
        {"answers": answers, "test": test}
        for test in (False, True)
        for answers in (
            {"a": {"ret": True, "retcode": 0, "jid": "1"}},
            {"a": {"ret": 1, "retcode": 0}, "b": {"ret": "x", "retcode": 0}},
            {"a": {"ret": "x", "retcode": 1}, "b": {"ret": "y", "retcode": 0}},
            {"a": {"ret": False, "retcode": 0}},
            {"a": GONE, "b": {"ret": True}},
            {"a": {"failed": True}, "b": {"ret": True}},
            {},
        )
    ),
    {"answers": {"a": {"ret": 1}, "b": {"ret": 2}}, "kwargs": {"fail_function": "own.accepts"}},
    {"answers": {"a": {"ret": 1, "retcode": 1}, "b": {"ret": 2}}, "kwargs": {"fail_minions": "a"}},
    *({"answers": {"a": {"ret": False}, "b": {"ret": 2}}, "kwargs": {"fail_minions": each}} for each in ("a", ["b"], 3)),
    {"answers": {"a": {"ret": 1}}, "kwargs": {"arg": "x y"}},
    {"answers": {"a": {"ret": 1}}, "kwargs": {"arg": [1, "x"], "kwarg": {"k": 1}, "timeout": 3, "batch": "10%"}},
]  # fmt: skip
WAITS = [
    {"events": [["t/1", {"id": "a"}], ["t/2", {"id": "b"}]], "kwargs": {"id_list": ["a", "b"]}},
    {"events": [["u/1", {"id": "a"}], ["t/1", {"id": "c"}]], "kwargs": {"id_list": ["a"]}},
    {"events": [["t/1", {"id": "b"}], ["t/1", {"id": "b"}]], "kwargs": {"id_list": ["a", "b"]}},
    {"events": [["t/1", {"id": "c", "data": {"h": "a"}}]], "kwargs": {"id_list": ["a"], "event_id": "h"}},
    {"events": [["t/1", {"id": "c", "data": {"h": ["b", "a", "x"]}}]], "kwargs": {"id_list": ["a", "b"], "event_id": "h"}},
    {"events": [], "kwargs": {"id_list": ["a"]}, "test": True},
]  # fmt: skip
_ORCHESTRATED = {"data": {"m_master": rows(True, {"k": "v"})}, "outputter": "highstate", "retcode": 0}
RUNNERS = [
    {"answers": [{"return": each, "success": True}], "test": test}
    for test in (False, True)
    for each in ({"x": 1}, None, _ORCHESTRATED)
]
RUNNERS.append({"answers": [{"return": "words", "success": False}]})
PARALLEL = [
    {"answers": [{"return": {"x": 1}, "success": True}] * 2},
    {"answers": [{"return": _ORCHESTRATED, "success": True}] * 2},
    {"answers": [{"return": _ORCHESTRATED, "success": True}], "kwargs": {"runners": {"manage.up": None}}},
    {"answers": [{"return": {"x": 1}, "success": True}], "kwargs": {"runners": [1]}},
    {"answers": [{"return": {"x": 1}, "success": True}], "kwargs": {"runners": "manage.up"}},
    {"answers": [], "kwargs": {"runners": {}}},
]  # fmt: skip
DEFAULTS = {
    "state": {"tgt": "*", "sls": "web"},
    "function": {"tgt": "*"},
    "wait_for_event": {"timeout": 0.5},
    "runner": {"foo": 1},
    "parallel_runners": {"runners": {"one": [{"name": "manage.up"}], "two": [{"name": "test.arg"}, {"kwarg": {"k": 1}}]}},
}  # fmt: skip
NAMES = {"wait_for_event": "t/*", "runner": "manage.up", "function": "test.fun"}


class Events:
    def __init__(self, events):
        self.events = [{"tag": tag, "data": data} for tag, data in events]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def get_event(self, **_):
        return self.events.pop(0) if self.events else None


def recorded(function, case):
    sent = []
    answers = copy.deepcopy(case.get("answers"))

    def cmd(tgt, fun, **asked):
        sent.append({"tgt": tgt, "fun": fun, **asked})
        return copy.deepcopy(answers)

    def runner(name, **asked):
        kept = {key: value for key, value in asked.items() if not key.startswith("__") and key != "full_return"}
        sent.append({"name": name, **kept})
        return copy.deepcopy(answers[0])

    saltmod.__salt__ = {"saltutil.cmd": cmd, "saltutil.runner": runner, "own.accepts": lambda ret: ret == 1}
    saltmod.__opts__ = {
        "test": case.get("test", False),
        "id": "m",
        "__role": "master",
        "file_client": "local",
        "sock_dir": "",
    }
    saltmod.__env__ = "base"
    saltmod.__utils__ = {"state.check_result": salt.utils.state.check_result}
    salt.utils.event.get_event = lambda *_, **__: Events(case.get("events", []))
    kwargs = {"name": NAMES.get(function, "nm"), **DEFAULTS[function], **case.get("kwargs", {})}
    row = getattr(saltmod, function)(**copy.deepcopy(kwargs))
    return {**case, "function": function, "kwargs": kwargs, "row": row, "sent": sent}


if __name__ == "__main__":
    cases = {
        "state": STATES,
        "function": FUNCTIONS,
        "wait_for_event": WAITS,
        "runner": RUNNERS,
        "parallel_runners": PARALLEL,
    }
    found = [recorded(function, case) for function, listed in cases.items() for case in listed]
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")
