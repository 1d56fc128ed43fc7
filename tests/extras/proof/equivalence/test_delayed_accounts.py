"""States of accounts, and of what belongs to them, in every order that the plan allows: in throw-away roots."""

from __future__ import annotations

import json

import pytest

from asyncstate import Settings
from asyncstate.extras.proof.shake.job import Job
from asyncstate.extras.proof.shake.orders import Orders
from asyncstate.extras.proof.shake.outcome import IGNORED
from asyncstate.extras.proof.shake.report import result_lines
from asyncstate.extras.proof.shake.rooms import Rooms, refusal
from asyncstate.extras.proof.shake.search import search

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjAw"
STATES = {
    "skeleton": {"file.managed": [{"name": "/etc/skel/.profile"}, {"contents": "of the skeleton"}, {"makedirs": True}]},
    "crew": {"group.present": [{"name": "crew"}, {"gid": 4711}]},
    "www": {"user.present": [{"name": "www"}, {"uid": 4712}, {"gid": "crew"}, {"createhome": True}]},
    "other": {"user.present": [{"name": "other"}, {"createhome": False}]},
    "owned": {"file.managed": [{"name": "/srv/owned"}, {"contents": "x"}, {"user": "www"}, {"group": "crew"}]},
    "folder": {"file.directory": [{"name": "/srv/folder"}, {"user": "www"}, {"mode": "0750"}]},
    "below": {"cmd.run": [{"name": "id > /srv/folder/who"}, {"runas": "www"}]},
    "key": {"ssh_auth.present": [{"name": KEY}, {"enc": "ssh-ed25519"}, {"user": "www"}]},
    "known": {"cmd.run": [{"name": "getent passwd www"}]},
    "home": {
        "file.managed": [{"name": "/home/www/.config/app"}, {"contents": "x"}, {"user": "www"}, {"makedirs": True}]
    },
    "numbered": {"file.managed": [{"name": "/srv/numbered"}, {"contents": "x"}, {"group": 4711}]},
    "gone": {"user.absent": [{"name": "other"}]},
}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("order", [list(STATES), list(STATES)[::-1]], ids=["as written", "backwards"])
def test_accounts_and_what_belongs_to_them(tmp_path, order):
    reason = refusal(str(tmp_path))
    if reason:
        pytest.skip(reason)
    (tmp_path / "root").mkdir()
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "accounts.sls").write_text(json.dumps({name: STATES[name] for name in order}))
    settings = Settings(file_roots={"base": [str(tmp_path / "salt")]}, pillar_roots={}, cachedir=str(tmp_path / "c"))
    rooms = Rooms(str(tmp_path / "root"), settings, Job({}, ["accounts"]))
    plan, _ = rooms.first()
    orders = Orders(plan)
    searching = search(plan, ignore=IGNORED, base=rooms.before)
    try:
        batch = next(searching)
        while True:
            batch = searching.send(tuple(rooms.run(orders.priority(each)) for each in batch.orders))
    except StopIteration as end:
        result = end.value
    left = [f for f in result.found if not any(plan.nodes[node].chunk in plan.unknown for node in f.pair)]
    assert not result.broken_off
    assert not left, "\n".join(result_lines(plan, result))
