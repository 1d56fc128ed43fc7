"""The page about the tests names every folder and marker, and every test stands where the page says."""

import re
import tomllib

import pytest

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
    assert set(re.findall(r"`(\w+)/`", page)) - folders - packages - {"tests"} == set()


def test_every_package_is_on_the_page(checkout, page):
    packages = {path.parent.name for path in (checkout / "asyncstate").glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}/`" not in page} == set()


def test_every_file_the_page_names_is_there(checkout, page):
    named = {
        name
        for name in re.findall(r"`((?:\w+/)+\w+\.py)`", page)
        if not name.startswith(("asyncstate/", "states/cron"))
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
        if path.relative_to(tests).parts[0] not in APART and not path.name.startswith(("test_", "conftest"))
    }
    assert found == set()


def test_a_test_has_the_folder_of_what_it_tests(checkout):
    """The prefix that a folder's name says already is not said again."""
    tests = checkout / "tests"
    packages = {path.parent.name for path in (checkout / "asyncstate").glob("*/__init__.py")} | {"states", "modules"}
    flat = re.compile(rf"test_({'|'.join(sorted(packages))})_\w+\.py")
    assert {path.name for path in tests.glob("test_*.py") if flat.fullmatch(path.name)} == set()


def test_a_test_that_says_the_rows_are_those_of_salt_has_them_from_salt(checkout):
    """From tests/recorded, or from Salt itself (`installed_salt`): nobody remembers what Salt does."""
    claim = re.compile(r"def test_\w*rows?_(?:\w+_)?of_salt|def test_\w*rows?_that_salt")
    source = re.compile(r"recorded|RECORDED|installed_salt|quickstart_rows_of_salt")
    paths = (checkout / "tests").rglob("test_*.py")
    texts = {path.relative_to(checkout).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    claiming = {name for name, text in texts.items() if claim.search(text)}
    assert len(claiming) > 5
    assert [name for name in sorted(claiming) if not source.search(texts[name])] == []
