"""Knowledge of packages: this machine's database of installed ones, and lists of the contents of others."""
