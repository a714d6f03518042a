"""Certificates: from a fitted function and a sample to the numbers of the theory, and what samples say beside them."""
