"""Motion of the arm over ROS 2: targets, trajectories, twists and jogs."""
