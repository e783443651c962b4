"""Learned guesses of the joint vector at which a search for a pose starts."""
