"""Readers of trees, graphs and biological sequences."""
