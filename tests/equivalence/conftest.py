"""The world in which features meet."""

from world_of_features import world

__all__ = ["world"]
