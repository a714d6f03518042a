"""Solvers that generate constraints, or columns of the dual, as they need them."""
