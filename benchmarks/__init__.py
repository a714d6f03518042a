"""How fast mercer is, beside its peers: `python -m benchmarks.run`."""
