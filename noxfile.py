"""What can be checked, one session each: ``.venv/bin/nox -l`` lists them, ``.venv/bin/nox -s full`` runs them all.

Sessions run in the environment nox itself runs in (``make test`` makes it, from the lock files); ``docs``, ``mutation``
and ``pythons`` have their own. Arguments after ``--`` go to pytest.
"""

import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "none"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["lint", "types", "tests"]

BIN = Path(sys.executable).parent
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PARALLEL = ["-n", "auto", "--dist", "worksteal"]
COUNTED = ["tests/model", "tests/compile", "tests/effects", "tests/run", "tests/ahead", "tests/resume", "tests/guard"]


def python(session: nox.Session, *args: str) -> None:
    """Run a module of the environment nox runs in."""
    session.run(sys.executable, "-m", *args, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, and the direction of imports."""
    python(session, "ruff", "check", ".")
    python(session, "ruff", "format", "--check", ".")
    session.run(str(BIN / "lint-imports"), external=True)
    if (extras := Path("tests", "extras", "importlinter.toml")).exists():
        session.run(str(BIN / "lint-imports"), "--config", str(extras), external=True)


@nox.session
def types(session: nox.Session) -> None:
    """What pyproject.toml names under the strict rules of mypy and pyright; no name of the package without a type."""
    python(session, "mypy")
    paths = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parent)}
    pyright = str(BIN / "basedpyright")
    session.run(pyright, env=paths, external=True)
    session.run(pyright, "--verifytypes", "asyncstate", "--ignoreexternal", env=paths, external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, three workers for two cores; arguments after ``--`` go to pytest."""
    python(session, "pytest", *PARALLEL, *session.posargs)


@nox.session(venv_backend="virtualenv", python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """Run the tests with each supported Python that is on the PATH, from the same lock files; nox says which is not."""
    for lock in ("build", "dev"):
        session.install("--require-hashes", "--no-deps", "-r", f"requirements/{lock}.txt")
    session.install("--no-deps", "--no-build-isolation", "--editable", ".")
    session.run("python", "-m", "pytest", *PARALLEL, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """See that the tests of what decides order and verdicts take its branches, all but one in twenty.

    Measuring multiplies the time a test takes, so the others and the properties run without it: they add no branch.
    """
    python(session, "pytest", *PARALLEL, "--cov", "--cov-report=", *COUNTED)
    python(session, "coverage", "report", "--skip-covered", "--fail-under=95")


@nox.session(venv_backend="virtualenv")
def mutation(session: nox.Session) -> None:
    """Change what decides order and verdicts in every small way: tests notice all but tests/mutation/survivors.md."""
    for lock in ("runtime", "build", "dev", "mutation"):
        session.install("--require-hashes", "--no-deps", "-r", f"requirements/{lock}.txt")
    folder = Path(session.create_tmp())
    for name in ("asyncstate", "states", "modules", "tests"):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(folder / "mutants", ignore_errors=True)
    shutil.copy("pyproject.toml", folder)
    session.run("python", "tests/mutation/run.py", str(folder))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Search for an hour, or ``-- MINUTES [FAMILY …]``, for input that the program does not take; keep it."""
    session.run(sys.executable, "tests/support/fuzz_hours.py", *(session.posargs or ("60",)), external=True)


@nox.session
def packaging(session: nox.Session) -> None:
    """Install the wheel, the sdist and the checkout into clean environments, and apply a tree from ``/`` with each."""
    session.run(".ci/packaging", external=True)


@nox.session
def fresh(session: nox.Session) -> None:
    """Run both commands of the README in a minimal Debian, as a user without rights; root builds it, in build/fresh."""
    session.run(".ci/fresh", "build/fresh", *(session.posargs or ("make quickstart", "make test")), external=True)


@nox.session
def real(session: nox.Session) -> None:
    """Apply trees for real, as root, in a throw-away Debian (built once, in build/debian)."""
    python(session, "pytest", "tests/real", "-m", "real", *session.posargs)


@nox.session
def servers(session: nox.Session) -> None:
    """Ask real servers, PostgreSQL, Docker and sshd, started as root in folders of their own."""
    session.run(".ci/server-tools", external=True)
    python(session, "pytest", "tests/servers", "tests/extras/fleet/ssh", "-m", "server", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Look at the page of a report in Chromium, unpacked with what drives it into build/browser-tools."""
    session.run(".ci/browser-tools", external=True, env={"PYTHON": sys.executable})
    python(session, "pytest", "tests", "-m", "browser", *session.posargs)


@nox.session
def salt(session: nox.Session) -> None:
    """Compare borrowed states with Salt, which is installed from the package index (once, in build/salt)."""
    python(session, "pytest", "tests", "-m", "salt", *session.posargs)


@nox.session
def platforms(session: nox.Session) -> None:
    """Drive other distributions' package managers and init systems, as root on Debian, in scratch roots."""
    session.run(".ci/platform-tools", external=True)
    python(session, "pytest", "tests/platforms", "-m", "platform", *session.posargs)


@nox.session
def budget(session: nox.Session) -> None:
    """Count what an apply costs, against the limits of benchmarks/budget.json; ``-- --record`` writes them anew."""
    session.run(".ci/budget-tools", external=True)
    session.run(sys.executable, "benchmarks/budget.py", *session.posargs, external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks; ``SALT_CALL`` names a salt-call to compare with."""
    for script in ("compile", "ordering", "dispatch", "apply", "memory", "tracing"):
        session.run(sys.executable, f"benchmarks/{script}.py", *session.posargs, external=True)


@nox.session
def performance(session: nox.Session) -> None:
    """Write docs/evidence/performance.md anew, from one run; ``SALT_CALL`` names a salt-call to compare with."""
    session.run(sys.executable, "benchmarks/performance.py", "--write", *session.posargs, external=True)


@nox.session
def compatibility(session: nox.Session) -> None:
    """Write the generated pages of docs/ anew: compatibility, guarantees, commands, and docs/evidence."""
    session.run(sys.executable, "docs/generate_compatibility.py", external=True)


@nox.session(venv_backend="virtualenv")
def docs(session: nox.Session) -> None:
    """Build the site; a broken link is an error."""
    session.install("--require-hashes", "--no-deps", "-r", "requirements/docs.txt", "-r", "requirements/runtime.txt")
    session.run("mkdocs", "build", "--strict")


@nox.session
def full(session: nox.Session) -> None:
    """Everything above, and the slow tests: about four hours on two cores."""
    for name in (
        "lint",
        "types",
        "tests",
        "coverage",
        "budget",
        *(f"pythons-{version}" for version in PYTHONS),
        "packaging",
        "fresh",
        "real",
        "servers",
        "platforms",
        "browser",
        "mutation",
        "bench",
        "docs",
    ):
        session.notify(name, ("-m", "slow or not (server or platform or real or browser)") if name == "tests" else ())
