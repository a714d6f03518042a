"""Kernels made of kernels: sums, products, functions, maps, parts and distances."""
