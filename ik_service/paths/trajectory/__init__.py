"""Trajectories: joint motions in time, their interpolation and checks."""
