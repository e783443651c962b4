"""Actions that move the arm along trajectories, and the client of a real controller."""
