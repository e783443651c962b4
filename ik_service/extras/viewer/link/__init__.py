"""Connection of the viewer to the ROS graph."""
