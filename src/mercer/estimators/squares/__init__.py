"""Least squares, likelihoods and other smooth losses."""
