"""What is known of the packages of this machine: its database of installed packages, and lists of what others bring."""

from __future__ import annotations

from asyncstate.sources.packages.known import KnownPackages, known_packages

__all__ = ["KnownPackages", "known_packages"]
