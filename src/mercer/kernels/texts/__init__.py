"""Kernels on texts made of words."""
