"""Drawing of arms and robots with Matplotlib, and the style of all figures."""
