"""The inputs of a tree: files, pillar, grains, top files."""
