"""Kernels that several methods use: linear algebra and line search."""
