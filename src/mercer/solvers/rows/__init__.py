"""Linear machines, whose samples are rows of numbers."""
