"""The process that runs cases."""

from fuzz_cases import run_case

__all__ = ["run_case"]
