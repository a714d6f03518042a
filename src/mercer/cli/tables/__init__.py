"""Tables whose rows are no samples of their own: instances of bags, and pairs of nodes."""
