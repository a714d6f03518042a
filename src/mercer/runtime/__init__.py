"""Running computations: compiled loops, tiles and threads, interrupts, checkpoints, workers."""
