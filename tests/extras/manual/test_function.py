"""The description of a function in doc and on the site: arguments, an example, platforms."""

from __future__ import annotations

import inspect
import re

import pytest
import yaml

from asyncstate.extras.manual.function import Function, markdown, platforms
from docs.bundled import ProviderFile, bundled_modules
from docs.page_texts import page


def managed(name: str, mode: int, *extra: str, group: str | None = None, **kwargs: object) -> None:
    """Do it."""


def told(name: str) -> None:
    """Say how. ::

    web:
      told: []
    """


def test_arguments_are_shown_as_they_are_written():
    assert Function("states", "x.managed", managed).signature == (
        "(name: str, mode: int, *extra: str, group: str | None = None, **kwargs: object)"
    )
    assert Function("modules", "x.y", print).signature.startswith("(")
    assert Function("modules", "x.y", dict.fromkeys).signature.startswith("(")


@pytest.mark.parametrize(
    ("kind", "example"),
    [
        ("states", "my-id:\n  x.managed:\n    - name: example\n    - mode: '0644'"),
        ("modules", "asyncstate call x.managed NAME MODE"),
    ],
)
def test_an_example_has_the_arguments_that_are_needed(kind, example):
    assert Function(kind, "x.managed", managed).example == example


def test_the_examples_of_bundled_states_are_made_of_values():
    examples = [
        Function("states", f"{name}.{function}", func).example
        for name, providers in bundled_modules("states").items()
        for provider in providers
        for function, func in provider.functions.items()
    ]
    placeholder = re.compile(r"- (\w+): (?i:\1)$", re.MULTILINE)  # an argument that is its own value
    assert [each for each in examples if placeholder.search(each)] == []
    assert all(isinstance(yaml.safe_load(each), dict) for each in examples if each)
    assert len({each.splitlines()[2] for each in examples if each}) > 25


def test_who_has_an_example_in_the_documentation_needs_no_other():
    assert Function("states", "x.told", told).example == ""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(): pass\n", "all"),
        ("def __virtual__(): return False, 'needs a moon'\n", "all but where it refuses: needs a moon"),
        ("def __virtual__(): return True if x else (False, f'no {x} here')\n", "all but where it refuses: no … here"),
        ("def __virtual__(): return bool(x)\n", "those its __virtual__ accepts"),
        ("def __virtual__(): (\n", ""),
    ],
)
def test_platforms_are_read_from_the_source(tmp_path, source, said):
    (tmp_path / "m.py").write_text(source)
    assert platforms(str(tmp_path / "m.py")) == said


def test_what_cannot_be_read_has_no_platforms(tmp_path):
    assert platforms(str(tmp_path / "none.py")) == ""


def test_docstrings_become_markdown():
    assert markdown("A word. ::\n\n    code\n\nExample::\n\n    code") == "A word.\n\n    code\n\nExample:\n\n    code"


def test_a_page_tells_each_function_once_and_every_provider(tmp_path):
    files = []
    for name in ("apt", "yum"):
        files.append(tmp_path / f"{name}pkg.py")
        files[-1].write_text(f"def __virtual__(): return False, 'no {name}'\n")
    providers = [
        ProviderFile(str(files[0]), "Packages.\n\nMore.", {"hold": managed}),
        ProviderFile(str(files[1]), "Packages.", {"hold": managed, "told": told}),
    ]
    text = page("modules", "pkg", providers)
    assert text.startswith("# pkg\n\nExecution module. Packages.\n")
    assert (
        "| `aptpkg.py` | all but where it refuses: no apt |\n| `yumpkg.py` | all but where it refuses: no yum |" in text
    )
    assert text.count("## pkg.hold") == 1
    assert "```shell\nasyncstate call pkg.hold NAME MODE\n```" in text
    assert "## pkg.told" in text
    assert "asyncstate call pkg.told" not in text


@pytest.mark.feature("F167")
@pytest.mark.parametrize("kind", ["states", "modules"])
def test_every_bundled_function_says_what_it_does_and_how_it_is_called(kind):
    modules = bundled_modules(kind)
    assert {"file", "pkg", "service", "user", "cmd"} <= modules.keys()
    silent = []
    for name, providers in modules.items():
        text = page(kind, name, providers)
        for provider in providers:
            for function, func in provider.functions.items():
                one = Function(kind, f"{name}.{function}", func)
                assert f"## {one.name}\n" in text
                if not inspect.getdoc(func) or one.signature == "(...)":
                    silent.append(one.name)
                assert one.example or "::" in one.doc
    assert silent == []
