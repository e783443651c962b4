"""Expansion of xacro files."""
