"""ROS 2 nodes around the library; besides these, only the viewer imports rclpy."""
