"""Commands sent to the arm."""
