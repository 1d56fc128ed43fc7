"""What plugins written for Salt find: the package ``salt``, ours or the real one."""
