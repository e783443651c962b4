"""The checks themselves, by what they ask about."""
