"""Tab of the capability maps: where an arm reaches, and how well."""
