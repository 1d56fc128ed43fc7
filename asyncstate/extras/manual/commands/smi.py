"""``asyncstate smi``: the interfaces of virtual modules, and their implementation by providers."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import Family, completes, option
from asyncstate.cli.options import config_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.extras.manual.providers import Conformance, Provider
    from asyncstate.interfaces import Interface
    from asyncstate.report.terminal import Palette


@click.group("smi", cls=Family)
def command(console: Console, /) -> None:
    """Check virtual modules against their interfaces."""
    console.answers_with_data = True


@command.command(
    "check",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate smi check", "Which functions every provider of every virtual module has or lacks."),
        ("asyncstate smi check pkg --out json", "The providers of one virtual module, as data."),
    ),
)
@click.argument("module", nargs=-1, shell_complete=completes("module_names"))
@config_options
def check(console: Console, /, module: tuple[str, ...], **options: Any) -> int:
    """Show for every provider of a virtual module which functions are ok, missing, incompatible or deprecated.

    MODULE is a virtual name such as pkg; without names, all are checked. Files of that name that follow no interface,
    and providers for other platforms, are compared with the interface too. The exit code is 1 if a provider cannot be
    called as its interface promises, or lacks a function that it does not declare as not implemented.
    """
    found, grains = _check_tree(console, options)
    unknown = [name for name in module if name not in found.interfaces]
    if unknown:
        raise _no_interface(unknown[0], list(found.interfaces))
    providers = {name: each for name, each in found.providers.items() if not module or name in module}
    console.answer(
        partial(_check_lines, providers, found, grains),
        lambda: {name: {each.name: _provider_data(each) for each in group} for name, group in providers.items()},
    )
    broken = any(each.is_broken for group in providers.values() for each in group)
    return 1 if broken or found.troubles else 0


@command.command(
    "show",
    forms=("human", "json", "yaml"),
    examples=(("asyncstate smi show user", "The functions a provider of user must have."),),
)
@click.argument("module", shell_complete=completes("module_names"))
@config_options
def show(console: Console, /, module: str, **options: Any) -> None:
    """Show an interface: its functions, their arguments, the platforms that need them, and what they return at least.

    MODULE is a virtual name such as pkg.
    """
    interfaces = _check_tree(console, options)[0].interfaces
    if module not in interfaces:
        raise _no_interface(module, list(interfaces))
    described = _interface_data(interfaces[module])
    console.answer(partial(_interface_lines, interfaces[module], described), lambda: {module: described})


@command.command(
    "generate",
    examples=(
        ("asyncstate smi generate network", "An interface from an execution module."),
        ("asyncstate smi generate ./_modules/aptly.py --as repo", "From a file, under another virtual name."),
    ),
)
@click.argument("module", shell_complete=completes("module_names"))
@option("--as", "virtual_name", metavar="NAME", help="The virtual name. Default: the module's.")
@option(
    "--output",
    type=click.Path(dir_okay=False),
    help="Write to FILE, which must not exist.",
)
@config_options
def generate(console: Console, /, module: str, virtual_name: str | None, output: str | None, **options: Any) -> None:
    """Write an interface from the functions of a reference module.

    MODULE is the name of an execution module's file, or a path that ends in .py.
    """
    from asyncstate.extras.manual.interface_source import interface_source
    from asyncstate.extras.manual.providers import namespace_of, plugin_files
    from asyncstate.load.folders import PluginFile, PluginFolder
    from asyncstate.load.virtual import exported_functions
    from asyncstate.runtime import StateRuntime

    with StateRuntime(console.settings(options)).open_sync() as runtime, runtime.host.enter():
        if module.endswith(".py"):
            path = Path(module).resolve()
            plugin = PluginFile(path.stem, str(path), PluginFolder(str(path.parent)))
        else:
            files = plugin_files(runtime.host.opts, runtime.host.file_client)
            if module not in files:
                raise _no_interface(module, list(files), "execution module file")
            plugin = files[module]
        namespace = namespace_of(plugin)
        name = virtual_name or str(getattr(namespace, "__virtualname__", plugin.name))
        text = interface_source(name, exported_functions(namespace))
    if output is None:
        console.write(text)
        return
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise click.UsageError(f"{output} exists already and is not changed") from error


def _check_tree(console: Console, options: dict[str, Any]) -> tuple[Conformance, Mapping[str, Any]]:
    from asyncstate.extras.manual.providers import (
        bundled_interfaces,
        check_providers,
        plugin_files,
        tree_interfaces,
    )
    from asyncstate.runtime import StateRuntime

    with StateRuntime(console.settings(options)).open_sync() as runtime, runtime.host.enter():
        host = runtime.host
        of_tree, troubles = tree_interfaces(host.opts, host.file_client)
        interfaces = {**bundled_interfaces(), **of_tree}
        files, chosen = plugin_files(host.opts, host.file_client), host.opts.get("providers")
        return check_providers(files, host.grains, interfaces, troubles, chosen), host.grains


def _no_interface(name: str, known: list[str], what: str = "interface") -> click.UsageError:
    from asyncstate.nearest import nearest

    near = nearest(name, known)
    hint = f"Did you mean {near}?" if near else f"There are: {', '.join(sorted(known))}"
    return click.UsageError(f"there is no {what} {name!r}. {hint}")


def _provider_data(provider: Provider) -> dict[str, Any]:
    functions = {
        finding.function: {
            "status": str(finding.status),
            **({"details": list(finding.details)} if finding.details else {}),
            **({"notes": list(finding.notes)} if finding.notes else {}),
        }
        for finding in provider.findings
    }
    return {
        "file": provider.file,
        "follows": provider.follows,
        "functions": functions,
        **({"error": provider.trouble} if provider.trouble else {}),
    }


def _check_lines(
    groups: Mapping[str, list[Provider]], found: Conformance, grains: Mapping[str, Any], palette: Palette
) -> Iterator[str]:
    from asyncstate.extras.manual.providers import unknown_grains

    for name, providers in groups.items():
        yield palette.paint(palette.bold, name) + f"  ({type(providers[0].interface).__name__})"
        yield from _matrix(providers, palette)
        for provider in providers:
            if provider.trouble:
                yield palette.paint(palette.red, f"  {provider.name}: {provider.trouble}")
            for finding in provider.findings:
                for detail in finding.details:
                    yield palette.paint(palette.red, f"  {provider.name}.{finding.function} {detail}")
                if finding.status == "missing":
                    yield palette.paint(palette.red, f"  {provider.name}.{finding.function} is missing")
                if finding.status == "not implemented" and finding.notes:
                    yield f"  note: {provider.name}.{finding.function} is not implemented: {finding.notes[0]}"
            if provider.chosen:
                yield f"  note: the setting providers chooses {provider.file}: no other file provides {name} here"
            elif not provider.follows:
                yield f"  note: {provider.file} follows no interface; as in Salt, the next file may add what it lacks"
        for function, unknown in unknown_grains(providers[0].interface, grains).items():
            yield f"  note: {function} depends on grains that this machine does not have: {', '.join(unknown)}"
        for file in found.additions.get(name, ()):
            yield f"  note: {file} adds to {name} functions that the interface does not have"
        yield ""
    for file, trouble in found.troubles.items():
        yield palette.paint(palette.red, f"{file} cannot be imported: {trouble}")


def _matrix(providers: list[Provider], palette: Palette) -> Iterator[str]:
    colours = {
        "ok": palette.green,
        "incompatible": palette.red,
        "deprecated": palette.yellow,
        "missing": palette.red,
        "not implemented": palette.yellow,
    }
    table = {each.name: {finding.function: str(finding.status) for finding in each.findings} for each in providers}
    rows = list(dict.fromkeys(function for column in table.values() for function in column))
    width = max(map(len, rows), default=0)
    widths = {name: max(len(name), *map(len, column.values()), 0) for name, column in table.items()}
    yield "  " + " " * width + "".join(f"  {name:<{widths[name]}}" for name in table)
    for function in rows:
        cells = []
        for name, column in table.items():
            status = column.get(function, "")
            cells.append("  " + palette.paint(colours.get(status, ""), f"{status:<{widths[name]}}"))
        yield f"  {function:<{width}}{''.join(cells)}".rstrip()


def _interface_data(interface: Interface) -> dict[str, Any]:
    from asyncstate.interfaces import describe, functions_of

    return {
        name: {
            "signature": _plain(declared.signature),
            "doc": declared.doc,
            **({"supported": describe(declared.supported)} if declared.supported else {}),
            **({"not_applicable": describe(declared.not_applicable)} if declared.not_applicable else {}),
        }
        for name, declared in functions_of(interface).items()
    }


def _plain(signature: Any) -> str:
    import inspect

    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _interface_lines(interface: Interface, functions: Mapping[str, Any], palette: Palette) -> Iterator[str]:
    import inspect

    where = os.path.relpath(inspect.getfile(type(interface)))
    yield palette.paint(palette.bold, f"{interface}") + f"  ({type(interface).__name__}, {where})"
    for name, described in functions.items():
        yield ""
        yield f"  {palette.paint(palette.bold, name)}{described['signature']}"
        yield from (f"      {line}" for line in described["doc"].splitlines())
        if "supported" in described:
            yield f"      Only on {described['supported']}."
        if "not_applicable" in described:
            yield f"      Not applicable on {described['not_applicable']}."
