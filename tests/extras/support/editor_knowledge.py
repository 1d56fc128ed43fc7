"""The knowledge of a language server about texts, without a server, an editor or a disk."""

from asyncstate.extras.editor.knowledge import Knowledge
from asyncstate.extras.editor.messages import Compiled
from asyncstate.extras.editor.tree import Roots, Tree

ROOT = "/srv/of-nobody/salt"


def knowledge_of(files, states=(), root=ROOT, envs=("base",)):
    """Return what the server knows of files: ``NAME``, or ``ENV:NAME`` in another environment than the first."""
    roots = {env: (root if env == "base" else f"{root}-{env}",) for env in envs}
    listing = {env: {} for env in envs}
    tree = Tree(Roots(roots, {}), {}, {}, listing, {})
    for name, text in files.items():
        env, _, relpath = name.rpartition(":")
        path = f"{roots[env or 'base'][0]}/{relpath}"
        listing[env or "base"][relpath] = path
        tree.edited(path, text)
    return Knowledge(tree, compiled=Compiled(tuple(states)))


def at(knowledge, marked, name=None):
    """Return the file and the cursor that ^ marks in a part of its text."""
    wanted, before = marked.replace("^", ""), marked.partition("^")[0]
    for file in knowledge.tree.files.values():
        if wanted in file.text and (name is None or file.relpath == name):
            start = file.text[: file.text.index(wanted) + len(before)]
            return file, start.count("\n"), len(start.rpartition("\n")[2])
    raise AssertionError(marked)
