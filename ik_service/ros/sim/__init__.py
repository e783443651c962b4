"""ROS node of the simulated arm."""
