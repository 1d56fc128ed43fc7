"""The ``greeting`` execution module: reads and writes greetings. The work is here, the states only look."""

import os
import tempfile


def read(path: str) -> str | None:
    """Return the greeting in a file, None if there is none.

    asyncstate call greeting.read /etc/greeting
    """
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().rstrip("\n")
    except FileNotFoundError:
        return None


def write(greetings: dict[str, str]) -> dict[str, str]:
    """Write greetings by path, each whole or not at all; return them.

    asyncstate call greeting.write '{/etc/greeting: hello}'
    """
    for path, text in greetings.items():
        handle, beside = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".greeting-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
        os.replace(beside, path)
    return greetings


def announce(path: str) -> bool:
    """Touch a file, so that whoever shows the greeting reads it again.

    asyncstate call greeting.announce /etc/greeting
    """
    os.utime(path)
    return True
