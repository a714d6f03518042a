"""Directions, coordinates and maps of feature space."""
