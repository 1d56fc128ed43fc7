"""Nothing is imported from here: in place of the compiled file of this module stands the pack of `_code_pack`.

So what removes the compiled files of this package, as `pip uninstall` does, removes the pack with them.
"""
