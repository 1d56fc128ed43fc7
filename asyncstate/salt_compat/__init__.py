"""The package ``salt`` for plugins written for Salt: a compatible one, or the real one."""
