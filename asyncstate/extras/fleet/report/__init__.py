"""Reports of runs across hosts: rows and times of all hosts together."""
