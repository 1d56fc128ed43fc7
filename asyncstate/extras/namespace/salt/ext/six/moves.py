"""``salt.ext.six.moves``: built-ins and standard modules under the names ``six`` gave them."""

from __future__ import annotations

import importlib
from typing import Any

from asyncstate.extras.namespace.names import absent

_WHERE = {
    "filter": "builtins.filter",
    "filterfalse": "itertools.filterfalse",
    "getcwd": "os.getcwd",
    "getcwdb": "os.getcwdb",
    "input": "builtins.input",
    "intern": "sys.intern",
    "map": "builtins.map",
    "range": "builtins.range",
    "reduce": "functools.reduce",
    "reload_module": "importlib.reload",
    "shlex_quote": "shlex.quote",
    "StringIO": "io.StringIO",
    "cStringIO": "io.StringIO",
    "BytesIO": "io.BytesIO",
    "UserDict": "collections.UserDict",
    "UserList": "collections.UserList",
    "UserString": "collections.UserString",
    "xrange": "builtins.range",
    "zip": "builtins.zip",
    "zip_longest": "itertools.zip_longest",
}
_MODULES = {
    "builtins": "builtins",
    "configparser": "configparser",
    "copyreg": "copyreg",
    "cPickle": "pickle",
    "email_mime_multipart": "email.mime.multipart",
    "email_mime_text": "email.mime.text",
    "http_client": "http.client",
    "http_cookiejar": "http.cookiejar",
    "http_cookies": "http.cookies",
    "html_entities": "html.entities",
    "html_parser": "html.parser",
    "queue": "queue",
    "socketserver": "socketserver",
    "urllib": "urllib",
    "urllib_error": "urllib.error",
    "urllib_parse": "urllib.parse",
    "xmlrpc_client": "xmlrpc.client",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module, _, attribute = _WHERE[name].rpartition(".")
        return getattr(importlib.import_module(module), attribute)
    if name in _MODULES:
        if name == "urllib":
            for part in ("error", "parse", "request"):
                importlib.import_module(f"urllib.{part}")
        return importlib.import_module(_MODULES[name])
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(absent(f"salt.ext.six.moves.{name}"))
