"""Motion of an arm in time: bounded commands towards targets, along paths, by hand; no ROS."""
