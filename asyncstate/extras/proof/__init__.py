"""Proofs of order: ``shake`` runs a tree in the orders that its plan allows, ``trace`` records accesses of states."""
