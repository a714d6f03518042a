"""Clusters of samples."""
