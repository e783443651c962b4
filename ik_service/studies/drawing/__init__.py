"""Figures of the studies: robots, curves, and tables of their numbers."""
