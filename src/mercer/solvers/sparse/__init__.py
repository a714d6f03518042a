"""Few coefficients: penalties that make them zero, and evidence."""
