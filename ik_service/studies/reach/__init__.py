"""Reachability: positions that an arm reaches, and with how many orientations."""
