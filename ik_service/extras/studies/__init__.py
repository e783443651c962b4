"""Studies of the methods, as figures with their numbers: the optional part behind ``ik_study``."""
