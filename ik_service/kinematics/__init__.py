"""Kinematic chains, compiled forward kinematics and Jacobians, pose errors."""
