"""Tools of all ROS programs: start and end, executors, parameters, conversions."""
