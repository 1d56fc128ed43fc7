"""Starts programs, and ends every process of a call that is cut off.

A call that is cut off (a time-out, a second Ctrl-C, a terminated run) must not leave a process behind, even one that
ignores TERM, has a session of its own, or forked twice and lost its parent. Processes that a call left running when it
*ended*, a daemon or ``bg: True``, are wanted and must live. So each process on the machine must be traceable
to the call that started it. The usual means cannot do that:

- A process leaves its process group and its session with ``setsid``, which every daemon calls.
- The chain of parents breaks when a parent ends, and a daemon's parent does. A *subreaper* becomes the parent of such
  orphans but does not learn which call they come from, and an application that uses this library would have to reap
  children that it never started.
- A *cgroup* for each call would do, but only root on a host with a delegated cgroup tree can make one (not in a
  container), and a daemon moved there leaves the unit that accounts for it.
- A variable in the environment, as build servers use it, is inherited by nearly every program, but it shows in the
  output of ``env``, and so in rows.

A *mark* can: a number that a process inherits through ``fork`` and ``exec``, that no program looks at, and that can be
read in ``/proc``. The soft limit ``RLIMIT_LOCKS`` is such a number: the kernel has ignored it since Linux 2.4.25, and
setting it needs no rights. Each program gets a mark of its own, so all its descendants can be found, whatever happened
to their parents. `lineage` sets and finds marks, `child` starts a program and reads its output, `ending` ends lineages.

Where there are no marks (no ``/proc``, or a sandbox that forbids setting limits), the session of the program is used
instead, and a process that left the session is not found.
"""
