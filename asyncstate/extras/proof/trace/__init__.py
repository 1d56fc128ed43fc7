"""Accesses of states, recorded while they run, and the races between them.

`touched` has the kinds of access, `noise` the paths that no two states share, `strace` parses the output of strace,
`races` finds two states that touch one path without an order between them. All of these are pure.
"""
