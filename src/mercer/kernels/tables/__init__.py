"""Kernels on tables whose columns are numbers, categories and ranks."""
