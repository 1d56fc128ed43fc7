"""The search for missing edges: a tree runs in serial order and with each state delayed as long as possible.

One slot runs the tree in serial order, then again with each state delayed as long as the plan allows. These orders are
legal, so each run must have the rows and the files of the serial one. Where it has not, two states touch the
same thing and nothing orders them; a binary search finds the two.
"""
