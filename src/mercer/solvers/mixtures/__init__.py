"""Solvers for the weights of several kernels."""
