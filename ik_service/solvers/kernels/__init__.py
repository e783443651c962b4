"""Linear algebra of the solvers, compiled."""
