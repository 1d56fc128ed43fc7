"""What the recorders of Salt's answers share: a minion in a folder that is thrown away, arguments that name it, and files."""

from __future__ import annotations

import json


def minion_options(folder, roots, **more):
    """Return the options of a minion that keeps all of its own in ``folder``; ``roots`` are its file roots."""
    import salt.config

    opts = salt.config.minion_config(None)
    own = {name: f"{folder}/{name}" for name in ("cachedir", "pki_dir", "sock_dir", "log_file")}
    opts.update(file_client="local", file_roots={"base": [str(roots)]}, root_dir=str(folder), id="here", **own)
    opts.update({"pillar_roots": {"base": [f"{folder}/pillar"]}, **more})
    return opts


def filled(value, texts):
    """Put texts in place of their marks, such as ``{root}``, everywhere in arguments."""
    if isinstance(value, str):
        for mark, text in texts.items():
            value = value.replace(mark, str(text))
        return value
    if isinstance(value, dict):
        return {filled(key, texts): filled(item, texts) for key, item in value.items()}
    return [filled(item, texts) for item in value] if isinstance(value, list) else value


def write_lines(path, found):
    """Write a table as JSON, one entry a line."""
    lines = ",\n".join(f"{json.dumps(title)}: {json.dumps(each)}" for title, each in found.items())
    path.with_suffix(".new").write_text(f"{{\n{lines}\n}}\n")
    path.with_suffix(".new").replace(path)
