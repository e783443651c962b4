"""Path of the repository."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
"""The root of the repository."""
