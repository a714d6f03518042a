"""Few labels: machines that also learn from samples without a label."""
