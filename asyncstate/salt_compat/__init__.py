"""The package ``salt`` for plugins written for Salt: ours or the real one."""
