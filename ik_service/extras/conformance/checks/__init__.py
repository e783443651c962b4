"""The checks themselves, by subject."""
