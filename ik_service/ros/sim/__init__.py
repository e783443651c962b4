"""The simulated arm as a ROS node."""
