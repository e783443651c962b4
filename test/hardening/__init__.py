"""Robustness tests: attacks on running nodes, and what is measured meanwhile."""
