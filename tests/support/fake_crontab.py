"""A crontab program that keeps tables in a dict."""

from __future__ import annotations

import os
import pwd

ME = pwd.getpwuid(os.geteuid()).pw_name  # who is no root gets at other tables by becoming somebody else


class FakeCrontab:
    """``tables`` by user; ``complaint`` makes it refuse."""

    def __init__(self, harness):
        self.tables = {}
        self.complaint = ""
        self.commands = []
        harness.salt["cmd.run_stdout"] = self.show
        harness.salt["cmd.run_all"] = self.install

    def _user(self, command, options):
        assert command[0] == "crontab"
        return command[2] if command[1] == "-u" else options.get("runas", ME)

    def show(self, command, **options):
        return self.tables.get(self._user(command, options), "")

    def install(self, command, stdin=None, **options):
        assert options.pop("python_shell") is False
        self.commands.append(command)
        if self.complaint:
            return {"retcode": 1, "stdout": "", "stderr": self.complaint}
        assert command[-1] == "-", "a path may lead elsewhere by the time crontab reads it"
        if not options.pop("stdin_raw_newlines", False):
            stdin = stdin.replace("\\n", "\n")  # as cmd.run_all does
        self.tables[self._user(command, options)] = stdin
        return {"retcode": 0, "stdout": "", "stderr": ""}
