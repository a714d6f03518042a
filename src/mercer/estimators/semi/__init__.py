"""Few labels: machines that learn from samples whose label nobody knows."""
