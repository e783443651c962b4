"""Paths that are drawn by waypoints, previewed and executed."""
