"""Bring one rendered SLS into the form of high data: ``{id: {module: [function, {argument: value}, …]}}``.

It works in place, as Salt does: a list that two IDs share through a YAML anchor stays shared, and gets the functions
of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncstate.model.requisite import REFERENCES

if TYPE_CHECKING:
    from asyncstate.compile.findings import Findings

EXTEND: Final = "__extend__"
"""Key of high data beside the IDs: the ``extend`` declarations, until they are applied."""

EXCLUDE: Final = "__exclude__"
"""Key of high data beside the IDs: the ``exclude`` declarations, until they are applied."""

BESIDE_IDS: Final = frozenset({"include", "extend", "exclude"})
"""Declarations of a whole SLS file, which stand beside its IDs."""

ID_REQUISITES = frozenset({*REFERENCES, "onfail_stop"}) - {"prerequired"}
"""Keys that, directly under an ID, are a requisite of each of its states."""


def take_extends(data: dict[Any, Any], sls: str, env: str, findings: Findings) -> dict[Any, Any] | None:
    """Remove and return the ``extend`` declaration: dotted keys split, entries marked with SLS and environment."""
    if "extend" not in data:
        return None
    extends = data.pop("extend")
    if not isinstance(extends, dict):
        findings.error("E216", f"Extension value in SLS '{sls}' is not a dictionary", env=env, sls=sls, id_="extend")
        return None
    for name in list(extends):
        body = extends[name]
        if not isinstance(body, dict):
            message = f"Extension name '{name}' in SLS '{sls}' is not a dictionary"
            findings.error("E216", message, env=env, sls=sls, id_="extend")
            del extends[name]
            continue
        _mark(body, name, sls, env, findings)
        for key in list(body):
            if isinstance(key, str) and not key.startswith("_") and "." in key and isinstance(body[key], list):
                module, function = key.split(".")[:2]
                body[module] = body.pop(key)
                body[module].append(function)
    return extends


def take_excludes(data: dict[Any, Any], sls: str, env: str, findings: Findings) -> list[Any]:
    """Remove and return the ``exclude`` declaration."""
    if "exclude" not in data:
        return []
    excludes = data.pop("exclude")
    if not isinstance(excludes, list):
        message = f"Exclude Declaration in SLS {sls} is not formed as a list"
        findings.error("E219", message, env=env, sls=sls, id_="exclude")
        return []
    return excludes


def exclusion(text: Any) -> Any:
    """Return what a text on a command line excludes: ``NAME`` and ``sls:NAME`` an SLS, ``id:NAME`` an ID."""
    kind, colon, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    return {kind: name} if colon and kind in {"id", "sls"} and name else text


def fits_nothing(item: Any, *, typed: bool = False) -> str:
    """Return the warning about an exclusion that the tree does not have. ``typed``: a text on a command line."""
    item = exclusion(item) if typed else item
    is_id = isinstance(item, dict) and "id" in item
    value = next(iter(item.values()), "") if isinstance(item, dict) else item
    return f"There is no {'ID' if is_id else 'SLS'} {str(value)!r} that could be excluded"


def normalise(data: dict[Any, Any], sls: str, env: str, findings: Findings) -> None:
    """Split ``module.function`` keys and short declarations, and mark every ID with its SLS and environment.

    Dotted keys move behind the undotted ones of their ID; the automatic order follows from that. IDs with an unreadable
    body are reported and removed.
    """
    unreadable = []
    for id_, body in data.items():
        if isinstance(body, dict):
            _normalise_body(id_, body, sls, env, findings)
        elif isinstance(body, str) and "." in body:
            parts = body.split(".")
            if len(parts) > 2:
                _warn_extra_dots(body, id_, sls, env, findings)
            data[id_] = {"__sls__": sls, "__env__": env, parts[0]: [parts[1]]}
        else:
            hint = f"write the function below the ID: {id_}: {{module.function: [arguments]}}"
            # An include that is not a list stays where the IDs are, as in Salt, and has been reported.
            hint = "" if id_ in BESIDE_IDS else hint
            if isinstance(id_, str) and id_ != id_.strip():
                hint = "it begins or ends with a blank that is none for YAML, such as a no-break space: write it anew"
            findings.error("E202", f"ID {id_} in SLS {sls} is not a dictionary", env=env, sls=sls, id_=id_, hint=hint)
            unreadable.append(id_)
    for id_ in unreadable:
        del data[id_]


def _normalise_body(id_: Any, body: dict[Any, Any], sls: str, env: str, findings: Findings) -> None:
    modules: set[str] = set()
    shared: list[str] = []
    twice = False
    for key in list(body):
        if not isinstance(key, str):
            message = f"ID '{id_}' in SLS '{sls}' declares a state '{key}' that is not formed as a string"
            findings.error("E203", message, env=env, sls=sls, id_=id_)
            del body[key]
            continue
        if key.startswith("_"):
            continue
        if key in ID_REQUISITES:
            shared.append(key)
            continue
        if not isinstance(body[key], list):
            continue
        module = key
        if "." in key:
            parts = key.split(".")
            module = parts[0]
            if len(parts) > 2:
                _warn_extra_dots(key, id_, sls, env, findings)
            if module not in modules:
                if module in body:
                    _warn_replaced(key, id_, sls, env, findings)
                arguments = body[module] = body.pop(key)
                arguments.append(parts[1])
                modules.add(module)
                continue
        if module != key:
            del body[key]
            twice = True
        modules.add(module)
    if twice:
        message = f"ID '{id_}' in SLS '{sls}' contains multiple state declarations of the same type"
        findings.error("E209", message, env=env, sls=sls, id_=id_, hint="give one of them another ID")
    if shared:
        if not modules:
            findings.error("E206", f"No function declared in state '{id_}' in SLS '{sls}'", env=env, sls=sls, id_=id_)
        findings.shared_requisites.add(id_)
        _share_requisites(body, modules, shared)
    _mark(body, id_, sls, env, findings)


def _mark(body: dict[str, Any], id_: Any, sls: str, env: str, findings: Findings) -> None:
    """Write SLS and environment into the body of an ID, unless the body already has them, as Salt allows."""
    for key, own in (("__sls__", sls), ("__env__", env)):
        if not isinstance(body.setdefault(key, own), str):
            body[key] = own
            message = f"ID '{id_}' in SLS '{sls}' sets '{key}', which is not formed as a string"
            findings.error("E211", message, env=env, sls=sls, id_=id_)


def _share_requisites(body: dict[str, Any], modules: set[str], keys: list[str]) -> None:
    """Give every state of an ID the requisites directly under the ID."""
    for key in keys:
        value = body.pop(key)
        for module in [module for module in body if module in modules]:
            if isinstance(value, list):
                merge_requisite(body[module], key, list(value))
            else:
                body[module].append({key: value})


def merge_requisite(arguments: list[Any], key: str, references: list[Any]) -> None:
    """Add references to the requisite ``key`` of a state, as a new block if it has none."""
    found = False
    for argument in arguments:
        if isinstance(argument, dict) and next(iter(argument), None) == key and isinstance(argument[key], list):
            argument[key].extend(references)
            found = True
    if not found:
        arguments.append({key: references})


def misplaced(word: str) -> str:
    """Return where to write ``word``, a declaration of the file that stands below an ID; "" if it is another word."""
    return f"'{word}' belongs beside the IDs, at the start of a line" if word in BESIDE_IDS else ""


def _warn_replaced(key: str, id_: Any, sls: str, env: str, findings: Findings) -> None:
    module = key.split(".", 1)[0]
    message = f"'{module}' in state '{id_}' in SLS '{sls}' is ignored: '{key}' stands before it and takes its place"
    findings.warn("W104", message, env=env, sls=sls, id_=id_)


def _warn_extra_dots(text: str, id_: Any, sls: str, env: str, findings: Findings) -> None:
    kept = ".".join(text.split(".")[:2])
    message = f"'{text}' in state '{id_}' in SLS '{sls}' has more than one dot; what runs is '{kept}'"
    findings.warn("W103", message, env=env, sls=sls, id_=id_)
