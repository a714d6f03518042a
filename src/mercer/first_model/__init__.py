"""The first model: a kernel, a machine and its parameters, chosen automatically for data of any kind."""
