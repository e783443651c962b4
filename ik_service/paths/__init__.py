"""Joint paths: whole paths, straight paths, their timing and trajectories. Knows no ROS."""
