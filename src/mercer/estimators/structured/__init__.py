"""Machines whose predictions have structure: classes with costs, sets, orders, rankings and sequences of labels."""
