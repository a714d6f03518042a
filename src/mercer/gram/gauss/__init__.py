"""Gram matrices of Gaussian kernels by fast Gauss transforms."""
