"""Motion of an arm in time; knows no ROS."""
