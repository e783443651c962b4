"""Tracking of poses that move."""
