"""Planning groups: those of an SRDF, of known robots and of the user."""
