"""Libraries that old releases of Salt imported from here, as Python's versions were too old."""

from __future__ import annotations

import importlib.metadata as importlib_metadata
import ipaddress
import subprocess
from xml.etree import ElementTree  # noqa: ICN001 - Salt's name

from asyncstate.extras.namespace.names import nothing_else

__all__ = ["ElementTree", "importlib_metadata", "ipaddress", "subprocess"]

__getattr__ = nothing_else(__name__)
