"""Kernels on pairs of objects."""
