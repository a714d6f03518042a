"""Smooth risks, and others by smooth ones."""
