"""Linear programs that grow: column generation and its restricted programs."""
