"""Learning with several kernels at once."""
