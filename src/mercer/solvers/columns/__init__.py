"""Programs that grow: constraints, or columns of the dual, are generated as they are needed."""
