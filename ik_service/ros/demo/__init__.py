"""ROS client of the demo."""
