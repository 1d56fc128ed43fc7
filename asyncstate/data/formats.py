"""Conversion of data to text and back: YAML, JSON, INI and TOML, for the serializers of states and modules.

Text that cannot be read, and data that a format cannot hold, raise ValueError or TypeError with the library's message.
A library is imported when its format is used: most runs need none.
"""

from __future__ import annotations

from typing import Any

from asyncstate.data.merging import plain


def yaml_text(data: Any, **options: Any) -> str:
    """Return YAML without a newline at its end; ``options`` are those of ``yaml.dump``."""
    import yaml  # noqa: PLC0415

    try:
        text = str(yaml.dump(plain(data), Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), **options))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return text.removesuffix("\n...\n").removesuffix("\n")


def yaml_data(text: str | bytes) -> Any:
    """Return the data of a YAML text, its dates as dates: this is standard YAML, not Salt's dialect.

    Text that is too deep, or too large with its aliases expanded, is refused, too.
    """
    import yaml  # noqa: PLC0415

    from asyncstate.data.standard_yaml import load_standard_yaml  # noqa: PLC0415

    try:
        return load_standard_yaml(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def json_text(data: Any, **options: Any) -> str:
    """Return JSON; ``options`` are those of ``json.dumps``."""
    import json  # noqa: PLC0415

    return json.dumps(data, **options)


def json_data(text: str | bytes, **options: Any) -> Any:
    """Return the data of a JSON text; ``options`` are those of ``json.loads``."""
    import json  # noqa: PLC0415

    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def ini_text(data: Any, **options: Any) -> str:
    """Return ``{section: {option: value}}`` as an INI file; ``options`` are those of ``ConfigParser``."""
    import configparser  # noqa: PLC0415
    import io  # noqa: PLC0415

    if not isinstance(data, dict):
        raise TypeError(f"configparser can only serialize dictionaries, not {type(data)}")
    parser = configparser.ConfigParser(**options)
    stream = io.StringIO()
    try:
        parser.read_dict(data)
        parser.write(stream)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    return stream.getvalue()


def ini_data(text: str | bytes, **options: Any) -> dict[str, dict[str, str]]:
    """Return ``{section: {option: value}}`` of an INI file; ``options`` are those of ``ConfigParser``."""
    import configparser  # noqa: PLC0415

    parser = configparser.ConfigParser(**options)
    try:
        parser.read_string(text if isinstance(text, str) else text.decode())
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except configparser.Error as error:
        raise ValueError(str(error)) from error


def toml_data(text: str | bytes) -> dict[str, Any]:
    """Return the data of a TOML text."""
    import tomllib  # noqa: PLC0415

    return tomllib.loads(text if isinstance(text, str) else text.decode())
