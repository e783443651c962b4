"""Robustness tests of running programs: faults, hostile input and load, with figures."""
