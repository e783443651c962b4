"""Commands on their way to the arm."""
