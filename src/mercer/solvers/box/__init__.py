"""Quadratic programs over a box."""
