"""Where text comes from: files, pillar, grains, top files."""
