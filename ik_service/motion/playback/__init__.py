"""Playback of trajectories."""
