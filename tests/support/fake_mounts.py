"""Mounted file systems and swap space in memory, shown in files like those in /proc; `run_all` stands for mount & co."""

from __future__ import annotations

import shlex

PER_MOUNT = {"ro", "rw", "nosuid", "nodev", "noexec", "noatime", "relatime", "bind"}
INVISIBLE = {"defaults", "remount", "bind"}


class FakeMounts:
    """``mounts`` by path. ``stuck`` names paths that only a lazy umount gets rid of, ``broken`` those that nothing does."""

    def __init__(self, harness, module, monkeypatch):
        self.mounts = {"/": ("/dev/vda1", "ext4", ["rw", "relatime"], ["rw"])}
        self.swaps = {}
        self.stuck, self.broken = set(), set()
        self.labels = {}
        self.calls = []
        self._folder = harness.tmp_path
        for name, file in (("_MOUNTINFO", "mountinfo"), ("_MOUNTS", "mounts"), ("_SWAPS", "swaps")):
            monkeypatch.setattr(module, name, str(self._folder / file))
        harness.salt["cmd.run_all"] = self.run_all
        harness.salt["cmd.run_stdout"] = lambda command, **_: self._listed()
        self._show()

    def run(self, command):
        """Do what a command line says."""
        answer = self.run_all(shlex.split(command))
        assert answer["retcode"] == 0, answer

    def run_all(self, command, **_):
        program, *arguments = command
        if program == "blkid":
            found = self.labels.get(arguments[1].partition("=")[2]) if "-t" in arguments else None
            return answer(0 if found else 2, found or "")
        self.calls.append([program, *arguments])
        failure = getattr(self, f"_{program}")(*arguments)
        self._show()
        return answer(32, failure) if failure else answer(0, "")

    def _mount(self, *arguments):
        given = {"-o": "", "-t": ""}
        rest = list(arguments)
        while rest[0] in given:
            given[rest[0]] = rest[1]
            del rest[:2]
        if len(rest) == 1:
            return f"mount: {rest[0]}: can't find in /etc/fstab."
        device, name = rest
        if given["-t"] == "nosuchfs" or name in self.broken:
            more = "\n       dmesg(1) may have more information after failed mount system call."
            return f"mount: {name}: special device {device} does not exist.{more}"
        opts = [opt for opt in given["-o"].split(",") if opt and opt not in INVISIBLE and not opt.startswith("x-")]
        flags = ["rw", "relatime", *(opt for opt in opts if opt in PER_MOUNT and opt not in ("rw", "relatime"))]
        self.mounts[name] = (device, given["-t"], flags, ["rw", *(opt for opt in opts if opt not in PER_MOUNT)])
        return ""

    def _umount(self, *arguments):
        what = arguments[-1]
        name = next((key for key, each in self.mounts.items() if each[0] == what), what)
        if name in self.broken or (name in self.stuck and "-l" not in arguments):
            return f"umount: {name}: target is busy."
        del self.mounts[name]
        return ""

    def _swapon(self, name, *_):
        if name in self.broken:
            return f"swapon: {name}: read swap header failed"
        self.swaps[name] = ("file", "1020", "0", "-2")
        return ""

    def _swapoff(self, name):
        self.swaps.pop(name)
        return ""

    def _listed(self):
        return "\n".join(f"{device} on {name} type {kind} (rw)" for name, (device, kind, *_) in self.mounts.items())

    def _show(self):
        info, plain = [], []
        for number, (name, (device, kind, opts, more)) in enumerate(self.mounts.items()):
            name = name.replace(" ", "\\040")
            info.append(
                f"{number} 1 8:{number} / {name} {','.join(opts)} shared:1 - {kind} {device} {','.join(more)}\n"
            )
            plain.append(f"{device} {name} {kind} {','.join([*opts, *more])} 0 0\n")
        swaps = [f"{name}\t{' '.join(fields)}\n" for name, fields in self.swaps.items()]
        (self._folder / "mountinfo").write_text("".join(info))
        (self._folder / "mounts").write_text("".join(plain))
        (self._folder / "swaps").write_text("".join(["Filename Type Size Used Priority\n", *swaps]))


def answer(retcode, text):
    return {"retcode": retcode, "stdout": "" if retcode else text, "stderr": text if retcode else ""}
