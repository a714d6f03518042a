"""Kernels between graphs, and between the nodes of one graph."""
