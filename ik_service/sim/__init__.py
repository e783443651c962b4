"""What moves a simulated arm: engines, drives and faults; knows no ROS."""
