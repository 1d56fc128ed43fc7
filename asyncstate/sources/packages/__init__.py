"""Knowledge of packages: this machine's database of installed ones, and lists of the contents of others."""

from __future__ import annotations

from asyncstate.sources.packages.known import KnownPackages, known_packages

__all__ = ["KnownPackages", "known_packages"]
