"""A PostgreSQL server in memory: the execution functions that its states call."""

from __future__ import annotations

import datetime as dt

from asyncstate.errors import CommandExecutionError


class FakePostgres:
    """``complaint`` makes whatever would change something fail; ``silent`` answers False instead, as other modules do."""

    def __init__(self, harness):
        self.roles, self.databases, self.schemas, self.extensions = {}, {}, {}, {}
        self.tablespaces, self.privileges, self.clusters = {}, set(), {}
        self.complaint, self.silent, self.asked = "", False, []
        for name in vars(type(self)):
            if not name.startswith("_"):
                harness.salt[f"postgres.{name}"] = getattr(self, name)

    def _change(self, work):
        if self.complaint:
            raise CommandExecutionError(self.complaint)
        if self.silent:
            return False
        work()
        return True

    def role_get(self, name, return_password=False, **connection):
        self.asked.append(connection)
        return role(**self.roles[name]) if name in self.roles else None

    def user_exists(self, name, **connection):
        return name in self.roles

    def password_matches(self, role, password, stored, encrypted):
        return stored == f"{encrypted}:{password}"

    def expiry_time(self, text, **connection):
        return dt.datetime.fromisoformat(text)

    def user_create(self, name, **options):
        return self._change(lambda: self._set(name, {}, options))

    def user_update(self, name, **options):
        return self._change(lambda: self._set(name, self.roles[name], options))

    def user_remove(self, name, **connection):
        return self._change(lambda: self.roles.pop(name))

    group_create, group_update, group_remove = user_create, user_update, user_remove

    def _set(self, name, found, options):
        for option, attribute in {"createdb": "can create databases", "superuser": "superuser"}.items():
            if options[option] is not None:
                found[attribute] = options[option]
        if options["rolepassword"] is not None:
            found["password"] = f"{options['encrypted']}:{options['rolepassword']}"
        if options["groups"]:
            found["groups"] = [*found.get("groups", []), *options["groups"].split(",")]
        self.roles[name] = found

    def db_list(self, **connection):
        return self.databases

    def db_exists(self, name, **connection):
        return name in self.databases

    def db_create(self, name, *, owner, encoding, lc_collate, lc_ctype, **options):
        found = database(owner or "postgres", encoding or "UTF8", lc_collate or "C", lc_ctype or "C")
        return self._change(lambda: self.databases.update({name: found}))

    def db_alter(self, name, owner, tablespace, **options):
        given = {"Owner": owner, "Tablespace": tablespace}
        return self._change(lambda: self.databases[name].update({k: v for k, v in given.items() if v}))

    def db_remove(self, name, **connection):
        return self._change(lambda: self.databases.pop(name))

    def schema_get(self, dbname, name, **connection):
        self.asked.append(connection)
        return self.schemas.get(f"{dbname}.{name}")

    def schema_exists(self, dbname, name, **connection):
        return f"{dbname}.{name}" in self.schemas

    def schema_create(self, dbname, name, owner, **connection):
        return self._change(lambda: self.schemas.update({f"{dbname}.{name}": {"owner": owner}}))

    def schema_remove(self, dbname, name, **connection):
        return self._change(lambda: self.schemas.pop(f"{dbname}.{name}"))

    def create_metadata(self, name, schema, ext_version, **connection):
        return self.extensions.get(name, ["EXTENSION NOT INSTALLED"])

    def create_extension(self, name, **options):
        return self._change(lambda: self.extensions.update({name: ["EXTENSION INSTALLED"]}))

    def is_installed_extension(self, name, **connection):
        return name in self.extensions

    def drop_extension(self, name, **options):
        return self._change(lambda: self.extensions.pop(name))

    def has_privileges(self, name, object_name, object_type, privileges=None, **options):
        return f"{name} {object_name} {object_type} {privileges}" in self.privileges

    def privileges_grant(self, name, object_name, object_type, privileges=None, **options):
        return self._change(lambda: self.privileges.add(f"{name} {object_name} {object_type} {privileges}"))

    def privileges_revoke(self, name, object_name, object_type, privileges=None, **options):
        return self._change(lambda: self.privileges.remove(f"{name} {object_name} {object_type} {privileges}"))

    def tablespace_list(self, **connection):
        return self.tablespaces

    def tablespace_exists(self, name, **connection):
        return name in self.tablespaces

    def tablespace_create(self, name, location, options, owner, **connection):
        found = {"Location": location, "Owner": owner or "postgres", "Opts": ""}
        return self._change(lambda: self.tablespaces.update({name: found}))

    def tablespace_alter(self, name, new_owner, set_option, **connection):
        options = ",".join(f"{key}={value}" for key, value in set_option.items())
        return self._change(lambda: self.tablespaces[name].update(Owner=new_owner, Opts=f"{{{options}}}"))

    def tablespace_remove(self, name, **connection):
        return self._change(lambda: self.tablespaces.pop(name))

    def cluster_list(self, verbose):
        assert verbose is True
        return self.clusters

    def cluster_exists(self, version, name):
        return f"{version}/{name}" in self.clusters

    def cluster_create(self, version, name, port, datadir, **options):
        found = {"port": int(port or 5432), "datadir": datadir or "/d"}
        return self._change(lambda: self.clusters.update({f"{version}/{name}": found}))

    def cluster_remove(self, version, name, stop):
        return self._change(lambda: self.clusters.pop(f"{version}/{name}"))


def role(**attributes):
    flags = "inherits privileges|can login|can create roles|can create databases|replication|superuser".split("|")
    plain = {"password": "", "groups": [], "expiry time": None}
    return {**dict.fromkeys(flags, False), **plain, **attributes}


def database(owner="postgres", encoding="UTF8", collate="C", ctype="C"):
    return {"Owner": owner, "Encoding": encoding, "Collate": collate, "Ctype": ctype, "Tablespace": "pg_default"}
