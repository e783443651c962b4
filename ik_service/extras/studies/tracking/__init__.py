"""Simulated arms that hold a pose and follow a circle."""
