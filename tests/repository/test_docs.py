"""The documentation names everything there is, nothing that is not, and its examples run."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import click
import msgspec
import pytest

from asyncstate.cli.overview import OWN, overview
from asyncstate.cli.root import root
from asyncstate.config import Settings
from asyncstate.model import event as event_module
from asyncstate.model.event import Event
from docs.bundled import bundled_modules

INTERNAL_SETTINGS = {"extra", "origins"}


@pytest.fixture
def page(checkout):
    return lambda name: (checkout / "docs" / f"{name}.md").read_text()


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


# --- everything there is


def commands(group=root, path="asyncstate"):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def flags(command):
    return {
        flag
        for parameter in command.get_params(click.Context(command))
        if isinstance(parameter, click.Option)
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }


def test_every_command_is_documented(page):
    text = page("commands")
    leaves = {path for path, each in own_commands() if not isinstance(each, click.Group)}
    names = [path.removeprefix("asyncstate ") for path in leaves]
    assert [name for name in names if not re.search(rf"^- `{name}[` ]", text, re.MULTILINE)] == []
    assert len(OWN) >= 7


def own_commands():
    """Yield the commands of the engine, without those of extras."""
    yield from ((path, command) for path, command in commands() if path.split()[1] in OWN)


def test_every_flag_is_documented_and_every_documented_flag_exists(page):
    every = {flag for _, command in commands() for flag in flags(command)} | {"--version"}
    own = {flag for _, command in own_commands() for flag in flags(command)}
    listed = {
        flag for line in re.findall(r"^ *- (`-.*?):", page("commands"), re.MULTILINE) for flag in named_flags(line)
    }
    assert own - listed == set()
    assert {flag for flag in named_flags(page("commands")) | named_flags(page("cli")) if flag.startswith("--")} <= every


def named_flags(text):
    return {
        flag for code in re.findall(r"`([^`\n]+)`", text) for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", code)
    }


def test_every_exit_code_is_documented(page):
    from asyncstate.model.result import RunReport

    text = page("cli")
    for cancelled in ("SIGINT", "SIGTERM", "out of time"):
        assert str(RunReport(rows={}, cancelled=cancelled).exit_code) in text


def event_classes():
    found = [value for value in vars(event_module).values() if isinstance(value, type) and issubclass(value, Event)]
    return [each for each in found if each is not Event]


@pytest.mark.parametrize("kind", event_classes(), ids=lambda kind: kind.__name__)
def test_every_event_and_its_fields_are_documented(page, kind):
    tag = kind.__struct_config__.tag
    rows = [line for line in page("events").splitlines() if line.startswith(f"| `{kind.__name__}` | `{tag}` |")]
    assert len(rows) == 1
    common = {field.name for field in msgspec.structs.fields(Event)}
    own = {field.name for field in msgspec.structs.fields(kind)} - common
    assert {name for name in own if f"`{name}`" not in rows[0]} == set()


def test_the_fields_of_all_events_are_documented(page):
    text = page("events")
    assert {field.name for field in msgspec.structs.fields(Event) if f"| `{field.name}` |" not in text} == set()


def test_every_setting_is_documented_and_every_documented_setting_exists(page):
    existing = {field.name for field in msgspec.structs.fields(Settings)} - INTERNAL_SETTINGS
    documented = re.findall(r"^- `([a-z_]+)`[:( ]", page("settings"), re.MULTILINE)
    assert sorted(documented) == sorted(existing)


def test_the_documented_defaults_are_the_defaults(page):
    defaults = {field.name: field.default for field in msgspec.structs.fields(Settings)}
    wrong = {}
    for name, written in re.findall(r"^- `([a-z_]+)` \(`([^`]*)`\):", page("settings"), re.MULTILINE):
        default = defaults[name]
        expected = str(default).lower() if isinstance(default, bool) else str(default)
        if isinstance(default, (bool, str)) and default != "" and written != expected:
            wrong[name] = (written, default)
    assert wrong == {}


@pytest.fixture
def bundled_states():
    """The names of the bundled state functions, whether they load on this machine or not."""
    modules = bundled_modules("states").items()
    return {f"{name}.{function}" for name, providers in modules for each in providers for function in each.functions}


def test_every_bundled_state_is_documented_and_every_documented_state_exists(page, bundled_states):
    listed = re.findall(r"^- (`.*?`):", page("states"), re.MULTILINE)
    documented = {name for names in listed for name in re.findall(r"`([a-z0-9_]+\.[a-z_]+)`", names)}
    assert bundled_states - documented == set()
    assert documented - bundled_states == set()


# --- nothing that is not


def texts(checkout):
    yield from (checkout / "docs").rglob("*.md")
    yield from (checkout / "examples").glob("*/README.md")
    yield from (checkout / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md"))


def test_a_dry_run_is_asked_for_with_its_own_command(checkout):
    """`apply --test` is explained, as what `plan` is; nobody is told to type it."""
    told = [line for path in texts(checkout) for line in shown_commands(path.read_text())]
    told += [line for _, command in commands() for line, _ in getattr(command, "examples", ())]
    told += overview().splitlines()
    assert [line for line in told if re.search(r"asyncstate apply\b.* --test\b", line)] == []


def test_each_flag_of_a_shown_command_line_is_one_of_its_command(checkout):
    """In code and within sentences: the page of the command line has all flags, but not those of each command."""
    by_path = dict(commands())
    shown, wrong = 0, []
    for path in texts(checkout):
        text = path.read_text()
        lines = [*shown_commands(text), *re.findall(r"`([^`\n]+)`", text)]
        for words in (
            words for line in lines for words in re.findall(r"asyncstate ((?:[a-z][a-z-]* ?)+[^|;&#<>]*)", line)
        ):
            name = next((at for n in (2, 1) if (at := " ".join(["asyncstate", *words.split()[:n]])) in by_path), "")
            if not name or name == "asyncstate salt-call":
                continue
            shown += 1
            known = flags(by_path[name]) | {"--config"}
            given = re.findall(r"(?<![\w=/-])--[a-z][a-z-]*", words)
            wrong += [(path.name, name, flag) for flag in given if flag not in known]
    assert shown > 100
    assert wrong == []


def shown_commands(text):
    """The lines of code, fenced or indented."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [*"\n".join(fenced).splitlines(), *re.findall(r"^    .*", text, re.MULTILINE)]


def anchors(path):
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w]+", "-", heading.replace("`", "").lower()).strip("-") for heading in headings}


def prose(path):
    """The text without its code blocks."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def is_of_absent_extra(checkout, path):
    """Whether a path is below a folder of extras, in a copy of the engine without them."""
    return "extras/" in path and not (checkout / "asyncstate" / "extras").is_dir()


def test_links_lead_somewhere(checkout):
    broken = []
    for source in texts(checkout):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(source))):
            path, _, anchor = target.partition("#")
            aim = source.parent / path if path else source
            if is_of_absent_extra(checkout, path):
                continue
            if not aim.exists() or (anchor and anchor not in anchors(aim)):
                broken.append((source.name, target))
    assert broken == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_maps_name_files_that_exist(checkout, page):
    text = (checkout / page).read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", text))
    assert len(named) > 15
    named |= set(re.findall(r"`((?:[a-z_]+/)+)`", text))
    missing = {each for each in named if not any((checkout / base / each).exists() for base in ("asyncstate", "."))}
    assert {each for each in missing if not is_of_absent_extra(checkout, each)} == set()


# --- four kinds of pages, few words, short ways

KINDS = ("Tutorials", "How-to guides", "Reference", "Explanation")
WORDS = 40_000


def written(checkout):
    """The pages that people read: without the lists of tests and figures in docs/evidence."""
    names = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
    pages = [path for path in (checkout / "docs").rglob("*.md") if "evidence" not in path.parts]
    return [*pages, *(checkout / name for name in names)]


def linked(path):
    targets = re.findall(r"\]\(([^)\s#]+\.md)", prose(path))
    return {(path.parent / target).resolve() for target in targets}


def pages_by_kind(text, head):
    """The pages below each heading of the index, or of the navigation."""
    parts = re.split(head, text, flags=re.MULTILINE)[1:]
    return {kind: set(re.findall(r"[\w/-]+\.md", body)) for kind, body in zip(parts[::2], parts[1::2], strict=True)}


def test_every_page_has_one_kind_in_the_index_and_in_the_navigation(checkout):
    index = pages_by_kind((checkout / "docs" / "index.md").read_text(), r"^## (.+)$")
    navigation = pages_by_kind((checkout / "mkdocs.yml").read_text().partition("nav:")[2], r"^  - (.+):$")
    assert tuple(index) == tuple(navigation)[: len(KINDS)] == KINDS
    assert {kind: navigation[kind] for kind in KINDS} == index
    every = [page for pages in index.values() for page in pages]
    docs = checkout / "docs"
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md") if "evidence" not in path.parts}
    assert sorted(every) == sorted(there - {"index.md"})
    assert navigation["Evidence"] == {path.relative_to(docs).as_posix() for path in docs.glob("evidence/*.md")}


def test_every_page_is_two_clicks_away(checkout):
    near = {checkout / "README.md", checkout / "docs" / "index.md"}
    for _click in range(2):
        near |= {target for path in near if path.is_file() for target in linked(path)}
    every = {*written(checkout), *(checkout / "docs" / "evidence").glob("*.md")}
    assert {path.name for path in every if path.resolve() not in near} == set()


def test_the_pages_have_few_words(checkout):
    counted = {path.name: len(path.read_text().split()) for path in written(checkout)}
    assert sum(counted.values()) <= WORDS, sorted(counted.items(), key=lambda each: -each[1])


def test_names_of_tests_are_evidence(checkout):
    for_makers = {"CONTRIBUTING.md", "ARCHITECTURE.md"}
    found = [
        (path.name, name)
        for path in written(checkout)
        if path.name not in for_makers
        for name in re.findall(r"(?:\w+/)*test_\w+\.py\b|::test_\w+", path.read_text())
    ]
    assert found == []


def test_no_text_is_for_its_writers(checkout):
    found = [(path.name, word) for path in texts(checkout) for word in re.findall(r"TODO|FIXME|XXX", path.read_text())]
    assert found == []


# --- the README's promise


def test_the_first_two_shell_blocks_are_the_two_commands(checkout):
    shell = blocks((checkout / "README.md").read_text(), "(?:shell|bash|sh|console)")
    assert [block.strip() for block in shell[:2]] == ["make quickstart", "make test"]


def test_ci_runs_the_second_command_of_the_readme(checkout):
    gate = (checkout / ".ci" / "run").read_text()
    assert re.search(
        r'^  env PYTEST_ADDOPTS="--cov --cov-report= --ignore=tests/repository" \.ci/circle build/circle "make test" ',
        gate,
        re.MULTILINE,
    )
    assert re.search(r'^step "[^"]*" make test TESTS="tests/extras tests/repository"$', gate, re.MULTILINE)


def test_ci_runs_both_commands_of_the_readme_on_a_minimal_debian(checkout):
    gate = (checkout / ".ci" / "run").read_text()
    assert re.search(r'^beside fresh \.ci/fresh build/fresh "make quickstart" "make test ', gate, re.MULTILINE)
    assert 'without rights" ended fresh\n' in gate
    asked = re.search(r"^packages=(\S+)", (checkout / ".ci" / "fresh").read_text(), re.MULTILINE)[1].split(",")
    assert set(asked) == {"python3", "python3-venv", "git", "make", "ca-certificates"}, "the README asks for no more"


def test_the_quick_start_waits_for_no_other_run(checkout):
    done = subprocess.run(["make", "-n", "quickstart"], cwd=checkout, capture_output=True, text=True, check=True)
    assert f"ASYNCSTATE_CACHEDIR={checkout}/build/" in done.stdout


def test_the_make_targets_exist(checkout):
    makefile = (checkout / "Makefile").read_text()
    named = {each for path in texts(checkout) for each in re.findall(r"\bmake ([a-z]+)\b(?=`|\n)", path.read_text())}
    assert {"quickstart", "test", "help"} <= named
    assert {each for each in named if not re.search(rf"^{each}:", makefile, re.MULTILINE)} == set()


def test_the_first_change_installs_pytest_before_it_runs_it(checkout):
    first = re.search(r"```bash\n(.*?)```", (checkout / "CONTRIBUTING.md").read_text(), re.DOTALL)[1]
    targets = re.findall(r"^make (\w+)", first[: first.index("pytest")], re.MULTILINE)
    done = subprocess.run(["make", "-n", "-B", *targets], cwd=checkout, capture_output=True, text=True, check=True)
    assert "requirements/install.sh .venv dev" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_quick_start_works_in_a_fresh_copy_and_changes_nothing_twice(checkout, tmp_path):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=checkout,
        capture_output=True,
        check=True,
    )
    copy = tmp_path / "copy"
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (checkout / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, copy / name)
    first = subprocess.run(["make", "quickstart"], cwd=copy, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "Summary for" in first.stdout
    second = subprocess.run(["make", "quickstart"], cwd=copy, capture_output=True, text=True, check=False)
    assert second.returncode == 0
    assert "changed=" not in second.stdout


# --- the examples in the texts


@pytest.fixture
def shell(run_cli, tmp_path):
    """Run lines of a text as one script, stopping at the first that fails; /tmp is a folder of this test."""

    def run(script, cwd):
        script = script.replace("/tmp/", f"{tmp_path}/").replace("$PWD/.venv/bin:", "")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=cwd,
            env=run_cli.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    return run


def test_the_tour_of_the_readme(checkout, shell):
    tour = blocks((checkout / "README.md").read_text(), "bash")
    assert len(tour) == 1
    output = shell(tour[0], checkout)
    assert "webapp-reload" in output
    assert '"event":"run_finished"' in output
    assert "flowchart" in output


def test_the_tutorial(page, shell, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    output = shell("\n".join(blocks(page("tutorial"), "bash")), folder)
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "ada.txt", "edsger.txt", "grace.txt", "greeting.txt", "index",
    ]  # fmt: skip
    assert (folder / "out" / "greeting.txt").read_text() == "changed\n"
    assert "exit code 1" in output
    assert "-Hello" in output or "+Hello" in output


def test_salt_in_ten_minutes(page, shell, tmp_path):
    """Every block in its order: one of YAML names its file in the first line, those of bash are one script."""
    script = []
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```", page("salt-in-ten-minutes"), re.MULTILINE | re.DOTALL):
        if language == "yaml":
            name, _, content = text.removeprefix("# ").partition("\n")
            script += [f"mkdir -p {shlex.quote(os.path.dirname(name) or '.')}", f"cat >{shlex.quote(name)} <<'END'"]
            script += [content.rstrip("\n"), "END"]
        else:
            assert language == "bash"
            script.append(text)
    output = shell("\n".join(script), tmp_path)
    out = tmp_path / "first" / "out"
    assert sorted(each.name for each in out.iterdir()) == [
        "ada.txt", "edsger.txt", "grace.txt", "hello.txt", "key", "log", "pages",
    ]  # fmt: skip
    assert (out / "log").read_text() == "new pages\n"
    assert (out / "ada.txt").read_text() == "Ada works on Linux\n"
    assert "did you mean 'file.managed'?" in output
    assert "exit code 1" in output
    assert "This is a Debian" in output or not os.path.exists("/etc/debian_version")
    assert (tmp_path / "first" / "mine" / "salt" / "top.sls").is_file()


def test_the_programs_of_the_readme_and_the_library_page(checkout, page, tmp_path):
    tree = tmp_path / "srv" / "salt"
    tree.mkdir(parents=True)
    (tree / "web.sls").write_text("greeting:\n  test.nop: []\n")
    library, *more = blocks(page("library"), "python")
    assert len(more) == 2
    (readme,) = blocks((checkout / "README.md").read_text(), "python")
    ending = "\nimport asyncio\nassert asyncio.run(deploy()) is True\n"
    # They name no folders, so as root they would keep their runs in this machine's journal.
    own = f"from asyncstate.config import settings\nsettings._user_directory = lambda *_: {str(tmp_path / 'own')!r}\n"
    for program, printed in (
        (library, "ChunkFinished("),
        (readme + ending, "ChunkFinished("),
        (more[0], "require"),
        (more[1], ""),
    ):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", own + program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert printed in done.stdout


def test_the_program_of_the_events_page(page, run_here, tmp_path):
    (tmp_path / "one.sls").write_text("bad:\n  test.fail_without_changes:\n    - comment: no luck\n")
    done = run_here("apply", "one", "--file-root", tmp_path, "--out", "jsonl")
    (tmp_path / "run.jsonl").write_text(done.stdout)
    (program,) = blocks(page("events"), "python")
    read = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
    assert read.stdout.startswith("test_|-bad_|-bad_|-fail_without_changes ")


MARKER_MODULE = """
import os

def read(name):
    return open(name).read() if os.path.exists(name) else ""

def write(name, text):
    with open(name, "w") as file:
        file.write(text)

def renew(name):
    os.utime(name)
"""


def test_the_state_of_the_writing_page(page, run_here, tmp_path):
    module, *_ = blocks(page("writing-states"), "python")
    for folder, text in (("_states", module), ("_modules", MARKER_MODULE)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "marker.py").write_text(text)
    target = tmp_path / "there"
    (tmp_path / "m.sls").write_text(
        f"{target}:\n  marker.present:\n    - text: yes sir\n    - watch:\n      - test: other\n"
        "other:\n  test.succeed_with_changes: []\n"
    )
    seen = []
    for options in (["--test"], [], []):
        done = run_here("apply", "m", "--file-root", tmp_path, "--out", "json", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        row = json.loads(done.stdout)[f"marker_|-{target}_|-{target}_|-present"]
        seen.append((row["result"], sorted(row["changes"])))
    assert seen == [(None, ["new", "old"]), (True, ["new", "old"]), (True, ["renewed"])]


def test_the_states_of_the_concurrency_page_compile(page, run_here, tmp_path):
    (states,) = blocks(page("concurrency"), "yaml")
    (tmp_path / "c.sls").write_text(states)
    done = run_here("check", "c", "--file-root", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 states" in done.stdout
