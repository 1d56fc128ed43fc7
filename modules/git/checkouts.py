"""Making repositories and changing what is checked out in them."""

from __future__ import annotations

from typing import Any

from asyncstate import filesystem
from asyncstate.errors import InvocationError

from .ahead import clone_from_prefetched
from .programs import expanded, run, split_options, with_credentials


def clone(
    cwd: str,
    url: str | None = None,
    name: str | None = None,
    opts: Any = "",
    user: str | None = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    **options: Any,
) -> bool:
    """Clone the repository at ``url`` to ``cwd``, or to ``name`` below it. CommandExecutionError if that fails.

    CLI Example::

        asyncstate call git.clone /srv/app https://example.com/app.git
    """
    where = expanded(cwd, user)
    if not url:
        raise InvocationError("Missing 'url' argument")
    address = with_credentials(url, https_user, https_pass)
    wanted = split_options(opts)
    arguments = ["clone", *wanted, "--", address]
    if name is not None:
        filesystem.makedirs(where)
        run([*arguments, name], where, user=user, **options)
    else:
        filesystem.require_unshared(where, "git", user, make=True)
        if not clone_from_prefetched(address, where, wanted, user=user, **options):
            run([*arguments, where], "/", user=user, **options)
    return True


def init(
    cwd: str,
    bare: bool = False,
    template: str | None = None,
    separate_git_dir: str | None = None,
    shared: Any = None,
    opts: Any = "",
    user: str | None = None,
    **options: Any,
) -> str:
    """Make an empty repository at ``cwd`` and return git's output. ``shared`` is a mode, or a value that git knows."""
    arguments = ["init", *(["--bare"] if bare else [])]
    if template is not None:
        arguments.append(f"--template={template}")
    if separate_git_dir is not None:
        arguments.append(f"--separate-git-dir={separate_git_dir}")
    if shared is not None:
        if isinstance(shared, int) and not isinstance(shared, bool):
            shared = f"0{shared}"
        arguments.append(f"--shared={shared if isinstance(shared, str) else str(shared).lower()}")
    where = expanded(cwd, user)
    filesystem.require_unshared(where, "git", user, make=True)
    return str(run([*arguments, *split_options(opts), where], user=user, **options)["stdout"])


def checkout(
    cwd: str, rev: str | None = None, force: bool = False, opts: Any = "", user: str | None = None, **options: Any
) -> str:
    """Check out a branch or commit; ``force`` discards local changes, ``opts: -b name`` makes a branch."""
    wanted = split_options(opts)
    if rev is None and not {"-b", "-B"} & set(wanted):
        raise InvocationError("'rev' argument is required unless -b or -B in opts")
    if str(rev or "").startswith("-"):
        raise InvocationError(f"{rev!r} is no revision: git would take it for an option")
    arguments = ["checkout", *(["--force"] if force else []), *wanted, *([] if rev is None else [rev])]
    return str(run(arguments, expanded(cwd, user), user=user, redirect_stderr=True, **options)["stdout"])


def discard_local_changes(cwd: str, path: str = ".", user: str | None = None, **options: Any) -> str:
    """Undo the changes at ``path`` since it was staged."""
    arguments = ["checkout", "--", path]
    return str(run(arguments, expanded(cwd, user), user=user, redirect_stderr=True, **options)["stdout"])


def reset(cwd: str, opts: Any = "", user: str | None = None, **options: Any) -> str:
    """Run ``git reset`` with ``opts``, for instance ``--hard HEAD``."""
    return str(run(["reset", *split_options(opts)], expanded(cwd, user), user=user, **options)["stdout"])


def merge(cwd: str, rev: str | None = None, opts: Any = "", user: str | None = None, **options: Any) -> str:
    """Merge ``rev`` into the commit that is checked out."""
    arguments = ["merge", *split_options(opts), *([rev] if rev else [])]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])


def pull(cwd: str, opts: Any = "", user: str | None = None, **options: Any) -> str:
    """Fetch from the tracked branch and merge it."""
    return str(run(["pull", *split_options(opts)], expanded(cwd, user), user=user, **options)["stdout"])


def branch(cwd: str, name: str | None = None, opts: Any = "", user: str | None = None, **options: Any) -> bool:
    """Make a branch, or change it by ``opts``, for instance ``--set-upstream-to origin/main``."""
    arguments = ["branch", *split_options(opts), *([] if name is None else [name])]
    run(arguments, expanded(cwd, user), user=user, **options)
    return True


def tag(
    cwd: str,
    name: str,
    ref: str = "HEAD",
    message: str | None = None,
    opts: Any = "",
    user: str | None = None,
    **options: Any,
) -> str:
    """Tag ``ref``; a ``message`` makes an annotated tag, ``opts: -d`` deletes the tag."""
    wanted = [option for option in split_options(opts) if option not in {"-a", "--annotate"}]
    if any(option == "-m" or "--message" in option for option in wanted):
        raise InvocationError('Tag messages must be passed in the "message" argument')
    arguments = ["tag", *([] if message is None else ["-a", "-m", message]), *wanted, name]
    if not {"-d", "--delete"} & set(wanted):
        arguments.append(ref)
    return str(run(arguments, expanded(cwd, user), user=user, redirect_stderr=True, **options)["stdout"])


def submodule(cwd: str, command: str, opts: Any = "", user: str | None = None, **options: Any) -> str:
    """Run ``git submodule`` with a command and ``opts``, for instance ``update`` and ``--init --recursive``."""
    if options.pop("init", False):
        raise InvocationError(
            "The 'init' argument is no longer supported. Either set 'command' to 'init', or include '--init' in the "
            "'opts' argument and set 'command' to 'update'."
        )
    arguments = ["submodule", command, *split_options(opts)]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])


def add(cwd: str, filename: str, opts: Any = "", user: str | None = None, **options: Any) -> str:
    """Stage a file or a directory."""
    wanted = [option for option in split_options(opts) if option not in {"-v", "--verbose"}]
    arguments = ["add", "--verbose", *wanted, "--", filename]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])


def commit(
    cwd: str, message: str, opts: Any = "", user: str | None = None, filename: str | None = None, **options: Any
) -> str:
    """Commit what is staged, or only ``filename``."""
    arguments = ["commit", "-m", message, *split_options(opts), *(["--", filename] if filename else [])]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])


def push(
    cwd: str, remote: str | None = None, ref: str | None = None, opts: Any = "", user: str | None = None, **options: Any
) -> str:
    """Push a reference to a remote."""
    arguments = ["push", *split_options(opts), *([remote] if remote else []), *([ref] if ref else [])]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])
