"""What depends on what: selection, reduction, separation, change."""
