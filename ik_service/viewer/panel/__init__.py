"""The panel beside the scene: figures, sliders, settings."""
