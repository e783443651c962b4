"""Markers for RViz: of the arm, of reachable positions, and an interactive one for the target."""
