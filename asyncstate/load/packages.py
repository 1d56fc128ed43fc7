"""Installed packages of plugins: imported like any package, but with the builtins of plugins."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _PackageLoader:
    """Loads a module of a plugin package with the builtins of plugins."""

    def __init__(self, loader: Any, namespace: Mapping[str, Any]) -> None:
        self._loader = loader
        self._builtins = namespace

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module with its original loader."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with its original loader and the given builtins."""
        module.__dict__["__builtins__"] = self._builtins
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _PackageFinder:
    """Finds the modules of installed plugin packages through the other finders, and gives them `_PackageLoader`."""

    def __init__(self) -> None:
        self.packages: dict[str, Mapping[str, Any]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        namespace = self._builtins_of(fullname)
        if namespace is None:
            return None
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = _PackageLoader(spec.loader, namespace)  # type: ignore[assignment]  # it acts as one
                    return spec
        return None

    def _builtins_of(self, module: str) -> Mapping[str, Any] | None:
        for package, namespace in self.packages.items():
            if module == package or module.startswith(f"{package}."):
                return namespace
        return None


_finder = _PackageFinder()


def give_builtins(package: str, namespace: Mapping[str, Any]) -> None:
    """Use ``namespace`` as the builtins of all modules imported from an installed package from now on."""
    _finder.packages[package] = namespace
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
