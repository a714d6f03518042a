"""Few coefficients: penalties on absolute values, and relevance."""
