"""The page about the tests names every folder and marker, and every test stands where the page says."""

import os
import re
import subprocess
import sys
import tomllib

import pytest
from coverage import Coverage
from tables import beside, rows

TABLES = beside(__file__)

DIFF = re.compile(r"```diff\n(.+?)```", re.DOTALL)
APART = {"support", "recorded", "mutation", "typing"}
"""Folders whose files are no tests that pytest collects."""


@pytest.fixture
def page(checkout):
    return (checkout / "tests" / "README.md").read_text()


@pytest.fixture
def folders(checkout):
    tests = checkout / "tests"
    return {path.relative_to(tests).parts[0] for path in tests.glob("*/**/*.*") if "__pycache__" not in path.parts}


def test_every_folder_is_on_the_page(page, folders):
    assert {folder for folder in folders if f"`{folder}/`" not in page} == set()


def test_every_folder_on_the_page_is_there_or_mirrors_a_package(checkout, page, folders):
    packages = {path.parent.name for path in (checkout / "asyncstate").glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)/`", page)) - folders - packages - {"tests", "extras"} == set()


def test_every_package_is_on_the_page(checkout, page):
    packages = {path.parent.name for path in (checkout / "asyncstate").glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}/`" not in page} == set()


def test_every_file_the_page_names_is_there(checkout, page):
    named = {
        name
        for name in re.findall(r"`((?:\w+/)+\w+\.py)`", page)
        if not name.startswith(("asyncstate/", "states/cron"))
        if not name.startswith("extras/") or (checkout / "tests" / "extras").is_dir()
    }
    assert {name for name in named if not (checkout / "tests" / name.removeprefix("tests/")).is_file()} == set()


def test_every_marker_is_on_the_page(checkout, page):
    options = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    rows = set(re.findall(r"^\| `(\w+)` \|", page.partition("## Markers")[2], re.MULTILINE))
    assert {re.match(r"\w+", marker)[0] for marker in options["markers"]} == rows


def test_what_is_no_test_stands_apart(checkout):
    tests = checkout / "tests"
    found = {
        str(path.relative_to(tests))
        for path in tests.rglob("*.py")
        if APART.isdisjoint(path.relative_to(tests).parts) and not path.name.startswith(("test_", "conftest"))
    }
    assert found == set()


def test_a_test_has_the_folder_of_what_it_tests(checkout):
    """The prefix that a folder's name says already is not said again."""
    tests = checkout / "tests"
    packages = {path.parent.name for path in (checkout / "asyncstate").glob("*/__init__.py")} | {"states", "modules"}
    flat = re.compile(rf"test_({'|'.join(sorted(packages))})_\w+\.py")
    assert {path.name for path in tests.glob("test_*.py") if flat.fullmatch(path.name)} == set()


CLAIM = re.compile(
    r"\b(?:[Aa]s|[Ll]ike|than|[Uu]nlike) (?:in |with |it is in )?Salt\b(?!-call|-ssh|\.\w|'s own)"
    r"|\bSalt(?: 3008\S*)? (?:does|do|says?|gives?|answers?|would|returns?|raises?|writes?|leaves|calls?|takes?|makes"
    r"|shows|names|counts|runs?|treats|ignores|keeps|sorts|orders|reads|never|also|loses|drops|fails|crashes|merges|expands"
    r"|puts|prints|matches|knows|sees|finds|has|wants|forgets|accepts|refuses|removes|adds|looks|needs|compares|renders)\b"
    r"|\bsalt-(?:call|run) (?:says|prints|shows|writes|exits|returns|does)\b(?! no)"
    r"|\bSalt's (?:\w+ )?(?:rows?|sentences?|words?|answers?|behaviour|order|comments?|messages?|rules?|results?|outputters?)\b"
    r"|[Nn]or \w+ (?:it )?in Salt\b"
    r"|def test_(?:\w*_)?(?:rows?_(?:\w+_)?of_salt|rows?_that_salt|as_(?:in_)?salt|in_salt|than_salt|of_salt)\b"
    r"|def test_(?:\w*_)?(?:(?:what|that|as|which)_salt_|(?:are|is|be|has|have)_salts(?:_|\b))"
    r"|def test_(?:\w*_)?salts_(?:words?|texts?|forms?|keys?|lines?|columns?|counts?|order|sentences?|messages?|rows?"
    r"|verdicts?|answers?|values?|defaults?|results?)(?:_|\b)"
)
"""Says what Salt does."""
ASKED = re.compile(r"^(?:from|import) (?:record_\w+|recorded_\w+|installed_salt|services_inside)\b", re.MULTILINE)
"""Imports of a recorder, of what replays its answers, or of Salt itself."""


def records(checkout):
    """Return a pattern that finds the name of a file or folder that Salt's answers are in."""
    recorded = checkout / "tests" / "recorded"
    names = {path.relative_to(recorded).as_posix() for path in recorded.rglob("*")}
    own = {name for name in names if "/" in name} | {name for name in names if name.endswith((".json", ".txt"))}
    return re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(own, key=len, reverse=True)))


def test_a_test_that_says_what_salt_does_has_it_from_salt(checkout):
    """From a file of tests/recorded, which it or the conftest beside it names, or from Salt itself: nobody remembers it."""
    record = records(checkout)
    unfounded, claims = [], 0
    for path in sorted((checkout / "tests").rglob("test_*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if CLAIM.search(line)]
        claims += len(found)
        beside = path.parent / "conftest.py"
        texts = ["\n".join(lines), beside.read_text(encoding="utf-8") if beside.exists() else ""]
        if path.name != "test_tests.py" and not any(ASKED.search(text) or record.search(text) for text in texts):
            unfounded += [f"{path.relative_to(checkout)}:{number}: {lines[number - 1].strip()}" for number in found]
    assert claims > 5
    assert unfounded == []


@pytest.mark.parametrize(
    ("sentence", "claims"),
    TABLES["what counts as such a sentence"],
)
def test_what_counts_as_such_a_sentence(sentence, claims):
    assert bool(CLAIM.search(sentence)) is claims


def test_the_mutants_that_survive_change_lines_that_are_there(checkout):
    mutated = tomllib.loads((checkout / "pyproject.toml").read_text())["tool"]["mutmut"]["only_mutate"]
    files = {pattern: list(checkout.glob(pattern)) for pattern in mutated}
    assert all(files.values())
    lines = {line.strip() for found in files.values() for path in found for line in path.read_text().splitlines()}
    listed = (checkout / "tests" / "mutation" / "survivors.md").read_text(encoding="utf-8")
    changed = [line.strip() for line in re.findall(r"^-(?!--) *(.+)$", "".join(re.findall(DIFF, listed)), re.MULTILINE)]
    assert len(changed) > 100
    assert set(changed) - lines == set()


def test_a_table_that_is_one_test_runs_every_row_and_names_those_that_fail():
    seen = []

    @rows("a, b", [(1, 2), pytest.param(3, 4), (5, 5), (6, None)])
    def equal(a, b):
        seen.append(a)
        if b is None:
            pytest.skip("nothing to compare")
        assert a == b

    with pytest.raises(ExceptionGroup, match="2 rows of 4") as caught:
        equal()
    assert seen == [1, 3, 5, 6]
    assert [error.__notes__ for error in caught.value.exceptions] == [["a: 1, b: 2"], ["a: 3, b: 4"]]


def test_no_branch_is_counted_where_no_order_or_verdict_is_decided():
    assert Coverage.current() is None


def test_nor_is_one_in_a_worker_of_a_run_that_counts_branches(checkout, tmp_path):
    command = [sys.executable, "-m", "pytest", "-n", "1", "--cov", "--cov-report=", "-p", "no:cacheprovider"]
    inner = f"{__file__}::{test_no_branch_is_counted_where_no_order_or_verdict_is_decided.__name__}"
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, inner],
        cwd=checkout,
        env=environ | {"COVERAGE_FILE": str(tmp_path / "counted")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout
