"""Parameters of nodes: declaration, refusals, services, and mappings of names to fields."""
