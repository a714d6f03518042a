"""Kernels on series and on systems that move in time."""
