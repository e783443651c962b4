"""Collisions: of the robot with itself, with objects of the world and with attached objects."""
