"""The choice for tables: columns as vectors, their lengths, and kernels that are compared by folds."""
