"""Programs that a run starts, and how none of them is left behind by a call that was cut off.

A call that is cut off (a time-out, a second Ctrl-C, a terminated run) must not leave a process: not one that ignores
TERM, not one in a session of its own, not one that forked twice and lost its parent. What a call that *ended* left
running, a daemon or ``bg: True``, is wanted and must live. So for every process on the machine one question needs an
answer at any time: which call does it come from? None of the usual answers will do.

- A process group or a session is left by one ``setsid``, which is what every daemon does first.
- The chain of parents breaks when a parent ends, which is what every daemon does second. As a *subreaper* we would get
  such orphans as our children, without a word about which call they come from; and a program that uses the library
  would have to reap children that it never had.
- A *cgroup* for each call answers it, but only root on a host with a delegated cgroup tree may make one: no container
  may, and moving a daemon there takes it out of the unit that accounts for it.
- A variable in the environment, as build servers use it, is passed on by nearly every program, but shows in the output
  of ``env``, that is in rows.

A *mark* answers it: a number that every process passes on to its children through ``fork`` and ``exec``, that no
program looks at, and that everybody can read in ``/proc``. The soft limit of ``RLIMIT_LOCKS`` is such a number: the
kernel has not looked at it since Linux 2.4.25, and it takes no rights to set. Each program that is started gets one of
its own, so all that descends from it can be told from everything else, whatever became of its parents.
`lineage` has the marks; `child` starts a program with one and listens to it.

Where there are no marks (no ``/proc``; a sandbox that keeps limits from being set) the session of the program stands
for them, and a process that left it is not found.
"""
