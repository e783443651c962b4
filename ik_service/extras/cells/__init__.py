"""Cells of several arms: their file, their descriptions, and nodes that share a process."""
