"""Accounts in memory: the execution functions that the states of users and groups call, and a list of those calls."""

from __future__ import annotations

NO_SHADOW = dict.fromkeys(("name", "passwd", "lstchg", "min", "max", "warn", "inact", "expire"), "")


class FakeAccounts:
    """``users``, ``groups`` and ``shadow`` by name. ``broken`` names functions that do nothing and say so."""

    def __init__(self, harness):
        self.users = {}
        self.groups = {"root": {"name": "root", "passwd": "x", "gid": 0, "members": []}}
        self.shadow = {}
        self.calls = []
        self.broken = set()
        self.raising = {}
        for name in dir(self):
            module, _, function = name.partition("__")
            if module in {"user", "group", "shadow", "file"} and function:
                harness.salt[f"{module}.{function}"] = self._recorded(f"{module}.{function}", getattr(self, name))

    def _recorded(self, name, function):
        def call(*args, **kwargs):
            if not name.endswith((".info", "_gid", "_uid", "getent", "list_groups", "default_hash")):
                self.calls.append((name, *args))
            if name in self.raising:
                raise self.raising[name]
            return False if name in self.broken else function(*args, **kwargs)

        return call

    def file__user_to_uid(self, name):
        return "" if name == "nosuch" else 7

    # --- users

    def user__info(self, name, root=None):
        user = self.users.get(name)
        return {**user, "groups": self.user__list_groups(name)} if user else {}

    def user__list_groups(self, name):
        gid = self.users[name]["gid"]
        return sorted(n for n, g in self.groups.items() if g["gid"] == gid or name in g["members"])

    def user__add(self, name, *, uid=None, gid=None, groups=None, home=None, shell=None, **options):
        if gid is None:
            gid = max(g["gid"] for g in self.groups.values()) + 1000
            self.groups[name] = {"name": name, "passwd": "x", "gid": gid, "members": []}
        texts = {key: options.get(key, "") for key in ("fullname", "roomnumber", "workphone", "homephone", "other")}
        self.users[name] = {
            "name": name, "passwd": "x", "uid": uid or 1000 + len(self.users), "gid": self.file__group_to_gid(gid),
            "home": home or f"/home/{name}", "shell": shell or "/bin/sh", **texts,
        }  # fmt: skip
        self.shadow[name] = {**NO_SHADOW, "name": name, "passwd": "!", "lstchg": 1, "min": 0, "max": 99999, "warn": 7,
                             "inact": -1, "expire": -1}  # fmt: skip
        self.user__chgroups(name, groups or [], True)
        return True

    def user__delete(self, name, remove, force, local=False):
        del self.users[name]
        self.groups.pop(name, None)
        return True

    def user__chgroups(self, name, groups, append):
        for group in self.groups.values():
            if group["name"] in groups:
                group["members"] = sorted({*group["members"], name})
            elif not append and name in group["members"]:
                group["members"].remove(name)
        return True

    def _put(key):  # noqa: N805
        def put(self, name, value, **_):
            self.users[name][key] = value
            return True

        return put

    user__chuid = _put("uid")
    user__chshell = _put("shell")
    user__chhome = _put("home")
    user__chfullname = _put("fullname")
    user__chroomnumber = _put("roomnumber")
    user__chworkphone = _put("workphone")
    user__chhomephone = _put("homephone")
    user__chother = _put("other")

    def user__chgid(self, name, gid):
        self.users[name]["gid"] = self.file__group_to_gid(gid)
        return True

    # --- shadow

    def shadow__info(self, name):
        return dict(self.shadow.get(name, NO_SHADOW))

    def shadow__default_hash(self):
        return "!"

    def shadow__set_password(self, name, password):
        self.shadow[name] |= {"passwd": password, "lstchg": 20000}
        return True

    def shadow__del_password(self, name):
        self.shadow[name]["passwd"] = ""
        return True

    def shadow__lock_password(self, name):
        self.shadow[name]["passwd"] = "!" + self.shadow[name]["passwd"]

    def shadow__unlock_password(self, name):
        self.shadow[name]["passwd"] = self.shadow[name]["passwd"].lstrip("!")

    def shadow__gen_password(self, password, crypt_salt="new", algorithm="sha512"):
        return f"$6${crypt_salt}${password}-{algorithm}"

    def _age(key):  # noqa: N805
        def put(self, name, value):
            self.shadow[name][key] = value
            return True

        return put

    shadow__set_date = _age("lstchg")
    shadow__set_mindays = _age("min")
    shadow__set_maxdays = _age("max")
    shadow__set_inactdays = _age("inact")
    shadow__set_warndays = _age("warn")
    shadow__set_expire = _age("expire")

    # --- groups

    def group__info(self, name, root=None):
        group = self.groups.get(name)
        return {**group, "members": list(group["members"])} if group else {}

    def group__getent(self):
        return [self.group__info(name) for name in self.groups]

    def group__add(self, name, gid=None, system=False, non_unique=False, local=False):
        gid = gid or max(g["gid"] for g in self.groups.values()) + 1
        self.groups[name] = {"name": name, "passwd": "x", "gid": gid, "members": []}
        return True

    def group__delete(self, name, local=False):
        del self.groups[name]
        return True

    def group__chgid(self, name, gid, non_unique=False):
        self.groups[name]["gid"] = gid
        return True

    def group__members(self, name, members):
        self.groups[name]["members"] = [each for each in members.split(",") if each]
        return True

    def group__adduser(self, name, user):
        self.groups[name]["members"].append(user)
        return True

    def group__deluser(self, name, user):
        self.groups[name]["members"].remove(user)
        return True

    # --- files

    def file__gid_to_group(self, gid):
        names = {number: name for name, number in ((name, each["gid"]) for name, each in self.groups.items())}
        return names.get(gid, gid) if isinstance(gid, int) else gid if gid in self.groups else ""

    def file__uid_to_user(self, uid):
        return next((name for name, each in self.users.items() if each["uid"] == uid), uid)

    def file__group_to_gid(self, group):
        if isinstance(group, int):
            return group
        return self.groups[group]["gid"] if group in self.groups else ""

    def file__mkdir(self, path, user, group, mode):
        import os

        os.makedirs(path)
        return True
