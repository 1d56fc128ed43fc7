"""Salt 3008's serial order, written as plainly as can be, to compare the compiler with.

Works on high data whose every state has one module; looks at everything again at every step.
"""

from __future__ import annotations

WEIGHTS = ["onfail", "onfail_any", "onfail_all", "require", "require_any", "onchanges", "onchanges_any", "watch"]
WEIGHTS += ["watch_any", "prereq"]
RESOLVED = ["require", "require_any", "watch", "watch_any", "prereq", "onfail", "onfail_any", "onfail_all"]
RESOLVED += ["onchanges", "onchanges_any"]
LAST = 1_000_000


def naive_order(high):
    """Return what decides the serial order of each tag, in that order: its effective and own order, and its label.

    The target of a prereq is there twice: where it is checked (``?tag``), and where it runs.
    """
    chunks = list(_chunks(high))
    edges = _edges(chunks)
    cap = 1
    for chunk in chunks:
        if isinstance(chunk["order"], int) and chunk["order"] > 0 and chunk["order"] > cap - 1:
            cap = chunk["order"] + 100
    by_node = {chunk["tag"]: chunk for chunk in chunks}
    by_node |= {node: by_node[node[1:]] for _, node, _ in edges if node.startswith("?")}
    by_node |= {node: by_node[node[1:]] for node, _, _ in edges if node.startswith("?")}
    done, keys = {}, {}
    while len(done) < len(by_node):
        free = [node for node in by_node if node not in done and all(b in done for b, a, _ in edges if a == node)]
        for node in free:
            if node not in keys:
                keys[node] = _key(node, by_node, edges, cap)
        first = min(free, key=lambda node: (keys[node], node.removeprefix("?")))
        done[first] = keys[first]
    return done


def _chunks(high):
    for id_, body in high.items():
        module = next(key for key in body if not key.startswith("__"))
        chunk = {"state": module, "name": id_, "id": id_, "sls": body["__sls__"], "fraction": 0}
        names = []
        for argument in body[module]:
            if isinstance(argument, str):
                chunk["fun"] = argument
            else:
                for key, value in argument.items():
                    if key == "names":
                        names = value
                    elif key in chunk and isinstance(chunk[key], list):
                        chunk[key] = value
                    else:
                        chunk[key] = value
        for position, name in enumerate(names, 1):
            copy = dict(chunk, fraction=position / 10000)
            if isinstance(name, dict):
                copy["name"], overrides = next(iter(name.items()))
                for override in overrides:
                    copy.update(override)
            else:
                copy["name"] = name
            yield dict(copy, tag=_tag(copy))
        if not names:
            yield dict(chunk, tag=_tag(chunk))


def _tag(chunk):
    return f"{chunk['state']}_|-{chunk['id']}_|-{chunk['name']}_|-{chunk['fun']}"


def _edges(chunks):
    edges = []

    def add(before, after, kind):
        if (before, after, kind) not in edges:
            edges.append((before, after, kind))

    checked = set()
    for chunk in chunks:
        for kind in RESOLVED:
            for reference in chunk.get(kind, ()):
                module, target = ("id", reference) if isinstance(reference, str) else next(iter(reference.items()))
                for other in chunks:
                    if not _matches(other, module, target):
                        continue
                    if kind != "prereq":
                        add(other["tag"], chunk["tag"], kind)
                        if chunk["tag"] in checked:
                            add(other["tag"], "?" + chunk["tag"], kind)
                        continue
                    check = "?" + other["tag"]
                    if other["tag"] not in checked:
                        checked.add(other["tag"])
                        wanted = [(before, why) for before, after, why in edges if after == other["tag"]]
                        for before, why in wanted:
                            if why != "prereq-target":
                                add(before, check, why)
                    add(check, chunk["tag"], "prereq")
                    add(chunk["tag"], other["tag"], "prereq-target")
                    if chunk["tag"] in checked:
                        add(check, "?" + chunk["tag"], "prereq")
    return edges


def _matches(chunk, module, target):
    if module == "sls":
        return chunk["sls"] == target
    return (module in {"id", chunk["state"]}) and target in {chunk["id"], chunk["name"]}


def _weight(kind):
    return WEIGHTS.index("require" if kind == "prereq-target" else kind)


def _number(order, cap):
    if isinstance(order, (int, float)):
        return order
    return {"last": cap + LAST, "first": 0}.get(order, cap)


def _key(node, by_node, edges, cap):
    chunk = by_node[node]
    order = _number(chunk["order"], cap) + chunk["fraction"]
    chunk["fraction"] = 0
    if order < 0:
        order += cap + LAST
    chunk["order"] = order
    effective, heaviest = order, -1
    dependents = list(dict.fromkeys(after for before, after, _ in edges if before == node))
    for dependent in dependents:
        for before, after, kind in edges:
            if before == node and after == dependent and _weight(kind) >= heaviest:
                heaviest = _weight(kind)
                effective = min(effective, _number(by_node[dependent]["order"], cap))
    return effective, order, f"{chunk['state']}{chunk['name']}{chunk['fun']}"
