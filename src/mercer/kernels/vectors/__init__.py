"""Kernels on vectors of numbers."""
