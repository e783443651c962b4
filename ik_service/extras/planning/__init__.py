"""Motion plans around obstacles: the extra ``plan``."""
