"""mercer: kernel-based pattern analysis."""
