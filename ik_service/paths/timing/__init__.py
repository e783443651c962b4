"""Timing of joint paths within limits of velocity, acceleration and jerk."""
