"""Topics and services of following: joint states and targets in, joint commands out."""
