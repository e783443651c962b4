"""Learned first guesses: where a search may start, from the pose that it shall reach."""
