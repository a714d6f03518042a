"""Kernels on sets, distributions and tensors."""
