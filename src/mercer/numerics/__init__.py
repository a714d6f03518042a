"""Arithmetic on arrays: distances, profiles, factorisations, products. It knows nothing of learning."""
