"""The published schemas say of real files and real output what the program says."""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from asyncstate.cli import main
from asyncstate.config import load_settings
from asyncstate.config.settings import FIELDS
from asyncstate.data.formats import yaml_data
from asyncstate.errors import ConfigError
from asyncstate.extras.manual import schemas
from asyncstate.extras.manual.schemas import SCHEMAS, schema
from asyncstate.model.event import AnyEvent

CHECKOUT = Path(__file__).parents[3]
TREE = {
    "many": """
start: {test.succeed_with_changes: [{fire_event: true}]}
later: {test.nop: [{watch: [{test: start}]}, {listen: [{test: start}]}]}
twice: {test.fail_without_changes: [{retry: {attempts: 2, interval: 0}}]}
after: {test.nop: [{require: [{test: twice}]}]}
rescue: {test.nop: [{onfail: [{test: twice}]}]}
before: {test.nop: [{prereq: [{test: start}]}]}
both: {test.nop: [{names: [one, two]}, {require: [{sls: more}]}]}
odd: {test.configurable_test_state: [{changes: true}, {result: true}, {warnings: [careful]}]}
last: {test.nop: [{order: last}]}
include: [more]
""",
    "more": "more: {test.nop: []}\nquiet: {cmd.run: [{name: 'true', unless: 'true'}]}\n",
    "broken": "wrong: {test.nop: [{require: [{test: nowhere}]}]}\n",
    "unknown": "wrong: {nothing.such: []}\n",
}
CONFIG = """
file_roots: {base: [TREE]}
pillar_roots: {base: TREE}
ignore_rules: footprint-order
lanes: {db: 1}
state_aggregate: [pkg]
journal: required
prefetch: 3
pillar: {any: [thing]}
log_level:
my_own_option: {is: kept}
"""


def validator(name, **options):
    return Draft202012Validator(schema(name, **options))


def wrong(found, data):
    return [f"{each.json_path}: {each.message}" for each in found.iter_errors(data)]


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command on the tree, in this process, and return its exit code and output."""
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    for name, text in TREE.items():
        (tmp_path / f"{name}.sls").write_text(text)

    def call(*words):
        return main([*map(str, words)]), capfd.readouterr().out

    return call


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schemas_are_those_of_the_types(name, run):
    code, printed = run("schema", name)
    assert code == 0
    Draft202012Validator.check_schema(json.loads(printed))
    published = (CHECKOUT / "docs" / "schemas" / f"{name}.json").read_text()
    if name == "config" and not (CHECKOUT / "asyncstate" / "extras").is_dir():
        published = without_extras(published, json.loads(printed)["properties"])
    assert printed == published, f"write it anew: asyncstate schema {name} > docs/schemas/{name}.json"


def without_extras(published, options):
    """The published schema without the options of extras."""
    schema = json.loads(published)
    schema["properties"] = {name: each for name, each in schema["properties"].items() if name in options}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def test_options_mean_what_the_page_of_settings_says():
    page = (CHECKOUT / "docs" / "settings.md").read_text()
    rows = re.findall(r"^- `([a-z_]+)`(?: \(.*?\))?: (.*)$", page, re.MULTILINE)
    meant = {name: re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text) for name, text in rows}
    written = yaml_data(Path(schemas.__file__).with_name("options.yaml").read_text())
    assert written == {name: text for name, text in meant.items() if name in FIELDS or name == "grains_override"}


def test_an_option_may_have_the_values_that_the_program_takes(tmp_path):
    here = str(tmp_path)
    values = [None, True, False, -1, 0, 7, 1.5, "text", "none", [], ["text"], [7], {}, {"base": here}, {"base": [here]}]
    values += [
        {"base": None},
        {"lane": 1},
        {"lane": -1},
        {"allow_sls": [here]},
        {"allow_slz": [here]},
        "footprint-order",
    ]
    properties = schema("config")["properties"]
    differences = []
    file = tmp_path / "minion.yaml"
    for option in (*FIELDS, "grains_override"):
        accepts = Draft202012Validator(properties[option])
        for value in values:
            file.write_text(yaml.safe_dump({option: value}))
            try:
                load_settings([file], environ={}).validate()
                taken = True
            except ConfigError:
                taken = False
            if accepts.is_valid(value) != taken:
                differences.append((option, value, taken))
    assert differences == []


def test_a_configuration_file(tmp_path):
    data = yaml.safe_load(CONFIG.replace("TREE", str(tmp_path)))
    assert wrong(validator("config"), data) == []
    assert wrong(validator("config", strict=True), data) == [
        "$: Additional properties are not allowed ('my_own_option' was unexpected)"
    ]
    del data["my_own_option"]
    assert wrong(validator("config", strict=True), data) == []
    minion = yaml.safe_load((CHECKOUT / "tests/recorded/salt_call/tree/etc/minion").read_text().replace("@ROOT@", "/r"))
    assert wrong(validator("config"), minion) == []


def test_reports_and_events_and_plans(run, tmp_path):
    tree = ("--file-root", tmp_path, "--journal", "off")
    code, text = run("apply", "many", *tree, "--out", "json")
    rows = json.loads(text)
    assert (code, len(rows) > 10) == (2, True)
    assert wrong(validator("report"), rows) == []
    assert wrong(validator("report"), {"web1": rows, "db.example.com": {}}) == []

    _, text = run("apply", "many", *tree, "--out", "jsonl")
    events = [json.loads(line) for line in text.splitlines()]
    each_event = validator("events")
    assert [wrong(each_event, event) for event in events] == [[]] * len(events)
    seen = {event["event"] for event in events}
    kinds = {kind.__struct_config__.tag for kind in AnyEvent.__args__}
    assert seen >= kinds - {"chunk_output", "prefetch_started", "prefetch_ended"}

    run("apply", "many", *tree, "--test", "--plan-out", tmp_path / "plan")
    plan = json.loads((tmp_path / "plan").read_text())
    assert {node["kind"] for node in plan["nodes"]} >= {"check", "stage", "listener"}
    assert wrong(validator("plan"), plan) == []

    for sls in ("broken", "unknown"):
        _, text = run("apply", sls, *tree, "--out", "json")
        assert wrong(validator("report"), json.loads(text)) == []
        _, text = run("apply", sls, *tree, "--out", "jsonl")
        lines = [json.loads(line) for line in text.splitlines()]
        assert [wrong(each_event, line) for line in lines] == [[]] * len(lines)
        assert (sls == "broken") == isinstance(lines[0], list)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("config", {"concurrency": "many"}),
        ("plan", {"version": 2}),
        ("plan", {"version": 1, "nodes": [{"kind": "state"}]}),
        ("plan", {"version": 1, "edges": [[0, 1]]}),
        ("events", {"event": "chunk_ready", "run_id": "r", "seq": 0, "time": 0, "tag": "t", "host": 7}),
        ("events", []),
        ("events", {"event": "run_begun", "run_id": "r", "seq": 0, "time": 0}),
        ("events", {"event": "state_event", "run_id": "r", "seq": 0, "time": 0, "name": "n", "row": {"name": "n"}}),
        ("report", {"test_|-a_|-a_|-nop": {"name": "a", "result": True, "changes": {}, "comment": ""}}),
        ("report", {"web1": {"name": "a"}}),
        ("report", []),
    ],
)
def test_what_is_none_is_refused(name, data):
    assert wrong(validator(name), data)


def test_only_a_configuration_can_be_strict(run, capfd):
    assert main(["schema", "plan", "--strict"]) == 1
    assert "--strict is for config" in capfd.readouterr().err
