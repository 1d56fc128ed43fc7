"""The fixture of the world in which pairs of features run."""

from world_of_features import world

__all__ = ["world"]
