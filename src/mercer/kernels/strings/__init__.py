"""Kernels on strings of symbols."""
