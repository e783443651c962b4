"""Studies of the methods: steps, limits, objectives, singularities, targets out of reach."""
