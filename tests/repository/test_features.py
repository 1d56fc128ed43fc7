"""Every feature has a test that names it, every name is that of a feature, and the generated pages are up to date."""

import importlib.util
import sys

import pytest


@pytest.fixture(scope="module")
def generator(checkout):
    """docs/generate_compatibility.py as a module."""
    path = checkout / "docs" / "generate_compatibility.py"
    spec = importlib.util.spec_from_file_location("generate_compatibility", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    yield module if spec.loader.exec_module(module) is None else None
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def data(generator):
    return generator.load_features()


@pytest.fixture(scope="module")
def tests(generator):
    """The tests that name each ID."""
    return generator.marked_tests()


def test_every_feature_that_must_or_should_be_there_has_a_test(generator, data, tests):
    features = generator.rows_of(data)
    expected = {number for number, feature in features.items() if feature["priority"] in {"M", "S"}}
    expected -= {number for number in expected if "planned" in features[number]}
    expected |= {number for number in (*data["better"], *data["promised"]) if number not in data["coming"]}
    assert len(expected) > 130
    assert expected - tests.keys() == set()


def test_no_test_names_what_is_no_feature(generator, data, tests):
    known = {*generator.rows_of(data), *data["better"], *data["promised"]}
    assert tests.keys() - known == set()


def test_what_is_planned_says_why_and_every_deviation_has_a_reason(generator, data):
    features = generator.rows_of(data)
    assert {
        number for number, feature in features.items() if "deviation" in feature and not feature.get("why")
    } == set()
    assert {number for number, feature in features.items() if "planned" in feature and not feature["planned"]} == set()
    known = {"priority", "title", "deviation", "short", "why", "told", "planned"}
    assert {number: feature.keys() - known for number, feature in features.items() if feature.keys() - known} == {}


def test_a_difference_that_stands_in_another_list_names_its_entry(generator, data):
    elsewhere = {feature["told"] for feature in generator.rows_of(data).values() if "told" in feature}
    assert elsewhere <= {*data["better"], *data["promised"]}


def test_the_scoreboard_is_complete(generator, data):
    """The ranges of numbers given out to each part; what is missing in them is a gap in the list itself."""
    given = [
        (1, 23),
        (30, 35),
        (40, 63),
        (64, 96),
        (100, 112),
        (120, 125),
        (130, 139),
        (140, 147),
        (150, 167),
        (170, 179),
        (190, 197),
        (211, 216),
        (221, 229),
    ]
    expected = {f"F{number:03}" for first, last in given for number in range(first, last + 1)}
    assert generator.rows_of(data).keys() == expected
    assert list(data["better"]) == [f"B{number}" for number in range(1, 10)]


def test_the_generated_pages_are_up_to_date(generator, tests, monkeypatch):
    monkeypatch.setattr(generator, "marked_tests", lambda: tests)
    for path, text in generator.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run: python docs/generate_compatibility.py"


def test_marks_are_found_wherever_they_stand(generator, tmp_path, monkeypatch):
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "test_it.py").write_text(
        "import pytest\npytestmark = [pytest.mark.feature('F001'), pytest.mark.slow]\n"
        "@pytest.mark.feature('F002', 'F003')\n@pytest.mark.parametrize('a', [1])\nasync def test_one(a): ...\n"
        "class TestMore:\n    @pytest.mark.feature('F002')\n    def test_two(self): ...\n    def helper(self): ...\n"
    )
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    one, two = "deep/test_it.py::test_one", "deep/test_it.py::test_two"
    assert generator.marked_tests() == {"F001": [one, two], "F002": [one, two], "F003": [one]}
