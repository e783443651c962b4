"""Service of paths along straight lines: ``compute_cartesian_path``."""
