"""Linear systems."""
