"""Motion of the arm by buttons that are held."""
