"""Trajectories: joint motions in time, their interpolation, checks and timing."""
