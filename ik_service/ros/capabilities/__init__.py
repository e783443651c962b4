"""Capabilities of a node besides those of its core: trajectories, and servoing."""
