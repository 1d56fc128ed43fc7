"""Examples for functions whose documentation has none, built from the examples of their arguments."""

from __future__ import annotations

from asyncstate.reference.entries import example_of

_MORE = {
    "cron.present": {"minute": "'30'", "hour": "'3'"},
    "file.append": {"text": "server a"},
    "file.blockreplace": {
        "marker_start": "'# begin'", "marker_end": "'# end'", "content": "port = 8080", "append_if_not_found": "True",
    },
    "file.decode": {"encoded_data": "cG9ydCA9IDgwODAK"},
    "file.directory": {"mode": "'0755'", "makedirs": "True"},
    "file.keyvalue": {"key": "port", "value": "'8080'", "separator": "' = '", "append_if_not_found": "True"},
    "file.line": {"mode": "ensure", "content": "port = 8080", "after": "^host"},
    "file.managed": {"source": "salt://app/app.conf", "mode": "'0644'"},
    "file.prepend": {"text": "server a"},
    "file.serialize": {"dataset": "{port: 8080}", "serializer": "json"},
    "test.check_pillar": {"present": "[app]"},
    "test.show_notification": {"text": "Read the release notes"},
}  # fmt: skip
"""What else an example needs, or is better with."""
_BESIDE = {
    "file.accumulated": """
    - require_in:
      - file: app

app:
  file.managed:
    - name: /etc/app.conf
    - source: salt://app/app.conf
    - template: jinja""",
}
"""What an example goes on with."""


def state_example(name: str, needed: list[str]) -> str:
    """Return SLS text that calls a state function with a name, the arguments ``needed``, and what they need beside."""
    arguments: dict[str, str] = {}
    for each in ("name", *needed):
        if each not in arguments:
            arguments |= example_of(name, each) or {each: "example"}
    arguments |= _MORE.get(name, {})
    lines = ["my-id:", f"  {name}:", *(f"    - {key}: {value}" for key, value in arguments.items())]
    return "\n".join(lines) + _BESIDE.get(name, "")


def call_example(name: str, needed: list[str]) -> str:
    """Return the command line that calls an execution function with the required arguments ``needed``."""
    return " ".join(["asyncstate call", name, *(each.upper() for each in needed)])
