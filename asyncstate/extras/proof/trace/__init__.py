"""What states really read and write, as seen while they run, and the races between them.

`touched` says how a path can be touched, `noise` which paths no two states share, `strace` reads what strace writes,
`races` finds two states that touch one path without an order between them. All of these are pure.
"""
