"""Reachability of an arm: positions, and the share of the orientations reached at each."""
