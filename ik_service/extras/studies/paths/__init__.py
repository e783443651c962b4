"""Whole paths beside solving point by point."""
