"""Gram matrices of low rank, by landmarks, factors and random features."""
