"""A small tree to prove features with, and the concurrencies at which they hold."""

from __future__ import annotations

import pytest
from feature_trees import Tree


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.fixture
def sls(tree):
    """Write a.sls, and return the tree."""
    return lambda text: tree.write({"a.sls": text})


@pytest.fixture(params=[1, 16], ids=["one", "sixteen"])
def width(request):
    return request.param
