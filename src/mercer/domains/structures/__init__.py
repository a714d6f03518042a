"""Trees, graphs, and the nodes of one graph."""
