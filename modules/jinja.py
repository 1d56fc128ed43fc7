"""The ``jinja`` execution module: shows on the command line what templates import."""

from __future__ import annotations

import json
from typing import Any

from asyncstate import dunders


def load_map(path: str, value: str) -> Any:
    """Return a variable of a map file, such as ``jinja.load_map nginx/map.jinja nginx``."""
    return _rendered(f"{{% from {json.dumps(path)} import {value} with context %}}{{{{ {value} | tojson }}}}")


def import_yaml(path: str) -> Any:
    """Return the data of a YAML file as ``{% import_yaml %}`` does."""
    return _rendered(f"{{% import_yaml {json.dumps(path)} as data %}}{{{{ data | tojson }}}}")


def import_json(path: str) -> Any:
    """Return the data of a JSON file as ``{% import_json %}`` does."""
    return _rendered(f"{{% import_json {json.dumps(path)} as data %}}{{{{ data | tojson }}}}")


def _rendered(template: str) -> Any:
    services = dunders.runtime_services()
    return json.loads(services.render_data(template, default_renderer="jinja", context={}, saltenv="base"))
