"""Collisions at the boundary to ROS: the known world, and the services that look at it."""
