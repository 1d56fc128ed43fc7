"""The ``salt`` states: the steps of an orchestration, which run on the hosts of a fleet.

They work in ``asyncstate fleet orchestrate``, as Salt's do in ``salt-run state.orchestrate``; elsewhere they fail and
say so. Steps run in the order of the file; later ones do not wait for a step with ``parallel: True``. Returners
(``ret`` …) belong to a Salt master and are ignored: what hosts answer is in the row.
"""

from __future__ import annotations

import logging
import time
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import anyio

from asyncstate.dunders import Row, __opts__, __salt__, failed, is_dry_run, make_row, runtime_services, would_change
from asyncstate.errors import AsyncStateError, CommandExecutionError, FleetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

log = logging.getLogger(__name__)

_SSH = (
    "asyncstate has no agentless hosts in an orchestration: leave out 'ssh', and enrol the host in the fleet, or use "
    "`asyncstate fleet apply --ssh`"
)
_WHEEL = (
    "Wheel function '{}' works on a Salt master, and a fleet has none: hosts come and go with `asyncstate fleet enroll`"
    " and `asyncstate fleet revoke`"
)
_NO_LIST = "'fail_minions' needs to be a list or a comma separated string. Ignored."


async def state(
    name: str,
    tgt: Any,
    ssh: bool = False,
    tgt_type: str = "glob",
    ret: Any = "",
    ret_config: Any = None,
    ret_kwargs: Any = None,
    highstate: bool | None = None,
    sls: str | list[str] | None = None,
    top: str | None = None,
    saltenv: str | None = None,
    test: bool | None = None,
    pillar: Mapping[str, Any] | None = None,
    pillarenv: str | None = None,
    expect_minions: bool = True,
    exclude: Any = None,
    fail_minions: Any = None,
    allow_fail: int = 0,
    concurrent: bool = False,
    timeout: float | None = None,  # noqa: ASYNC109 - Salt's name: the seconds that a host has to answer
    batch: int | str | None = None,
    queue: Any = False,
    subset: int | None = None,
    orchestration_jid: str | None = None,
    failhard: bool | None = None,
    **kwargs: Any,
) -> Row:
    """Apply ``sls``, the ``highstate`` or another ``top`` file on the hosts that fit ``tgt``: one run across them.

    The changes have the rows of the hosts that changed or failed. ``fail_minions`` are hosts that may fail, and
    ``allow_fail`` is how many others may. ``batch`` (a number or a percentage) is how many hosts are under way at once,
    ``subset`` how many take part at all.
    """
    tolerated, warnings = _names(fail_minions)
    mistake = _mistake_in_state(ssh, allow_fail, concurrent, top or sls or highstate)
    if mistake:
        return failed(name, mistake)
    words, fun = (
        ([], "state.highstate") if highstate else ([top], "state.top") if top else ([_joined(sls)], "state.sls")
    )
    test = test if test is not None else is_dry_run() or None
    given = {"test": test, "pillar": pillar or None, "pillarenv": pillarenv, "saltenv": saltenv, "exclude": exclude}
    asked = {key: value for key, value in given.items() if value is not None}
    try:
        answers = await _command(
            tgt,
            fun,
            arg=words,
            kwarg={**asked, "queue": queue, "concurrent": concurrent},
            tgt_type=tgt_type,
            expect_minions=expect_minions,
            timeout=timeout,
            batch=batch,
            subset=subset,
            failhard=failhard,
            ret=ret,
        )
    except (CommandExecutionError, FleetError) as error:
        return failed(name, str(error))
    if not answers and expect_minions:
        return failed(name, "No minions returned")
    row = _row_of_states(name, answers, tolerated, allow_fail)
    if (test or is_dry_run()) and row["changes"] and row["result"]:
        row["result"] = None
    return row | _jid(answers) | warnings


async def function(
    name: str,
    tgt: Any,
    ssh: bool = False,
    tgt_type: str = "glob",
    ret: Any = "",
    ret_config: Any = None,
    ret_kwargs: Any = None,
    expect_minions: bool = False,
    fail_minions: Any = None,
    fail_function: str | None = None,
    arg: Any = None,
    kwarg: Mapping[str, Any] | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - as in `state`
    batch: int | str | None = None,
    subset: int | None = None,
    failhard: bool | None = None,
    **kwargs: Any,
) -> Row:
    """Call the execution function ``name`` on the hosts that fit ``tgt``; the changes have what it returns on each.

    A host has failed on which the function fails or returns False, or whose answer ``fail_function`` (an execution
    function of this program's) does not accept.
    """
    if ssh:
        return failed(name, _SSH)
    if is_dry_run():
        return would_change(name, f"Function {name} would be executed on target {tgt}")
    tolerated, warnings = _names(fail_minions)
    if isinstance(arg, str):
        arg = arg.split()
        warnings = {"warnings": ["Please specify 'arg' as a list of arguments.", *warnings.get("warnings", [])]}
    try:
        answers = await _command(
            tgt,
            name,
            arg=list(arg or ()),
            kwarg=dict(kwarg or {}),
            tgt_type=tgt_type,
            expect_minions=expect_minions,
            timeout=timeout,
            batch=batch,
            subset=subset,
            failhard=failhard,
            ret=ret,
        )
        accepted = {host: await _is_accepted(answer, fail_function) for host, answer in answers.items()}
    except (CommandExecutionError, FleetError) as error:
        return failed(name, str(error)) | warnings
    if not answers:
        return failed(name, "No minions responded") | warnings
    bad = [
        host
        for host, answer in answers.items()
        if answer.get("retcode") or (not accepted[host] and host not in tolerated)
    ]
    said = f"Running function {name} failed on minions: {', '.join(bad)}" if bad else "Function ran successfully."
    comment = f"{said} Function {name} ran on {', '.join(answers)}."
    changes = {"ret": {host: not answer.get("failed") and answer["ret"] for host, answer in answers.items()}}
    return make_row(name, comment, changes, result=not bad) | _jid(answers) | warnings


async def wait_for_event(
    name: str,
    id_list: list[Any],
    event_id: str = "id",
    timeout: float = 300,  # noqa: ASYNC109 - Salt's name
    node: str = "master",
) -> Row:
    """Wait for events whose tag fits the glob ``name``, until one has come for each entry of ``id_list``.

    ``event_id`` is the field of an event that must be such an entry: ``id``, the host that fired it, or a field of its
    data. Events that came before this state began do not count.
    """
    if is_dry_run():
        return would_change(name, f"Orchestration would wait for event '{name}'")
    if isinstance(id_list, str):
        id_list = [id_list]
    if not isinstance(id_list, list):
        return failed(name, f"'id_list' must be a list of what is waited for, and is {id_list!r}")
    if node != "master":
        return failed(name, f"'node' must be 'master', and is {node!r}: events come from the hosts of the fleet")
    missing, seen = list(id_list), list[Any]()
    begun = time.monotonic()
    try:
        with anyio.move_on_after(timeout):
            await _see(name, missing, seen, event_id)
    except (CommandExecutionError, FleetError) as error:
        return failed(name, str(error))
    changes = {"minions_seen": seen} if seen else {}
    if missing:
        return failed(name, "Timeout value reached.", changes)
    return make_row(name, f"All events seen in {time.monotonic() - begun} seconds.", changes, result=True)


async def runner(name: str, **kwargs: Any) -> Row:
    """Call a runner, such as ``state.orchestrate`` or ``manage.up``, with these keywords.

    ``arg`` has what it gets by place, ``kwarg`` further keywords, as the other ``**kwargs`` are.
    """
    arg, kwarg = kwargs.pop("arg", None), kwargs.pop("kwarg", None)
    if is_dry_run():
        return would_change(name, f"Runner function '{name}' would be executed.")
    try:
        out = await __salt__["saltutil.runner"](
            name, arg=list(arg or ()), kwarg={**kwargs, **(kwarg or {})}, full_return=True
        )
    except (CommandExecutionError, FleetError) as error:
        return failed(name, str(error))
    said = f"Runner function '{name}' {'executed' if out['success'] else 'failed'}."
    return make_row(name, said, {"return": out["return"]}, result=out["success"])


async def parallel_runners(name: str, runners: Any, **kwargs: Any) -> Row:
    """Call several runners at the same time: ``runners`` has the ``name`` and the ``kwarg`` of each by an ID."""
    if isinstance(runners, str):
        runners = {runners: {}}
    if not isinstance(runners, dict):
        return failed(name, "The runners parameter must be a string or dict.")
    wrong = [text for key, given in runners.items() for text in _wrong_in_runner(key, given)]
    if wrong:
        return failed(name, "\n".join(wrong))
    calls = {str(key): {"name": str(key), **_merged(given)} for key, given in runners.items()}
    if is_dry_run():
        return would_change(name, f"Runner functions would be executed: {', '.join(calls)}.")
    outputs: dict[str, dict[str, Any]] = {}

    async def call(key: str, arg: Any, kwarg: Any) -> None:
        outputs[key] = await __salt__["saltutil.runner"](
            str(calls[key]["name"]), arg=list(arg or ()), kwarg=dict(kwarg or {}), full_return=True
        )

    try:
        async with anyio.create_task_group() as group:
            for key, given in calls.items():
                group.start_soon(call, key, given.get("arg"), given.get("kwarg"))
    except* (CommandExecutionError, FleetError) as errors:
        wrong += _texts(errors)
    if wrong:
        return failed(name, f"One of the runners raised an exception: {wrong[0]}")
    bad = [key for key in calls if not outputs[key]["success"]]
    said = (
        f"Runner{'s' * (len(bad) > 1)} {', '.join(bad)} failed."
        if bad
        else "All runner functions executed successfully."
    )
    return make_row(name, said, _changes_of_runners({key: outputs[key]["return"] for key in calls}), result=not bad)


def wheel(name: str, **kwargs: Any) -> Row:
    """Fail, and say why: wheel functions work on a Salt master. They would get the ``**kwargs``."""
    return failed(name, _WHEEL.format(name))


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return an empty footprint: a step of an orchestration touches other hosts, and nothing here."""
    return {"reads": [], "writes": []}


async def _command(
    tgt: Any, fun: str, *, ret: Any, failhard: bool | None, batch: Any, **options: Any
) -> dict[str, Any]:
    if ret:
        log.warning("There are no returners: 'ret: %s' of %s is ignored", ret, fun)
    answers: dict[str, Any] = await __salt__["saltutil.cmd"](
        tgt,
        fun,
        batch=None if batch is None else str(batch),
        failhard=failhard is True or bool(__opts__.get("failhard")),
        **options,
    )
    return answers


def _mistake_in_state(ssh: bool, allow_fail: Any, concurrent: Any, selected: Any) -> str:
    if not isinstance(allow_fail, int):
        return "Passed invalid value for 'allow_fail', must be an int"
    if not selected:
        return "No highstate or sls specified, no execution made"
    if not isinstance(concurrent, bool):
        return "Must pass in boolean for value of 'concurrent'"
    return _SSH if ssh else ""


def _joined(sls: Any) -> str:
    return ",".join(map(str, sls)) if isinstance(sls, list) else str(sls)


def _names(hosts: Any) -> tuple[list[str], dict[str, list[str]]]:
    """Return hosts given as a list or a text, and a warning about anything else."""
    if hosts is None or isinstance(hosts, list):
        return list(hosts or ()), {}
    return (
        ([host.strip() for host in hosts.split(",")], {}) if isinstance(hosts, str) else ([], {"warnings": [_NO_LIST]})
    )


def _jid(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    first = next(iter(answers.values()), {})
    return {"__jid__": first["jid"]} if "jid" in first else {}


def _row_of_states(name: str, answers: Mapping[str, Mapping[str, Any]], tolerated: list[str], allow_fail: int) -> Row:
    changes: dict[str, Any] = {}
    bad: dict[str, str] = {}
    same: list[str] = []
    for host, answer in answers.items():
        given = answer.get("ret")
        if answer.get("failed") or not _has_succeeded(given, answer.get("retcode")):
            changes[host] = not answer.get("failed") and given
            if host not in tolerated:
                bad[host] = _detail(host, answer)
        elif any(isinstance(each, dict) and each.get("changes") for each in answer["ret"].values()):
            changes[host] = given
        else:
            same.append(host)
    if len(bad) > allow_fail:
        comment = "\n".join(
            [f"Run failed on minions: {', '.join(sorted(bad))}", *filter(None, map(bad.get, sorted(bad)))]
        )
    else:
        comment = "States ran successfully."
        comment += f" Updating {', '.join(changes)}." if changes else ""
        comment += f" No changes made to {', '.join(sorted(same))}." if same else ""
    told = {"out": "highstate", "ret": changes} if changes else {}
    return make_row(name, comment, told, result=len(bad) <= allow_fail)


def _has_succeeded(rows: Any, status: Any) -> bool:
    """Return whether the rows of a host mean success; handled failures do not count (status 0)."""
    if not isinstance(rows, dict) or not rows:
        return False
    return status == 0 or not any(isinstance(each, dict) and each.get("result") is False for each in rows.values())


def _detail(host: str, answer: Mapping[str, Any]) -> str:
    if "ret" not in answer:
        return f"Minion {host} did not return a state result."
    given = answer["ret"]
    if isinstance(given, dict):
        return ""
    if isinstance(given, (list, tuple)):
        said = [str(each) for each in given if each]
        return (
            f"Minion {host} returned errors: {'; '.join(said)}"
            if said
            else f"Minion {host} returned an empty error list."
        )
    return f"Minion {host} returned {given!r} instead of a state result."


async def _is_accepted(answer: Mapping[str, Any], fail_function: str | None) -> bool:
    if answer.get("failed") or answer["ret"] is False:
        return False
    return not fail_function or bool(await __salt__[fail_function](answer["ret"]))


async def _see(glob: str, missing: list[Any], seen: list[Any], field: str) -> None:
    """Wait for events until nothing is missing, and move arrived entries out of the missing ones."""
    async with runtime_services().orchestra().events() as events:
        while missing:
            event = await anext(events)
            if not fnmatch(event["tag"], glob):
                continue
            data = event["data"]
            value = data.get(field)
            if value is None:
                value = data["data"].get(field)
            values = value if isinstance(value, list) else [value]
            for each in [each for each in list(missing) if each in values]:
                missing.remove(each)
                seen.append(each)


def _wrong_in_runner(key: Any, given: Any) -> Iterator[str]:
    """Yield the mistakes in the settings of one runner."""
    if given is not None and not isinstance(given, (dict, list)):
        yield f"The settings of runner {key} must be a dict or a list of dicts, not {given!r}."
        return
    settings = _merged(given)
    for word, kind in (("arg", list), ("kwarg", dict)):
        if settings.get(word) is not None and not isinstance(settings[word], kind):
            yield f"'{word}' of runner {key} must be a {kind.__name__}, not {settings[word]!r}."


def _merged(given: Any) -> dict[str, Any]:
    """Return the settings of one runner, given as a dict or as a list of dicts."""
    if isinstance(given, dict):
        return given
    return {key: value for each in given or () if isinstance(each, dict) for key, value in each.items()}


def _changes_of_runners(outputs: Mapping[str, Any]) -> dict[str, Any]:
    if not all(
        isinstance(out, dict) and out.get("outputter") == "highstate" and "data" in out for out in outputs.values()
    ):
        return {"ret": dict(outputs)}
    changes = {key: _changes_within(out["data"]) for key, out in outputs.items()}
    return {key: each for key, each in changes.items() if each}


def _changes_within(data: Any) -> Any:
    """Return the changes of the rows in nested orchestrations, by host and tag."""
    if not isinstance(data, dict):
        return {}
    if "changes" not in data:
        found = {key: _changes_within(value) for key, value in data.items()}
        return {key: each for key, each in found.items() if each}
    changes = data["changes"]
    nested = isinstance(changes, dict) and changes.get("out") == "highstate" and "ret" in changes
    return changes["ret"] if nested else changes


def _texts(errors: BaseExceptionGroup[AsyncStateError]) -> Iterable[str]:
    for error in errors.exceptions:
        yield from _texts(error) if isinstance(error, BaseExceptionGroup) else [str(error)]
