"""The policy of a host, whatever operators sign; on a real host, for every way of an SLS to call a function."""

from fnmatch import fnmatchcase

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.config import Settings
from asyncstate.errors import CompileError
from asyncstate.extras.fleet.host.local_station import Gate, LocalStation, RunFiles
from asyncstate.extras.fleet.host.policy import refusal_of_sls, refusals_of_offer, refusals_of_plan
from asyncstate.extras.fleet.policy import Policy
from asyncstate.extras.fleet.protocol import Call, Offer, Options
from asyncstate.model.chunk import LowChunk

NAMES = st.lists(st.text("abc.*", min_size=1, max_size=4), max_size=4)


def offer(*sls, **options):
    return Offer(run="r", host="h", sls=sls, options=Options(**options))


def chunk(state, fun, **args):
    return LowChunk(0, state, fun, "x", "x", "app", "base", 0, args)


@given(NAMES, st.booleans())
def test_without_a_policy_everything_is_allowed(sls, test):
    assert refusals_of_offer(Policy(), offer(*sls, test=test)) == []
    assert refusals_of_plan(Policy(), [chunk("cmd", "run")]) == []


@given(NAMES, NAMES)
def test_each_sls_must_fit_a_glob(sls, allowed):
    policy = Policy(allow_sls=tuple(allowed))
    refused = {each for each in sls if not any(fnmatchcase(each, glob) for glob in allowed)}
    assert {each for each in sls if refusal_of_sls(policy, each)} == refused
    assert len(refusals_of_offer(policy, offer(*sls))) == len(refused)


def test_words_name_the_setting_what_it_allows_and_the_nearest():
    policy = Policy(
        allow_sls=("web.*", "base"), allow_functions=("file.*",), deny_test_false=True, deny_pillar=True, where="F"
    )
    assert refusals_of_offer(policy, offer("web.site", "bsae", pillar={"a": 1})) == [
        "this host allows dry runs only (deny_test_false of F): add --test",
        "this host takes no pillar data of operators (deny_pillar of F): omit --pillar",
        "this host does not allow the SLS bsae (allow_sls of F: web.*, base). Did you mean base?",
    ]
    assert refusals_of_offer(policy, offer(test=True)) == []
    refused = refusals_of_plan(policy, [chunk("file", "managed"), chunk("cmd", "run"), chunk("file", "x", onlyif="id")])
    assert [words for words, _ in refused] == [
        "this host does not allow the function cmd.run (allow_functions of F: file.*)",
        "this host does not allow the function cmd.run (onlyif) (allow_functions of F: file.*)",
    ]


def test_an_empty_list_allows_nothing():
    refused = refusals_of_plan(Policy(allow_functions=()), [chunk("test", "nop")])
    assert [words for words, _ in refused] == [
        "this host does not allow the function test.nop (allow_functions of fleet_policy: none)"
    ]


def refusals_of_call(policy, function, **options):
    return refusals_of_offer(policy, Offer(run="r", host="h", call=Call(function=function), options=Options(**options)))


def test_a_function_is_called_if_the_policy_names_it():
    assert refusals_of_call(Policy(), "cmd.run") == []
    assert refusals_of_call(Policy(allow_functions=("test.*",)), "test.ping") == []
    assert refusals_of_call(Policy(allow_functions=("test.*",)), "cmd.run") == [
        "this host does not allow the function cmd.run (allow_functions of fleet_policy: test.*)"
    ]


def test_a_policy_for_sls_alone_allows_no_calls():
    [words] = refusals_of_call(Policy(allow_sls=("web",)), "cmd.run")
    assert "allow_functions must name it" in words
    assert refusals_of_call(Policy(allow_sls=("web",), allow_functions=("cmd.*",)), "cmd.run") == []


def test_a_call_is_no_dry_run():
    assert "a call of a function is none" in refusals_of_call(Policy(deny_test_false=True), "cmd.run", test=True)[0]


ONLY_WEB = Policy(allow_sls=("web", "web.*"))
ONLY_FILES = Policy(allow_functions=("file.*", "test.*"))


class Host:
    """A host with a tree, and what its policy says to an offer: ``mark`` is there if something got through."""

    def __init__(self, home):
        self.tree = home / "tree"
        self.tree.mkdir()
        self.mark = home / "mark"
        self.state_dir = str(home / "state")
        self.settings = Settings(
            file_roots={"base": [str(self.tree)]},
            pillar_roots={},
            state_dir=self.state_dir,
            cachedir=str(home / "cache"),
        )

    def write(self, **sls):
        for name, text in sls.items():
            (self.tree / f"{name}.sls").write_text(text.replace("MARK", str(self.mark)))

    async def refused(self, policy, *sls, call=None, **options):
        """Return why an offer is refused, as its operator reads it; "" if it is not."""
        asked = msgspec.structs.replace(offer(*sls, **options), call=call)
        gate = Gate(RunFiles(self.state_dir, "h"), policy, enrolled=0.0, wall=lambda: 0.0)
        if said := "; ".join(refusals_of_offer(policy, asked)):
            return said
        try:
            async with LocalStation(self.settings, allowed=policy).prepare(asked) as prepared:
                return "; ".join(gate.allow(asked, prepared.plan))
        except CompileError as error:
            return str(error)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


RENDERED = "{% do salt['cmd.run']('touch MARK') %}\nevil:\n  test.nop: []\n"


@pytest.mark.parametrize(
    "sls",
    [
        {"web": "include: [evil]\nsite:\n  test.nop: []\n"},
        {"web": "include: ['ev*']\nsite:\n  test.nop: []\n"},
        {"web": "include: [.evil]\nextend:\n  evil:\n    test: [{order: 1}]\n"},
        {"web": "include: [base: evil]\n"},
        {"web": "site:\n  test.nop: []\n", "top": "base:\n  '*': [web, evil]\n"},
    ],
    ids=["include", "glob", "relative and extend", "environment", "highstate"],
)
async def test_an_sls_that_is_not_allowed_is_not_even_rendered(host, sls):
    host.write(evil=RENDERED, **sls)
    said = await host.refused(ONLY_WEB, *([] if "top" in sls else ["web"]))
    assert "this host does not allow the SLS evil (allow_sls of fleet_policy: web, web.*)" in said
    assert not host.mark.exists()
    assert not await host.refused(Policy(allow_sls=("web", "evil")), *([] if "top" in sls else ["web"]))
    assert host.mark.exists()


async def test_globs_of_an_offer_are_names_of_sls_in_the_end(host):
    host.write(web="site:\n  test.nop: []\n", evil=RENDERED)
    assert "does not allow the SLS *" in await host.refused(ONLY_WEB, "*")
    assert "does not allow the SLS evil" in await host.refused(Policy(allow_sls=("web", "[*]")), "*")
    assert not host.mark.exists()


@pytest.mark.parametrize(
    ("state", "named"),
    [
        ("cmd.run: [{name: touch MARK}]", "cmd.run"),
        ("module.run: [{cmd.run: [touch MARK]}]", "module.run"),
        ("module.run: [{state.apply: [evil]}]", "module.run"),
        ("file.absent: [{name: /nonexistent}, {onlyif: touch MARK}]", "cmd.run (onlyif)"),
        ("file.absent: [{name: /nonexistent}, {unless: [{fun: cmd.run, cmd: touch MARK}]}]", "cmd.run (unless)"),
        ("file.absent: [{name: /nonexistent}, {check_cmd: [touch MARK]}]", "cmd.run (check_cmd)"),
        ("test.show_notification: [{text: '__slot__:salt:cmd.run(touch MARK)'}]", "cmd.run (a slot)"),
    ],
)
async def test_a_function_that_is_not_allowed_does_not_run_however_it_is_named(host, state, named):
    host.write(web=f"site:\n  {state}\n")
    said = await host.refused(ONLY_FILES, "web")
    assert f"this host does not allow the function {named} (allow_functions of fleet_policy: file.*, test.*)" in said
    assert f"SLS web ({host.tree}/web.sls:2) asks for it" in said
    assert not host.mark.exists()


async def test_module_run_calls_only_what_is_allowed_itself(host):
    host.write(web="site:\n  module.run: [{state.apply: [evil]}]\n")
    policy = Policy(allow_functions=("module.run", "test.*"))
    assert "does not allow the function state.apply (module.run)" in await host.refused(policy, "web")
    host.write(web="site:\n  module.run: [{test.ping: []}]\n")
    assert not await host.refused(policy, "web")


async def test_extending_an_allowed_state_with_another_function_is_seen(host):
    host.write(web="include: [web2]\nextend:\n  site:\n    cmd.run: [{name: id}]\n", web2="site:\n  test.nop: []\n")
    said = await host.refused(Policy(allow_functions=("test.*",)), "web")
    assert "cmd.run" in said


async def test_a_call_with_a_slot_calls_only_what_is_allowed(host):
    asked = Call(function="test.echo", arg=("__slot__:salt:cmd.run(id)",))
    said = await host.refused(ONLY_FILES, call=asked)
    assert "does not allow the function cmd.run (a slot)" in said
    assert not await host.refused(ONLY_FILES, call=Call(function="test.echo", arg=("x",)))


async def test_no_file_is_rendered_because_an_operator_calls_it_the_top_file(host):
    host.write(evil=RENDERED, web="site:\n  test.nop: []\n")
    assert "renders no top file that an operator names" in await host.refused(ONLY_WEB, top="evil.sls")
    assert not host.mark.exists()


async def test_pillar_that_brings_yaml_brings_no_function(host):
    host.write(web="site:\n  test.nop: []\n{{ pillar.get('more', '') }}\n")
    said = await host.refused(ONLY_FILES, "web", pillar={"more": "evil:\n  cmd.run: [{name: touch MARK}]"})
    assert "does not allow the function cmd.run" in said
    assert "deny_pillar" in await host.refused(Policy(deny_pillar=True), "web", pillar={"more": ""})


async def test_what_the_policy_does_not_judge_templates_of_allowed_sls(host):
    """`docs/extras/fleet-server.md` says so: an SLS that is allowed is trusted with what it renders."""
    host.write(web="{% do salt['cmd.run']('touch MARK') %}\nsite:\n  test.nop: []\n")
    assert not await host.refused(ONLY_FILES, "web")
    assert host.mark.exists()
