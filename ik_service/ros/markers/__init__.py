"""Markers for RViz: of the arm's motion, of reachable positions, and for dragging the target."""
