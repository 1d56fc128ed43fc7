"""Compiles for another machine: nothing of this one gets into what templates render."""
