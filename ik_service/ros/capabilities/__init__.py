"""Capabilities of a node besides those of its core: trajectories, servoing, the known world."""
