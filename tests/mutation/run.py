"""Run mutmut where the sources were copied to, and compare what survives with tests/mutation/survivors.md.

``python tests/mutation/run.py FOLDER``: exit code 1 if another mutant survives, or one of the list does not.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

NOTICED = ("killed", "timeout")
LIST = Path(__file__).with_name("survivors.md")


def say(text):
    """Put a line on standard output, before anything a program started from here says."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def mutmut(folder, *words):
    """The output of one mutmut command."""
    environ = {**os.environ, "HYPOTHESIS_PROFILE": "mutation"}
    command = [str(Path(sys.executable).with_name("mutmut")), *words]
    return subprocess.run(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True, check=True).stdout


def changed_lines(diff):
    """What a diff takes away and puts in place of it, without where."""
    return "\n".join(line for line in diff.splitlines() if re.match(r"[-+](?![-+]{2} )", line))


def survivors(folder):
    """The name of each mutant that no test noticed, and what it changed."""
    mutmut(folder, "run")
    every = re.findall(r"^\s+(\S+): (.+)$", mutmut(folder, "results", "--all", "true"), re.MULTILINE)
    tally = Counter(status for _, status in every)
    say(", ".join(f"{count} {status}" for status, count in tally.items()))
    return {name: changed_lines(mutmut(folder, "show", name)) for name, status in every if status not in NOTICED}


def expected():
    """The changes that are listed."""
    return re.findall(r"```diff\n(.+?)\n```", LIST.read_text(encoding="utf-8"), re.DOTALL)


def main():
    """Say what differs from the list."""
    found = survivors(sys.argv[1])
    listed = Counter(expected())
    unexpected = Counter(found.values()) - listed
    for name, change in found.items():
        if unexpected[change]:
            say(f"no test notices {name}:\n{change}")
    for change in listed - Counter(found.values()):
        say(f"listed in {LIST.name}, and noticed by a test or gone:\n{change}")
    return 1 if Counter(found.values()) != listed else 0


if __name__ == "__main__":
    sys.exit(main())
