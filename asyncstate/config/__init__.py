"""Settings: Salt's minion options with types, and the sources they are read from.

An existing ``/etc/salt/minion`` works unchanged: names and defaults are Salt 3008's, and options unknown to
this package are kept and reach plugins through ``__opts__``. Later sources win: configuration files in the
order given (nested mappings are merged), the project's file, ``ASYNCSTATE_<OPTION>`` in the environment (its value is
YAML), flags of the command line.
"""

from asyncstate.config.files import default_files, find_project
from asyncstate.config.loading import load_settings
from asyncstate.config.settings import Settings

__all__ = ["Settings", "default_files", "find_project", "load_settings"]
