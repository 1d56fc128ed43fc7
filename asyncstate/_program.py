"""Not imported: the pack of `_code_pack` takes the place of the compiled file of this module.

So removing the compiled files of this package, as `pip uninstall` does, removes the pack with them.
"""
