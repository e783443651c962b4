"""Panel beside the scene: live values, sliders and parameters."""
