"""Solvers of inverse kinematics: the methods, the loop that they share, and their registry."""
