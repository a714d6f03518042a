"""Kernels made of generative models."""
