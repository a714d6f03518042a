"""Machines with structured outputs, on features that are known."""
