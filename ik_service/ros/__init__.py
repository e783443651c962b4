"""The ROS 2 shell around the library: the only place that imports rclpy."""
