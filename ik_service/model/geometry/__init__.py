"""Geometry of links: shapes, mesh files and inertias."""
