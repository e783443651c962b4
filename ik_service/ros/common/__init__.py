"""What all ROS programs share: start and end, executors, parameters, conversions."""
