"""A small tree whose plugins import ``salt``, and the concurrencies at which it is applied."""

from __future__ import annotations

import pytest
from feature_trees import Tree


@pytest.fixture
def feature_tree(tmp_path):
    return Tree(tmp_path)


@pytest.fixture(params=[1, 16], ids=["one", "sixteen"])
def width(request):
    return request.param
