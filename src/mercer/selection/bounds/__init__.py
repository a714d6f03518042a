"""Criteria that bound or approximate the error of samples left out, without leaving any out."""
