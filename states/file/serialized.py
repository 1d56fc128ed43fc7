"""``file.serialize`` and ``file.decode``: files made from data."""

from __future__ import annotations

from typing import Any

from asyncstate import filesystem
from asyncstate.data import serializers
from asyncstate.dunders import Row, __env__, __salt__, failed, is_dry_run, make_row, unchanged, would_change
from asyncstate.errors import CommandExecutionError

from .arguments import expand, impossible_mode, misspelt, normalize_mode
from .managed import check_copy, check_refused


def serialize(
    name: str,
    dataset: Any = None,
    dataset_pillar: str | None = None,
    user: str | int | None = None,
    group: str | int | None = None,
    mode: Any = None,
    backup: Any = "",
    makedirs: bool = False,
    show_changes: bool = True,
    create: bool = True,
    merge_if_exists: bool = False,
    encoding: str | None = None,
    encoding_errors: str = "strict",
    serializer: str | None = None,
    serializer_opts: Any = None,
    deserializer_opts: Any = None,
    check_cmd: str | None = None,
    tmp_dir: str | None = None,
    tmp_ext: str = "",
    **kwargs: Any,
) -> Row:
    """Write a dataset as yaml, json or ini text (``serializer``, or ``formatter``).

    ``merge_if_exists`` merges it over the data that the file has; ``changes["diff"]`` then names the keys.
    """
    kwargs.pop("env", None)
    name = expand(name)
    if not name:
        return failed(name, "Must provide name to file.serialize")
    problem = misspelt(name)
    if problem:
        return failed(name, problem)
    if not create and not filesystem.is_file(name):
        return unchanged(name, f"File {name} is not present and is not set for creation")
    formatter = kwargs.pop("formatter", None)
    if serializer and formatter:
        return failed(name, "Only one of serializer and formatter are allowed")
    kind = str(serializer or formatter or "yaml").lower()
    if dataset and dataset_pillar:
        return failed(name, "Only one of 'dataset' and 'dataset_pillar' is permitted")
    if dataset_pillar:
        dataset = __salt__["pillar.get"](dataset_pillar)
    if dataset is None:
        return failed(name, "Neither 'dataset' nor 'dataset_pillar' was defined")
    if kind not in serializers.names():
        return failed(
            name,
            f"The {kind} serializer could not be found. It either does not exist or its prerequisites are not "
            "installed.",
        )
    if problem := impossible_mode(normalize_mode(mode)):
        return failed(name, problem)
    filesystem.resolved(name)
    old = None
    notes: Row = {}
    try:
        if merge_if_exists and filesystem.is_file(name):
            old = serializers.deserialize(kind, filesystem.read_bytes(name), _options(deserializer_opts))
        elif deserializer_opts and not merge_if_exists:
            notes = {"warnings": ["The 'deserializer_opts' option is ignored unless merge_if_exists is set to True."]}
        if old is not None:
            merged = serializers.merged(old, dataset)
            if merged == old:
                return unchanged(name, f"The file {name} is in the correct state")
            dataset = merged
        text = serializers.serialize(kind, dataset, _options(serializer_opts), encoding=encoding) + "\n"
    except (CommandExecutionError, OSError, UnicodeError) as error:
        return failed(name, str(error)) | notes
    wanted = {"user": user, "group": group, "mode": normalize_mode(mode)}
    coded = {"encoding": encoding, "encoding_errors": encoding_errors}
    try:
        if is_dry_run():
            row = _dry_run(name, wanted, text, coded, show_changes=show_changes, makedirs=makedirs)
            row = (check_refused(name, check_cmd, tmp_dir, tmp_ext, row) if check_cmd else row) | notes
        else:
            placement = {
                **_nothing_fetched(),
                **wanted,
                "saltenv": str(__env__),
                "show_changes": show_changes,
                "contents": text,
                **coded,
            }
            row = unchanged(name) | notes
            refusal = check_copy(name, check_cmd, tmp_dir, tmp_ext, placement) if check_cmd else None
            if refusal is not None:
                return row | refusal
            row = __salt__["file.manage_file"](name, ret=row, backup=backup, makedirs=makedirs, **placement)
    except LookupError as error:  # an unknown encoding or error handler
        return failed(name, f"Unable to manage file: {error}") | notes
    if isinstance(old, dict) and isinstance(dataset, dict):
        row["changes"]["diff"] = serializers.differences(old, dataset)
    return row


def _nothing_fetched() -> dict[str, Any]:
    return {"sfn": "", "source": None, "source_sum": {}, "attrs": None, "template": None, "keep_mode": False}


def _options(given: Any) -> dict[str, Any]:
    """Return options written as a mapping, or as a list of mappings. Raises CommandExecutionError for anything else."""
    if given and not isinstance(given, (dict, list)):
        raise CommandExecutionError(f"the options of a serializer must be a mapping, not {given!r}")
    if isinstance(given, list):
        return {key: value for item in given if isinstance(item, dict) for key, value in item.items()}
    return dict(given or {})


def _dry_run(
    name: str, wanted: dict[str, Any], text: str, encoding: dict[str, Any], *, show_changes: bool, makedirs: bool
) -> Row:
    changes = __salt__["file.check_managed_changes"](
        name=name,
        source=None,
        source_hash={},
        source_hash_name=None,
        attrs=None,
        template=None,
        context=None,
        defaults=None,
        saltenv=str(__env__),
        contents=text,
        follow_symlinks=filesystem.foretells(),
        makedirs=makedirs,
        **wanted,
        **(encoding if filesystem.foretells() else {}),
    )
    if isinstance(changes, tuple):
        return failed(name, changes[1])
    if not changes:
        return unchanged(name, f"The file {name} is in the correct state")
    hidden = {} if show_changes else {"diff": "<show_changes=False>"}
    return would_change(name, f"Dataset will be serialized and stored into {name}", {**changes, **hidden})


def decode(
    name: str,
    encoded_data: str | None = None,
    contents_pillar: str | None = None,
    encoding_type: str = "base64",
    checksum: str = "md5",
) -> Row:
    """Write the bytes that base64 text encodes; the changes are the old and the new checksum."""
    problem = misspelt(name) or (f"Specified target {name} is a directory" if filesystem.is_directory(name) else "")
    if problem:
        return failed(name, problem)
    if not (encoded_data or contents_pillar):
        return failed(name, "Specify either the 'encoded_data' or 'contents_pillar' argument.")
    if encoded_data and contents_pillar:
        return failed(name, "Specify only one 'encoded_data' or 'contents_pillar' argument.")
    content = encoded_data or __salt__["pillar.get"](contents_pillar, False)
    if content is False:
        return failed(name, "Pillar data not found.")
    new = __salt__["hashutil.digest"](__salt__["hashutil.base64_decodestring"](content), checksum)
    old = __salt__["hashutil.digest_file"](name, checksum) if filesystem.is_file(name) else None
    if old == new:
        return unchanged(name, "File is in the correct state.")
    changes = {"old": old, "new": new}
    if not filesystem.room_for(name, follow=True):
        return failed(name, "Parent directory not present")
    if is_dry_run():
        return would_change(name, "File is set to be updated.", changes)
    return make_row(name, "File was updated.", changes, result=__salt__["hashutil.base64_decodefile"](content, name))
