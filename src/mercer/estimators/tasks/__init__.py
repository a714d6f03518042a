"""Many tasks: machines that share between tasks what they have in common."""
