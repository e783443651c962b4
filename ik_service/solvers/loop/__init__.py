"""What all methods share: searches, iterations, joint limits, restarts, stopping rules."""
