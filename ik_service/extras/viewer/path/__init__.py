"""Paths that are drawn by way points, previewed and executed."""
